// Orders and charges that must not be forgotten. killed.ts makes them in Node, and the page of page/killed.mjs in a browser.

import { OtherCommand, Undecided, type Command, type Commands } from './remember.js';

const WORKERS = 8;

/** Says what happens, at once: this program may be killed. */
export type Tell = (...words: (string | number)[]) => void;

export async function carryOut(number: number, orders: Commands, payments: Commands, tell: Tell) {
  async function decide(commands: Commands, command: Command) {
    for (;;) {
      try {
        const { kind } = await commands.outcome(command);
        return tell(kind, command.name);
      } catch (error) {
        if (!(error instanceof Undecided)) throw error;
        tell('undecided', command.name, error.message);
      }
    }
  }

  async function place(number: number) {
    const order = { lines: [{ sku: 'TEA', quantity: 1 }], payment_method: 'pm_card_visa' };
    const charge = { amount: { amount: 450, currency: 'EUR' }, payment_method: 'pm_card_idem_slow' }; // takes three seconds: 202
    let [to, path, name, body]: [Commands, string, string, object] = [orders, '/v1/orders', `order-${number}`, order];
    if (number % 10 === 3) body = { ...order, expected_total: { amount: 1, currency: 'EUR' } };
    if (number % 10 === 7) [to, path, name, body] = [payments, '/v1/payments', `charge-${number}`, charge];
    const command = await to.remember(path, JSON.stringify({ ...body, reference: name }), name);
    tell('remembers', name, command.key);
    if (number === 0) {
      await to.remember(path, '{}', name).catch((error) => {
        if (!(error instanceof OtherCommand)) throw error;
        tell('taken', name);
      });
      // As if it were 30 days old. The service may have forgotten the key by then.
      const old = { ...command, at: command.at - 30 * 86_400_000 };
      await to.outcome(old).catch((error) => {
        if (!(error instanceof Undecided)) throw error;
        tell('late', name);
      });
    }
    await decide(to, command);
  }

  // What an earlier life of this program has left.
  const left = [orders, payments].map(async (of) => (await of.open()).map((command) => () => decide(of, command)));
  const jobs = (await Promise.all(left)).flat();
  tell('resumes', jobs.length);
  for (let next = 0; next < number; next++) jobs.push(() => place(next));
  const worker = async () => {
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) await job();
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
}
