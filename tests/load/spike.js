// Spike: one tenant asks for ten times as much as before, beyond its limit. The other tenants go on, and are not limited.

import { any, constantRate, judgeOrder, options as shared, order, send, setting, stock, TENANTS } from './lib.js';

export { handleSummary } from './lib.js';

const SKUS = ['tea-1', 'tea-2', 'tea-3'];
const seconds = setting('IDEM_LOAD_SECONDS', 60);
const peak = setting('IDEM_LOAD_RATE', 150);
const [crowd, ...calm] = TENANTS;

const users = Math.min(1000, Math.ceil(peak * 6));
const stages = [
  { target: Math.ceil(peak / 10), duration: `${Math.ceil(seconds * 0.2)}s` },
  { target: Math.ceil(peak), duration: '1s' },
  { target: Math.ceil(peak), duration: `${Math.ceil(seconds * 0.2)}s` },
  { target: Math.ceil(peak / 10), duration: '1s' },
  { target: Math.ceil(peak / 10), duration: `${Math.ceil(seconds * 0.6)}s` },
];

export const options = shared(
  {
    calm: constantRate(peak / 10, seconds, { exec: 'calmly' }),
    crowd: {
      executor: 'ramping-arrival-rate', startRate: Math.ceil(peak / 10), timeUnit: '1s', stages,
      preAllocatedVUs: Math.ceil(users / 2), maxVUs: users, gracefulStop: '90s', exec: 'crowded',
    },
  },
  { 'refused_429{scenario:calm}': ['count==0'] },
);

export function setup() {
  stock(TENANTS, SKUS, 1000000);
}

export function calmly() {
  judgeOrder(send(order(any(calm), any(SKUS))));
}

export function crowded() {
  judgeOrder(send(order(crowd, any(SKUS))));
}
