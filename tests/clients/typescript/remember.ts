// Commands that a client cannot forget, in a browser and in Node.
//
// `remember` stores a key and the bytes before the first byte is sent. `outcome` sends them until the service tells what happened,
// and stores that before it returns it. After a restart, or a reload of the page, `open` lists the commands without an outcome: ask
// for each again.

import { ATTEMPTS, retrying, sleep } from './retries.js';

const LIFE = 29 * 86_400_000; // milliseconds; a service remembers a key for 30 days

export interface Command {
  readonly name: string;
  readonly key: string;
  readonly path: string;
  readonly body: string;
  readonly at: number;
}

export type Outcome =
  /** The command took effect. If the service was asked more than 24 hours later, `body` is null: read the resource. */
  | { kind: 'happened'; status: number; headers: Record<string, string>; body: unknown }
  /** The command did not happen, and never will. */
  | { kind: 'never' }
  /** The service refused the command, for the reason in `problem`. It did not happen, and never will. */
  | { kind: 'refused'; problem: Record<string, unknown> };

/** The service did not tell what happened. The command stays open: ask for its outcome later. */
export class Undecided extends Error {}

/** The name is that of another command. */
export class OtherCommand extends Error {}

export type Kind = 'command' | 'outcome';

/** Texts that survive a crash. A text is written once. */
export interface Store {
  /** Stores the text, unless there is one of this kind and name. Returns the stored text. */
  put(kind: Kind, name: string, text: string): Promise<string>;
  get(kind: Kind, name: string): Promise<string | undefined>;
  all(kind: Kind): Promise<string[]>;
  delete(kind: Kind, name: string): Promise<void>;
}

/** An IndexedDB for the commands of one service. All pages of the origin share it. Ask `navigator.storage.persist()`: otherwise the
 * browser may clear it when the disk is full. */
export class BrowserStore implements Store {
  readonly #database: Promise<IDBDatabase>;

  constructor(name: string) {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => ['command', 'outcome'].forEach((kind) => request.result.createObjectStore(kind));
    this.#database = result(request);
  }

  put(kind: Kind, name: string, text: string): Promise<string> {
    return this.#transaction(kind, 'readwrite', async (store) => {
      const known: string | undefined = await result(store.get(name));
      if (known === undefined) store.put(text, name);
      return known ?? text;
    });
  }

  get(kind: Kind, name: string): Promise<string | undefined> {
    return this.#transaction(kind, 'readonly', (store) => result(store.get(name)));
  }

  all(kind: Kind): Promise<string[]> {
    return this.#transaction(kind, 'readonly', (store) => result(store.getAll()));
  }

  delete(kind: Kind, name: string): Promise<void> {
    return this.#transaction(kind, 'readwrite', (store) => result(store.delete(name)));
  }

  /** Returns when what was written is on the disk. */
  async #transaction<T>(kind: Kind, mode: IDBTransactionMode, use: (store: IDBObjectStore) => Promise<T>): Promise<T> {
    const transaction = (await this.#database).transaction(kind, mode, { durability: 'strict' });
    const [used] = await Promise.all([
      use(transaction.objectStore(kind)),
      new Promise<void>((done, fail) => {
        transaction.oncomplete = () => done();
        transaction.onabort = () => fail(transaction.error);
      }),
    ]);
    return used;
  }
}

const result = <T>(request: IDBRequest<T>) =>
  new Promise<T>((done, fail) => {
    request.onsuccess = () => done(request.result);
    request.onerror = () => fail(request.error);
  });

/** The commands of one service. `token` returns a bearer token. The key is fenced after so many attempts without an outcome, and an
 * operation is followed for so many seconds in one call. */
export class Commands {
  readonly #fetch: (request: Request) => Promise<Response>;

  constructor(
    private readonly store: Store,
    private readonly baseUrl: string,
    private readonly token: () => string | Promise<string>,
    attempts = ATTEMPTS,
    private readonly patience = 60,
  ) {
    this.#fetch = retrying(attempts);
  }

  /** Stores a command, a POST that takes a key, before it is sent. With a name of the caller's, such as the id of a cart, a second
   * call returns the first command. Throws `OtherCommand` if that has another path or body. */
  async remember(path: string, body: string, name?: string): Promise<Command> {
    const key = crypto.randomUUID();
    const command: Command = { name: name ?? key, key, path, body, at: Date.now() };
    const stored: Command = JSON.parse(await this.store.put('command', command.name, JSON.stringify(command)));
    if (stored.path !== path || stored.body !== body) throw new OtherCommand(`${name} is the name of another command`);
    return stored;
  }

