// Steady: orders of four tenants at a constant rate, each with a key of its own.

import { any, constantRate, judgeOrder, options as shared, order, send, setting, stock, TENANTS } from './lib.js';

export { handleSummary } from './lib.js';

const SKUS = ['tea-1', 'tea-2', 'tea-3', 'tea-4', 'tea-5'];

export const options = shared({ orders: constantRate(setting('IDEM_LOAD_RATE', 30), setting('IDEM_LOAD_SECONDS', 60)) });

export function setup() {
  stock(TENANTS, SKUS, 1000000);
}

export default function () {
  judgeOrder(send(order(any(TENANTS), any(SKUS))));
}
