// Drives the page of the OpenAPI document in Chromium: places an order, and sends it again. tests/page.rs reads the output.

import assert from 'node:assert/strict';
import { env } from 'node:process';

import { chromium } from 'playwright-core';

const orders = env.IDEM_ORDERS;
const browser = await chromium.launch({ executablePath: env.IDEM_CHROMIUM, args: ['--no-sandbox'] });
const page = await browser.newPage();

// Whom the page asks, and what the browser refuses.
const hosts = new Set();
page.on('request', (request) => request.url().startsWith('http') && hosts.add(new URL(request.url()).origin));
await page.addInitScript(() => {
  window.refused = [];
  addEventListener('securitypolicyviolation', (event) => window.refused.push(`${event.violatedDirective} ${event.blockedURI}`));
});

await page.goto(`${orders}/docs/`);
await page.getByRole('button', { name: 'Authorize' }).first().click();
await page.getByLabel('auth-bearer-value').fill(env.IDEM_TOKEN);
await page.getByRole('button', { name: 'Apply credentials' }).click();
await page.getByRole('button', { name: 'Close' }).click();
console.log('holds: token');

const operation = page.locator('#operations-orders-placeOrder');
await operation.getByRole('button', { name: 'POST' }).first().click();
await operation.locator('textarea').fill(JSON.stringify({ lines: [{ sku: 'TEA', quantity: 2 }], payment_method: 'pm_card_visa' }));
const key = operation.getByPlaceholder('Idempotency-Key');

/** Sends the request, and returns the response as the page shows it. */
async function execute() {
  const [response] = await Promise.all([
    page.waitForResponse((response) => response.url() === `${orders}/v1/orders`),
    operation.getByRole('button', { name: 'Execute' }).click(),
  ]);
  const shown = operation.locator('.live-responses-table');
  await shown.getByText(response.headers()['x-request-id']).waitFor();
  return { status: response.status(), order: (await response.json()).id, shown: await shown.innerText() };
}

const used = await key.inputValue();
assert.match(used, /^[0-9a-f-]{36}$/);
const first = await execute();
assert.equal(first.status, 201);
console.log('holds: order');
const again = await execute();
assert.equal(again.order, first.order);
assert.match(again.shown, /idempotent-replayed: true/);
console.log('holds: replay');
await operation.getByRole('button', { name: 'New key' }).click();
assert.notEqual(await key.inputValue(), used);
const other = await execute();
assert.notEqual(other.order, first.order);
assert.doesNotMatch(other.shown, /idempotent-replayed/);
console.log('holds: another order');

assert.deepEqual([...hosts], [orders]);
assert.deepEqual(await page.evaluate(() => window.refused), []);
// The browser refuses another host, and this program sees it.
await page.evaluate(() => fetch('http://127.0.0.1:9/').catch(() => {}));
await page.waitForFunction(() => window.refused.includes('connect-src http://127.0.0.1:9/'));
console.log('holds: no other host');

await browser.close();
