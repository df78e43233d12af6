// Drives the services by clients that openapi-typescript generated. tests/scenario starts the services and reads the output.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { env } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

import createClient from 'openapi-fetch';

import type { paths as InventoryPaths } from './generated/inventory.js';
import type { components, paths as OrdersPaths } from './generated/orders.js';
import type { paths as PaymentsPaths } from './generated/payments.js';
import { fetchWithRetries } from './retries.js';

type Order = components['schemas']['Order'];
type PlaceOrder = components['schemas']['PlaceOrder'];

const VISA = 'pm_card_visa';
const SLOW = 'pm_card_idem_slow'; // charged after three seconds
const TIMEOUT = 60_000; // milliseconds

const given = (name: string) => {
  const value = env[name];
  assert(value, `${name} is not set`);
  return value;
};
const at = (url: string, token = given('IDEM_TOKEN')) => ({
  baseUrl: given(url),
  headers: { Authorization: `Bearer ${token}` },
  fetch: fetchWithRetries,
});
const orders = createClient<OrdersPaths>(at('IDEM_ORDERS'));
const payments = createClient<PaymentsPaths>(at('IDEM_PAYMENTS'));
const inventory = createClient<InventoryPaths>(at('IDEM_INVENTORY'));

const header = () => ({ 'Idempotency-Key': randomUUID() });
const tea = (quantity: number, card = VISA): PlaceOrder => ({
  lines: [{ sku: 'TEA', quantity }],
  payment_method: card,
});

async function item() {
  const path = { sku: 'TEA' };
  const body = { name: 'Sencha', unit_price: { amount: 450, currency: 'EUR' } } as const;
  const put = await inventory.PUT('/v1/items/{sku}', { params: { path }, body });
  assert.equal(put.response.status, 201);
  const delivery = { delta: 100, reason: 'delivery' };
  const stocked = await inventory.POST('/v1/items/{sku}/adjustments', {
    params: { path, header: header() },
    body: delivery,
  });
  assert.equal(stocked.data?.on_hand, 100);
  const dearer = { name: 'Sencha', unit_price: { amount: 500, currency: 'EUR' } } as const;
  const params = { path, header: { 'If-Match': '"9"' } };
  const refused = await inventory.PUT('/v1/items/{sku}', { params, body: dearer });
  assert(refused.error?.code === 'precondition-failed');
}

async function placed(body: PlaceOrder): Promise<Order> {
  // Orders learns of a new item within moments, and asks for a retry before.
  const { data, error } = await orders.POST('/v1/orders', { params: { header: header() }, body });
  assert(data, JSON.stringify(error));
  return data;
}

async function lostResponse(): Promise<Order> {
  await placed(tea(1));
  const lossy = createClient<OrdersPaths>(at('IDEM_ORDERS_LOSSY'));
  const { data, response } = await lossy.POST('/v1/orders', { params: { header: header() }, body: tea(2) });
  assert(data);
  assert.equal(response.status, 201);
  assert.equal(response.headers.get('Idempotent-Replayed'), 'true');
  return data;
}

async function confirmed(order: Order) {
  const until = Date.now() + TIMEOUT;
  let seen: Order | undefined = order;
  while (seen?.status === 'pending' || seen?.status === 'awaiting_payment') {
    assert(Date.now() < until, seen.status);
    await sleep(100);
    const read = await orders.GET('/v1/orders/{id}', { params: { path: { id: order.id } } });
    seen = read.data;
  }
  assert.equal(seen?.status, 'confirmed');
}

async function pages() {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const query = cursor === null ? { limit: 1 } : { limit: 1, cursor };
    const page: { data?: components['schemas']['OrderList'] } = await orders.GET('/v1/orders', { params: { query } });
    assert(page.data);
    ids.push(...page.data.data.map((order) => order.id));
    cursor = page.data.next_cursor;
  } while (cursor !== null);
  assert.deepEqual([ids.length, new Set(ids).size], [2, 2]);
}

