// Makes orders and charges. tests/killed kills this program at random, starts it again, and reads its output.

import { mkdirSync, writeSync } from 'node:fs';
import { env } from 'node:process';

import { FileStore } from './file_store.js';
import { carryOut } from './intents.js';
import { Commands } from './remember.js';

const ATTEMPTS = 3;

function commands(service: string): Commands {
  const folder = `${env['IDEM_STORE']}/${service}`;
  mkdirSync(folder, { recursive: true });
  const url = env[`IDEM_${service.toUpperCase()}`] ?? '';
  return new Commands(new FileStore(folder), url, () => env['IDEM_TOKEN'] ?? '', ATTEMPTS);
}

const tell = (...words: (string | number)[]) => void writeSync(1, `${words.join(' ')}\n`);
await carryOut(Number(env['IDEM_COMMANDS']), commands('orders'), commands('payments'), tell);