  /** The commands without an outcome, oldest first. */
  async open(): Promise<Command[]> {
    const open: Command[] = [];
    for (const text of await this.store.all('command')) {
      const command: Command = JSON.parse(text);
      if ((await this.store.get('outcome', command.key)) === undefined) open.push(command);
    }
    return open.sort((one, other) => one.at - other.at);
  }

  /** Deletes a command whose outcome the caller has used. A command without an outcome stays. */
  async forget({ name, key }: Command): Promise<void> {
    if ((await this.store.get('outcome', key)) === undefined) return;
    await this.store.delete('command', name);
    await this.store.delete('outcome', key);
  }

  /** Sends the command until its outcome is known. Throws `Undecided` if the service cannot be asked. */
  async outcome(command: Command): Promise<Outcome> {
    const known = await this.store.get('outcome', command.key);
    if (known !== undefined) return JSON.parse(known);
    return JSON.parse(await this.store.put('outcome', command.key, JSON.stringify(await this.#decide(command))));
  }

  async #decide(command: Command): Promise<Outcome> {
    if (Date.now() - command.at > LIFE) throw new Undecided('the service may have forgotten the key: read the resource');
    let response = await this.#send(command);
    if (!tells(response)) {
      // Gives up. This holds for a refusal, too: it may be of this attempt alone, after one that took effect.
      const [record] = (await this.#read('POST', `/v1/idempotency-keys/${command.key}/fence`)).data;
      if (record === undefined) return withoutEffect(response);
      if (record.state === 'expired' && record.status !== 202) return ended(record.status, {}, null);
      if (record.state !== 'completed' && record.state !== 'failed_terminal') return this.#follow(record.operation_id);
      response = await this.#send(command);
    }
    if (!tells(response)) throw new Undecided('the stored response did not arrive');
    const text = await response.text();
    const body = text === '' ? null : JSON.parse(text);
    if (response.status === 202) return this.#follow(body.operation_id);
    return ended(response.status, Object.fromEntries(response.headers), body);
  }

  async #follow(operation: string): Promise<Outcome> {
    const until = Date.now() + 1000 * this.patience;
    while (Date.now() < until) {
      const { reply } = await this.#read('GET', `/v1/operations/${operation}`);
      if (reply !== null) return ended(reply.status, reply.headers, reply.body);
      await sleep(1);
    }
    throw new Undecided('the operation has not ended');
  }

  #send({ key, path, body }: Command): Promise<Response | undefined> {
    return this.#request('POST', path, { 'Idempotency-Key': key, 'Content-Type': 'application/json' }, body);
  }

  async #read(method: string, path: string) {
    const response = await this.#request(method, path, {});
    try {
      if (response?.status === 200) return await response.json();
    } catch {
      // A gateway's page.
    }
    throw new Undecided(`${method} ${path}: ${response?.status ?? 'no response'}`);
  }

  /** Asks by the retry policy, twice if the token has expired meanwhile. Returns undefined if there was no response at last. */
  async #request(method: string, path: string, headers: Record<string, string>, body: string | null = null) {
    for (let time = 1; time <= 2; time++) {
      const all = { ...headers, Authorization: `Bearer ${await this.token()}` };
      const request = new Request(this.baseUrl + path, { method, headers: all, body });
      const response = await this.#fetch(request).catch(() => undefined);
      if (response?.status !== 401) return response;
    }
    throw new Undecided('the token is refused');
  }
}

/** Reports whether this is the stored response of the key. A response without this header may be a gateway's. */
function tells(response: Response | undefined): response is Response {
  return ['executed', 'replayed'].includes(response?.headers.get('Idempotency-Status') ?? '');
}

function ended(status: number, headers: Record<string, string>, body: unknown): Outcome {
  if (status < 400) return { kind: 'happened', status, headers, body };
  return { kind: 'refused', problem: (body as Record<string, unknown> | null) ?? { status } };
}

/** The outcome of a fenced key without a record, after this last response. */
async function withoutEffect(response: Response | undefined): Promise<Outcome> {
  const problem = await response?.json().catch(() => undefined); // a gateway's page
  if (problem?.retryable === false && problem.code !== 'idempotency-key-fenced') return { kind: 'refused', problem };
  return { kind: 'never' };
}
