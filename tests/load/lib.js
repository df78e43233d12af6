// Shared by the load scripts: the settings of a run, its tenants, the retry policy, the comparison of responses, the summary.
//
// A script is a customer who follows docs/clients.md. The thresholds state promises; no threshold states a time.

import http from 'k6/http';
import { fail, sleep } from 'k6';
import { Counter, Trend } from 'k6/metrics';

const ATTEMPTS = 60; // more than a shop's 8, because a load may be refused for as long as it lasts
const PAUSE = 1; // second after a lost response
const LINES = 3; // of the log for each virtual user; one defect can give thousands

const acceptedOrders = new Counter('accepted_orders'); // keys with a 201, not responses
const replays = new Counter('replays');
const unequalReplays = new Counter('unequal_replays');
const secondExecutions = new Counter('second_executions');
const unexpected = new Counter('unexpected_responses');
const lost = new Counter('lost_responses');
const refused = { 409: new Counter('refused_409'), 429: new Counter('refused_429'), 503: new Counter('refused_503') };
const untilFinal = new Trend('until_final', true);

/** A number of the command line, or its default. */
export function setting(name, byDefault) {
  const value = Number(__ENV[name] || byDefault);
  if (!(value > 0)) throw new Error(`${name} must be a number above 0`);
  return value;
}

/** The address of a service. Load goes to this machine only. */
function address(name) {
  const url = __ENV[`IDEM_LOAD_${name}`] || '';
  if (!/^http:\/\/127\.0\.0\.1:\d+$/.test(url)) throw new Error(`IDEM_LOAD_${name} must be an address of 127.0.0.1`);
  return url;
}

export const ORDERS = address('ORDERS');
export const PAYMENTS = address('PAYMENTS');
export const INVENTORY = address('INVENTORY');

/** The options of every script. `more` adds thresholds, or replaces them. */
export function options(scenarios, more = {}) {
  return {
    scenarios,
    thresholds: {
      unexpected_responses: ['count==0'], // a 5xx or a refusal that a client who follows Retry-After is left with
      unequal_replays: ['count==0'],
      second_executions: ['count==0'],
      accepted_orders: ['count>0'], // otherwise the other thresholds say nothing
      ...more,
    },
    summaryTrendStats: ['med', 'p(95)', 'p(99)', 'max'],
    systemTags: ['scenario', 'status', 'name'],
    batch: 100,
    batchPerHost: 100,
    setupTimeout: '120s',
    teardownTimeout: '120s',
  };
}

/** Open loop: arrivals at a constant rate, however slow the responses are. */
export function constantRate(rate, seconds, more = {}) {
  const users = Math.min(500, Math.max(20, Math.ceil(rate * 8)));
  const scenario = { executor: 'constant-arrival-rate', rate: Math.round(rate * 60), timeUnit: '1m', duration: `${seconds}s` };
  return { ...scenario, preAllocatedVUs: Math.ceil(users / 4), maxVUs: users, gracefulStop: '90s', ...more };
}

/** The tenants of this run: name and token, from the environment. */
export const TENANTS = (__ENV.IDEM_LOAD_TENANTS || '').split(',').map((pair) => {
  const [name, token] = pair.split('=');
  return { name, token };
});

export const any = (list) => list[Math.floor(Math.random() * list.length)];

/** A command with a new key: everything that its copies have in common. */
export function command(tenant, url, body, route) {
  return { method: 'POST', url, body: JSON.stringify(body), params: parameters(tenant, route, crypto.randomUUID()) };
}

/** An order for one piece. */
export function order(tenant, sku) {
  return command(tenant, `${ORDERS}/v1/orders`, { lines: [{ sku, quantity: 1 }], payment_method: 'pm_card_visa' }, 'place order');
}

export function read(tenant, url, route) {
  return send({ method: 'GET', url, body: null, params: parameters(tenant, route) })[0];
}

function parameters(tenant, route, key) {
  const headers = { Authorization: `Bearer ${tenant.token}`, 'Content-Type': 'application/json' };
  if (key) headers['Idempotency-Key'] = key;
  return { headers, tags: { name: route }, timeout: '20s' };
}

/**
 * Sends copies of one request at the same moment; returns their final responses.
 *
 * The retry policy of docs/clients.md: send the same bytes again while a response is lost, asks for it, or comes from a gateway that failed.
 * A 500 is a defect, whatever its retry gets.
 */
export function send(request, copies = 1) {
  const started = Date.now();
  const finals = [];
  for (let attempt = 1, open = copies; open > 0; attempt++) {
    const pauses = [];
    for (const response of http.batch(Array(open).fill(request))) {
      const pause = attempt < ATTEMPTS ? pauseAfter(response) : null;
      if (pause === null) {
        finals.push(response);
        untilFinal.add(Date.now() - started);
      } else {
        pauses.push(pause);
        if (response.status === 500) report(unexpected, 'unexpected response', response);
        (refused[response.status] || lost).add(1);
      }
    }
    open = pauses.length;
    // A random part, because a thousand clients that were refused together would otherwise come back together.
    if (open > 0) sleep(Math.max(...pauses) * (1 + Math.random()));
  }
  return finals;
}