async function problems() {
  const params = { header: header() };
  assert((await orders.POST('/v1/orders', { params, body: tea(1) })).data);
  const reused = await orders.POST('/v1/orders', { params, body: tea(2) });
  assert(reused.error?.code === 'idempotency-key-reused');
  const stranger = createClient<OrdersPaths>(at('IDEM_ORDERS', 'nobody'));
  const anonymous = await stranger.POST('/v1/orders', { params: { header: header() }, body: tea(1) });
  assert(anonymous.error?.code === 'unauthenticated');
  const reader = createClient<OrdersPaths>(at('IDEM_ORDERS', given('IDEM_READER_TOKEN')));
  const forbidden = await reader.POST('/v1/orders', { params: { header: header() }, body: tea(1) });
  assert(forbidden.error?.code === 'forbidden');
  const missing = await orders.GET('/v1/orders/{id}', { params: { path: { id: randomUUID() } } });
  assert(missing.error?.code === 'not-found');
  const none = { lines: [], payment_method: VISA };
  const invalid = await orders.POST('/v1/orders', { params: { header: header() }, body: none });
  assert(invalid.error?.code === 'request-invalid');
  assert.equal(invalid.error.errors?.[0]?.pointer, '/lines');
  const cheaper: PlaceOrder = { ...tea(1), expected_total: { amount: 1, currency: 'EUR' } };
  const refused = await orders.POST('/v1/orders', { params: { header: header() }, body: cheaper });
  assert(refused.error?.code === 'price-changed');
  const amount = { amount: 100, currency: 'EUR' } as const;
  const body = { amount, payment_method: 'pm_card_visa_chargeDeclined' };
  const declined = await payments.POST('/v1/payments', { params: { header: header() }, body });
  assert(declined.error?.code === 'card-declined');
}

async function cancelled() {
  const order = await placed(tea(1, SLOW));
  const params = { path: { id: order.id }, header: header() };
  const body = { reason: 'changed my mind' };
  const { data } = await orders.POST('/v1/orders/{id}/cancel', { params, body });
  assert.equal(data?.status, 'cancelled');
}

async function charged(): Promise<string> {
  const amount = { amount: 1250, currency: 'EUR' } as const;
  const body = { amount, payment_method: VISA, reference: 'invoice 17' };
  const { data, response } = await payments.POST('/v1/payments', { params: { header: header() }, body });
  assert(response.status === 201 && data && 'id' in data, 'the charge has an outcome');
  return data.id;
}

async function followed() {
  const body = { amount: { amount: 700, currency: 'EUR' }, payment_method: SLOW } as const;
  const { data, response } = await payments.POST('/v1/payments', { params: { header: header() }, body });
  assert(response.status === 202 && data && 'operation_id' in data, 'the charge is followed');
  const until = Date.now() + TIMEOUT;
  for (;;) {
    const params = { path: { id: data.operation_id } };
    const operation = (await payments.GET('/v1/operations/{id}', { params })).data;
    assert(operation && Date.now() < until, JSON.stringify(operation));
    if (operation.reply) {
      assert.equal(operation.reply.status, 201);
      return;
    }
    await sleep(200);
  }
}

async function refunded(payment: string) {
  const params = { path: { id: payment }, header: header() };
  const body = { reason: 'broken', amount: { amount: 250, currency: 'EUR' } } as const;
  const { data } = await payments.POST('/v1/payments/{id}/refunds', { params, body });
  assert(data && 'amount' in data, 'the refund has an outcome');
  assert.equal(data.amount.amount, 250);
}

await item();
console.log('holds: item');
const order = await lostResponse();
console.log('holds: lost response');
await confirmed(order);
console.log('holds: confirmed');
await pages();
console.log('holds: pages');
await problems();
console.log('holds: problems');
await cancelled();
console.log('holds: cancelled');
const payment = await charged();
console.log('holds: charged');
await followed();
console.log('holds: followed');
await refunded(payment);
console.log('holds: refunded');
