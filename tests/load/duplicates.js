// Duplicates: three of ten orders are sent again under the same key: half of them at the same moment, half after the response.

import { any, constantRate, judgeOrder, options as shared, order, send, setting, stock, TENANTS } from './lib.js';

export { handleSummary } from './lib.js';

const SKUS = ['tea-1', 'tea-2', 'tea-3', 'tea-4', 'tea-5'];

export const options = shared(
  { orders: constantRate(setting('IDEM_LOAD_RATE', 30), setting('IDEM_LOAD_SECONDS', 60)) },
  { replays: ['count>0'] },
);

export function setup() {
  stock(TENANTS, SKUS, 1000000);
}

export default function () {
  const request = order(any(TENANTS), any(SKUS));
  const chance = Math.random();
  if (chance < 0.15) judgeOrder(send(request, 2));
  else if (chance < 0.3) judgeOrder([...send(request), ...send(request)]);
  else judgeOrder(send(request));
}
