// Calls the provider with Stripe's unchanged Node library. Prints a line for each check that holds; otherwise throws.
//
// IDEM_PROVIDER_URL is the address of the provider; IDEM_CLIENTS_NODE is the folder of the library.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';

const Stripe = createRequire(`${process.env.IDEM_CLIENTS_NODE}/`)('stripe');
const URL_OF_PROVIDER = new URL(process.env.IDEM_PROVIDER_URL);
const SECRET = 'whsec_official_node';
const CARD = { currency: 'eur', payment_method: 'pm_card_visa', payment_method_types: ['card'], confirm: true };

/** A client that differs from the usual one in its address only. */
function client(key = 'sk_test_official', maxNetworkRetries = 0) {
  const { hostname: host, port } = URL_OF_PROVIDER;
  return new Stripe(key, { host, port, protocol: 'http', maxNetworkRetries, telemetry: false });
}

const api = client();
const errors = Stripe.errors;
const holds = (name) => console.log(`holds: ${name}`);
const now = () => process.hrtime.bigint();

/** Returns the error of the call, which must have this type. */
async function refused(kind, call) {
  const error = await Promise.resolve().then(call).then(() => assert.fail(`no ${kind.name}`), (error) => error);
  assert.equal(error.constructor, kind, `${error.constructor.name}: ${error.message}`);
  return error;
}

/** Calls a route that Stripe does not have: /_faults or /_webhooks. */
async function ask(method, path, body) {
  const answer = await fetch(new URL(path, URL_OF_PROVIDER), { method, body: body && JSON.stringify(body) });
  assert.equal(answer.status, 200);
  return answer.json();
}

async function charge() {
  const intent = await api.paymentIntents.create({ ...CARD, amount: 1999, metadata: { reference: 'node' } });
  assert.deepEqual([intent.status, intent.amount_received, intent.metadata.reference], ['succeeded', 1999, 'node']);
  assert.equal((await api.paymentIntents.retrieve(intent.id)).latest_charge, intent.latest_charge);
  assert.match(intent.lastResponse.requestId, /^req_/);
  holds('charge');
}

async function steps() {
  let intent = await api.paymentIntents.create({ ...CARD, amount: 500, capture_method: 'manual' });
  assert.deepEqual([intent.status, intent.amount_capturable], ['requires_capture', 500]);
  intent = await api.paymentIntents.capture(intent.id, { amount_to_capture: 300 });
  assert.deepEqual([intent.status, intent.amount_received], ['succeeded', 300]);
  intent = await api.paymentIntents.create({ ...CARD, amount: 500, capture_method: 'manual' });
  intent = await api.paymentIntents.cancel(intent.id, { cancellation_reason: 'abandoned' });
  assert.deepEqual([intent.status, intent.cancellation_reason], ['canceled', 'abandoned']);
  holds('steps');
}

async function balance() {
  const request = { ...CARD, amount: 10000, expand: ['latest_charge.balance_transaction'] };
  const intent = await api.paymentIntents.create(request);
  const movement = intent.latest_charge.balance_transaction;
  assert.deepEqual([movement.amount, movement.fee, movement.net], [10000, 320, 9680]);
  assert.equal(intent.latest_charge.paid, true);
  holds('balance');
}

async function refunds() {
  const { id: payment_intent } = await api.paymentIntents.create({ ...CARD, amount: 1000 });
  const first = await api.refunds.create({ payment_intent, amount: 300, reason: 'requested_by_customer' });
  const second = await api.refunds.create({ payment_intent });
  assert.deepEqual([first.status, first.amount, second.amount], ['succeeded', 300, 700]);
  assert.equal((await api.refunds.retrieve(first.id)).payment_intent, payment_intent);
  const listed = await api.refunds.list({ payment_intent });
  assert.deepEqual(listed.data.map((refund) => refund.id), [second.id, first.id]);
  const again = await refused(errors.StripeInvalidRequestError, () => api.refunds.create({ payment_intent }));
  assert.equal(again.code, 'charge_already_refunded');
  holds('refunds');
}

async function paging() {
  const { created: gte } = await api.paymentIntents.create({ ...CARD, amount: 50 });
  const made = [];
  for (let n = 0; n < 7; n += 1) {
    made.push((await api.paymentIntents.create({ ...CARD, amount: 100 + n })).id);
  }
  const seen = [];
  for await (const intent of api.paymentIntents.list({ limit: 3, created: { gte } })) seen.push(intent.id);
  assert.equal(new Set(seen).size, seen.length, 'an object came twice');
  assert.deepEqual(seen.filter((id) => made.includes(id)), made.reverse());
  holds('paging');
}