/** The seconds after which the same bytes are sent again; null if the response is final. */
function pauseAfter({ status, headers, body }) {
  if (status === 0) return PAUSE;
  const retryAfter = headers['Retry-After'];
  const isOfGateway = status >= 500 || [408, 425, 429].includes(status) || retryAfter !== undefined;
  const retryable = /"retryable": ?(true|false)/.exec(body || ''); // of a problem
  const asks = status >= 400 && (retryable ? retryable[1] === 'true' : isOfGateway);
  return asks ? Math.max(PAUSE, Number(retryAfter) || 0) : null;
}

/** The part of a response that a replay repeats. */
export function storedPart({ status, headers, body }) {
  return JSON.stringify([status, headers['Content-Type'], headers.Etag, headers.Location, body]);
}

let lines = 0;
function report(counter, what, response) {
  counter.add(1);
  if (lines++ < LINES) console.error(`${what}: ${response.status} ${response.error || ''} ${response.body} (${response.url})`);
}

/**
 * Judges the final responses to copies of one command: each has an expected status, all are equal to `stored` or to the first
 * one, and one copy at most was executed. Returns the first response as JSON, or null if it is not expected.
 */
export function judge(responses, expected, stored) {
  let executions = stored === undefined ? 0 : 1;
  const first = stored === undefined ? storedPart(responses[0]) : stored;
  for (const response of responses) {
    if (!expected.includes(response.status)) report(unexpected, 'unexpected response', response);
    else if (storedPart(response) !== first) report(unequalReplays, `unequal to ${first}`, response);
    if (response.headers['Idempotent-Replayed'] === 'true') replays.add(1);
    else if (response.headers['Idempotency-Status'] === 'executed' && ++executions > 1) {
      report(secondExecutions, 'executed again', response);
    }
  }
  return expected.includes(responses[0].status) ? responses[0].json() : null;
}

/** Judges copies of an order, and counts it once. */
export function judgeOrder(responses) {
  const placed = judge(responses, [201]);
  if (placed) acceptedOrders.add(1);
  return placed;
}

/** Gives each tenant these items and pieces; returns once orders knows the prices. */
export function stock(tenants, skus, pieces) {
  for (const tenant of tenants) {
    for (const sku of skus) {
      const item = { name: sku, unit_price: { amount: 450, currency: 'EUR' } };
      const put = { ...command(tenant, `${INVENTORY}/v1/items/${sku}`, item, 'put item'), method: 'PUT' };
      const delivery = { delta: pieces, reason: 'delivery' };
      const adjust = command(tenant, `${INVENTORY}/v1/items/${sku}/adjustments`, delivery, 'adjust stock');
      if (!judge(send(put), [200, 201]) || !judge(send(adjust), [201])) fail(`${sku} was not prepared`);
    }
    for (const sku of skus) {
      eventually(`${sku} is in the catalogue`, () => read(tenant, `${ORDERS}/v1/catalogue/${sku}`, 'get price').status === 200);
    }
  }
}

export function eventually(what, holds) {
  for (let end = Date.now() + 60000; !holds(); sleep(0.2)) {
    if (Date.now() > end) fail(`not within 60 s: ${what}`);
  }
}

/** Prints the figures, and writes them for the audit. */
export function handleSummary({ metrics, state }) {
  const of = (name, value) => metrics[name]?.values[value] ?? 0; // a metric without samples has no values
  const count = (name) => of(name, 'count');
  const times = (name) => ['med', 'p(95)', 'p(99)'].map((value) => Math.round(of(name, value)));
  const figures = {
    seconds: Math.round(state.testRunDurationMs / 1000),
    responses: count('http_reqs'),
    accepted_orders: count('accepted_orders'),
    replays: count('replays'),
    refusals: { 409: count('refused_409'), 429: count('refused_429'), 503: count('refused_503'), lost: count('lost_responses') },
    not_sent: count('dropped_iterations'),
    response_ms: times('http_req_duration'),
    until_final_ms: times('until_final'),
  };
  const { refusals } = figures;
  const broken = Object.keys(metrics).flatMap((name) => Object.entries(metrics[name].thresholds || {})
    .filter(([, threshold]) => !threshold.ok).map(([threshold]) => `${name}: ${threshold}, seen ${count(name) || of(name, 'value')}`));
  const text = [
    `  ${figures.responses} responses in ${figures.seconds} s; ${figures.not_sent} arrivals not sent, for want of virtual users`,
    `  ${figures.accepted_orders} orders accepted; ${figures.replays} replays`,
    `  refused: ${refusals[409]} × 409, ${refusals[429]} × 429, ${refusals[503]} × 503; ${refusals.lost} without a response or otherwise`,
    `  p50, p95, p99 of a response: ${figures.response_ms.join(', ')} ms; until the final one: ${figures.until_final_ms.join(', ')} ms`,
    ...broken.map((line) => `  BROKEN ${line}`),
  ];
  return { stdout: `${text.join('\n')}\n`, [__ENV.IDEM_LOAD_SUMMARY]: JSON.stringify(figures) };
}
