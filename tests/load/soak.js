// Soak: everything that customers do, slowly and for long: orders, duplicates, cancellations, reads, charges with refunds, deliveries.

import {
  any, command, constantRate, INVENTORY, judge, judgeOrder, options as shared, ORDERS, order, PAYMENTS, read, send, setting, stock, TENANTS,
} from './lib.js';

export { handleSummary } from './lib.js';

const SKUS = ['tea-1', 'tea-2', 'tea-3', 'tea-4', 'tea-5'];

export const options = shared(
  { customers: constantRate(setting('IDEM_LOAD_RATE', 10), setting('IDEM_LOAD_SECONDS', 600)) },
  { replays: ['count>0'] },
);

export function setup() {
  stock(TENANTS, SKUS, 1000000);
}

export default function () {
  const tenant = any(TENANTS);
  const copies = Math.random() < 0.3 ? 2 : 1;
  const chance = Math.random();
  if (chance < 0.7) place(tenant, copies, chance);
  else if (chance < 0.9) charge(tenant, copies);
  else deliver(tenant, copies);
}

function place(tenant, copies, chance) {
  const placed = judgeOrder(send(order(tenant, any(SKUS)), copies));
  if (!placed) return;
  const url = `${ORDERS}/v1/orders/${placed.id}`;
  if (chance < 0.1) {
    // 409: the order is confirmed already.
    judge(send(command(tenant, `${url}/cancel`, { reason: 'changed my mind' }, 'cancel order'), copies), [200, 409]);
  }
  judge([read(tenant, url, 'get order')], [200]);
  judge([read(tenant, `${url}/timeline`, 'get timeline')], [200]);
}

function charge(tenant, copies) {
  const body = { amount: { amount: 1200, currency: 'EUR' }, payment_method: 'pm_card_visa' };
  // 202: the processor takes longer than the client is kept waiting.
  const payment = judge(send(command(tenant, `${PAYMENTS}/v1/payments`, body, 'charge'), copies), [201, 202]);
  if (!payment || payment.status !== 'captured') return;
  const part = { amount: { amount: 500, currency: 'EUR' }, reason: 'broken' };
  judge(send(command(tenant, `${PAYMENTS}/v1/payments/${payment.id}/refunds`, part, 'refund'), copies), [201, 202]);
}

function deliver(tenant, copies) {
  const url = `${INVENTORY}/v1/items/${any(SKUS)}/adjustments`;
  judge(send(command(tenant, url, { delta: 1, reason: 'delivery' }, 'adjust stock'), copies), [201]);
}