async function declines() {
  const poor = { ...CARD, amount: 100, payment_method: 'pm_card_chargeDeclinedInsufficientFunds' };
  const error = await refused(errors.StripeCardError, () => api.paymentIntents.create(poor));
  const { statusCode, code, decline_code } = error;
  assert.deepEqual([statusCode, code, decline_code], [402, 'card_declined', 'insufficient_funds']);
  const intent = await api.paymentIntents.retrieve(error.payment_intent.id);
  assert.equal(intent.last_payment_error.decline_code, 'insufficient_funds');
  const alone = { ...poor, payment_method: 'pm_card_authenticationRequired', off_session: true };
  const needed = await refused(errors.StripeCardError, () => api.paymentIntents.create(alone));
  assert.equal(needed.code, 'authentication_required');
  holds('declines');
}

async function retries() {
  const options = { idempotencyKey: `node-${now()}` };
  const first = await api.paymentIntents.create({ ...CARD, amount: 100 }, options);
  const second = await api.paymentIntents.create({ ...CARD, amount: 100 }, options);
  assert.equal(first.id, second.id);
  assert.equal(first.lastResponse.headers['idempotent-replayed'], undefined);
  assert.equal(second.lastResponse.headers['idempotent-replayed'], 'true');
  const other = () => api.paymentIntents.create({ ...CARD, amount: 101 }, options);
  assert.equal((await refused(errors.StripeIdempotencyError, other)).statusCode, 400);
  holds('retries');
}

async function refusals() {
  const misspelt = () => api.paymentIntents.create({ ...CARD, amount: 50, amuont: 1 });
  const unknown = await refused(errors.StripeInvalidRequestError, misspelt);
  assert.deepEqual([unknown.code, unknown.param], ['parameter_unknown', 'amuont']);
  const missing = await refused(errors.StripeInvalidRequestError, () => api.paymentIntents.retrieve('pi_nobody'));
  assert.deepEqual([missing.statusCode, missing.code], [404, 'resource_missing']);
  await refused(errors.StripeAuthenticationError, () => client('sk_live_1').paymentIntents.list());
  await ask('POST', '/_faults', { rules: [{ kinds: ['rate_limit'], times: 1 }] });
  await refused(errors.StripeRateLimitError, () => api.paymentIntents.list());
  holds('refusals');
}

async function lostAnswer() {
  const route = 'POST /v1/payment_intents';
  await ask('POST', '/_faults', { rules: [{ kinds: ['drop_reply'], times: 1, route }] });
  const reference = `node-lost-${now()}`;
  const request = { ...CARD, amount: 77, metadata: { reference } };
  const intent = await client('sk_test_official', 2).paymentIntents.create(request);
  assert.equal(intent.lastResponse.headers['idempotent-replayed'], 'true');
  assert.equal((await ask('GET', '/_faults')).rules[0].bites, 1);
  await ask('DELETE', '/_faults');
  const { data } = await api.paymentIntents.list({ limit: 100 });
  assert.deepEqual(data.filter((one) => one.metadata.reference === reference).map((one) => one.id), [intent.id]);
  holds('lost answer');
}

async function webhook() {
  const heard = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    heard.push([Buffer.concat(chunks).toString(), request.headers['stripe-signature']]);
    response.end();
    server.emit('heard');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${server.address().port}/hook`;
  await ask('POST', '/_webhooks', { url, secret: SECRET });
  const arrival = once(server, 'heard', { signal: AbortSignal.timeout(30_000) });
  const intent = await api.paymentIntents.create({ ...CARD, amount: 4242 });
  await arrival;
  await ask('DELETE', '/_webhooks');
  server.close();
  const [body, signature] = heard[0];
  const construct = (...given) => api.webhooks.constructEvent(...given);
  const event = construct(body, signature, SECRET);
  assert.deepEqual([event.type, event.data.object.id], ['payment_intent.succeeded', intent.id]);
  assert.equal((await api.events.retrieve(event.id)).data.object.id, intent.id);
  const wrong = errors.StripeSignatureVerificationError;
  await refused(wrong, () => construct(body, signature, 'whsec_another'));
  await refused(wrong, () => construct(body.replace('4242', '4243'), signature, SECRET));
  const later = Math.floor(Date.now() / 1000) + 301;
  await refused(wrong, () => construct(body, signature, SECRET, 300, undefined, later * 1000));
  holds('webhook');
}

const checks = [charge, steps, balance, refunds, paging, declines, retries, refusals, lostAnswer, webhook];
for (const check of checks) await check();
