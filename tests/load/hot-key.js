// One hot key: the same request again and again, from many connections; and races, in which 20 copies of a new request arrive at
// the same moment.

import { constantRate, judge, judgeOrder, options as shared, order, send, setting, stock, storedPart, TENANTS } from './lib.js';

export { handleSummary } from './lib.js';

const SKU = 'tea-1';
const COPIES = 20;
const seconds = setting('IDEM_LOAD_SECONDS', 60);
const rate = setting('IDEM_LOAD_RATE', 50);
const [shop, crowd] = TENANTS; // two, because each has a limit

export const options = shared(
  {
    again: constantRate(rate, seconds, { exec: 'again' }),
    races: constantRate(rate / 25, seconds, { exec: 'races' }),
  },
  { replays: ['count>0'] },
);

/** The first execution of the hot key. Every virtual user compares with its response. */
export function setup() {
  stock([shop, crowd], [SKU], 1000000);
  const request = order(shop, SKU);
  const responses = send(request);
  judgeOrder(responses);
  return { request, stored: storedPart(responses[0]) };
}

export function again({ request, stored }) {
  judge(send(request), [201], stored);
}

export function races() {
  judgeOrder(send(order(crowd, SKU), COPIES));
}
