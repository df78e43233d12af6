// The store of a Node program: a folder with a file for each text.

import { link, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';

import type { Kind, Store } from './remember.js';

export class FileStore implements Store {
  /** The folder exists, and is on one file system. */
  constructor(private readonly folder: string) {}

  async put(kind: Kind, name: string, text: string): Promise<string> {
    // A link is made completely or not at all, and never replaces a file.
    const whole = join(this.folder, `new-${crypto.randomUUID()}`);
    await synced(whole, 'wx', text);
    await link(whole, this.#file(kind, name)).catch((error) => {
      if (error.code !== 'EEXIST') throw error;
    });
    await rm(whole);
    await synced(this.folder, 'r');
    return readFile(this.#file(kind, name), 'utf8');
  }

  get(kind: Kind, name: string): Promise<string | undefined> {
    return found(this.#file(kind, name));
  }

  async all(kind: Kind): Promise<string[]> {
    const files = (await readdir(this.folder)).filter((file) => file.startsWith(`${kind}-`));
    const texts = await Promise.all(files.map((file) => found(join(this.folder, file))));
    return texts.filter((text) => text !== undefined); // a file may have been deleted meanwhile
  }

  async delete(kind: Kind, name: string): Promise<void> {
    await rm(this.#file(kind, name), { force: true });
    await synced(this.folder, 'r');
  }

  #file(kind: Kind, name: string): string {
    return join(this.folder, `${kind}-${encodeURIComponent(name)}`);
  }
}

/** The text of the file, if there is one. */
async function found(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error) => {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  });
}

/** Returns when the file, or the names in the folder, are on the disk. */
async function synced(path: string, flags: string, text?: string): Promise<void> {
  const handle = await open(path, flags);
  try {
    if (text !== undefined) await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
