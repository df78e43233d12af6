// Drives the page of the lab in Chromium: every button, then a planted violation. tools/dev.d/lab.sh sets the variables.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { env } from 'node:process';

import { chromium } from 'playwright-core';

const lab = env.IDEM_LAB;
const LIMIT = 60_000;
const browser = await chromium.launch({ executablePath: env.IDEM_CHROMIUM, args: ['--no-sandbox'] });
const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme: 'light', reducedMotion: 'reduce', deviceScaleFactor: 0.9 });
page.setDefaultTimeout(LIMIT);

// Whom the page asks, what the browser refuses, and what goes wrong in the page.
const hosts = new Set();
const errors = [];
page.on('request', (request) => hosts.add(new URL(request.url()).origin));
page.on('pageerror', (error) => errors.push(error.message));
page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));

const button = (name) => page.getByRole('button', { name, exact: true });
const fault = (name) => page.locator(`[data-fault=${name}]`);
const row = (table, text) => page.locator(`#${table} tr`, { hasText: text });
const verdict = page.locator('#verdict-line');

/** Waits until the page shows the text at the place. */
async function shows(place, text) {
  await place.filter({ hasText: text }).first().waitFor();
}

const started = Date.now();
function holds(what) {
  console.log(`holds: ${what} (${((Date.now() - started) / 1000).toFixed(0)} s)`);
}

/** Waits for the end of a look at a slow source that began after this moment. */
async function looked(id) {
  const begun = Number(await page.locator(`#${id}`).getAttribute('data-begun'));
  await page.waitForFunction(([id, begun]) => Number(document.getElementById(id).dataset.ended) > begun, [id, begun]);
}

/** Waits for such an audit, and for its result. */
async function audited(state) {
  await looked('verdict-line');
  await page.locator(`#verdict-line[data-state=${state}]`).waitFor();
}

/** Waits until every order of the page is confirmed, nothing is unpublished, and all messages are read; then asks the audits. */
async function settled(what) {
  await shows(page.locator('#orders-note'), /^0 open of/);
  for (const service of ['orders', 'payments', 'inventory']) {
    await row('outboxes', service).filter({ hasText: new RegExp(`^${service}0✓ active$`) }).waitFor();
  }
  await looked('topics');
  await page.waitForFunction(() => [...document.querySelectorAll('#topics tr')].every((row) => row.lastElementChild.textContent === '0'));
  await audited('holds');
  assert.equal(await page.locator('#ledger tr').last().innerText(), 'sum\t✓ 0.00');
  const charges = page.locator('#charges tr td:last-child');
  const [payments, charged] = await charges.allInnerTexts();
  assert.equal(charged, payments, 'one charge for each order with a payment');
  holds(what);
}

await page.goto(lab);
await button('Place an order').and(page.locator('[aria-disabled=false]')).waitFor();
await audited('holds');
holds('the invariants of the stack as it began');

// By the keyboard alone.
await button('Place an order').focus();
await page.keyboard.press('Enter');
await shows(row('requests', '1. order'), '201 executed');
await page.keyboard.press('Tab');
await page.keyboard.press('Space');
await shows(row('requests', '× 20'), '201 executed; 19 replays; same bytes');
await settled('an order, and one that is sent 20 times, by keyboard');

await button('Same key, another body').click();
await shows(row('requests', 'other body, same key'), '409 idempotency-key-reused');
await settled('a key that is used for another body is refused');

const orders = async () => Number((await page.locator('#orders-note').innerText()).match(/\d+$/)[0]);
const before = await orders();
await button('New key for each attempt').click();
await shows(row('requests', 'same order, new key'), '201 executed');
await page.waitForFunction((count) => document.getElementById('orders-note').innerText.endsWith(` ${count}`), before + 2);
await settled('a client that makes a new key for each attempt has two orders, and pays both');

await button('Stop the broker').click();
await shows(fault('broker'), 'kafka is away');
await button('Send it 20 times').click();
await shows(row('requests', '× 20').first(), '19 replays; same bytes');
await shows(page.locator('#parts'), '✗ kafka away');
await shows(page.locator('#topics'), 'kafka is away');
await shows(row('outboxes', 'orders'), /^orders[1-9]/);
await button('Start the broker').click();
await shows(fault('broker'), 'kafka runs');
await settled('an order while the broker is away');

await button('Freeze the relay').click();
await shows(fault('relay'), 'does not answer');
await button('Place an order').click();
await shows(row('outboxes', 'orders'), /^orders[1-9]\d*✗ does not answer/);
await button('Resume the relay').click();
await shows(fault('relay'), 'the relay runs');
await settled('an order while the relay is frozen');

await button('Arm the crash').click();
await shows(fault('crash'), 'armed');
await button('Place an order').click();
await shows(page.locator('#requests tr').first(), 'no response; … the same key again');
await shows(fault('crash'), 'orders is away');
await shows(page.locator('#orders'), 'orders is away');
await button('Start orders again').click();
await shows(page.locator('#requests tr').first(), 'no response; 201 replayed');
await shows(fault('crash'), 'orders runs');
await settled('an order whose process dies before its response');

await button('Lose one reply').click();
await shows(fault('reply'), 'the next response will be lost');
await button('Place an order').click();
await shows(fault('reply'), 'one response was lost');
await button('Remove the fault').click();
await shows(fault('reply'), 'responses arrive');
await settled('an order whose charge got no response');

await button('Rewind inventory').click();
await page.waitForFunction(() => {
  const [, received, duplicates] = [...document.querySelectorAll('#inboxes tr:first-child td')].map((cell) => Number(cell.textContent));
  return received > 0 && duplicates === received;
});
await button('Rewind inventory').and(page.locator('[aria-disabled=false]')).waitFor();
await settled('every message again');

if (env.IDEM_WRITE_FIGURES) {
  await page.mouse.move(0, 0);
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: `${env.IDEM_WRITE_FIGURES}/lab-${colorScheme}.png` });
  }
}

// One piece more than the movements say, in the database of inventory.
const tenant = await page.locator('#tenant').innerText();
const plant = (pieces) =>
  execFileSync(env.IDEM_DEV, ['psql', 'inventory', '-qc', `UPDATE item SET on_hand = on_hand + ${pieces} WHERE tenant_id = '${tenant}'`], {
    stdio: 'inherit',
  });
plant(1);
try {
  await audited('violated');
  assert.match(await verdict.innerText(), /^✗ 1 of \d+ invariants is violated$/);
  const violated = page.locator('#invariants tr').first();
  await shows(violated, './dev psql inventory <services/inventory/audits/stock_is_conserved.sql');
  assert.match(await violated.innerText(), /stock is conserved/);
} finally {
  plant(-1);
}
await audited('holds');
holds('a planted violation turns red, and its end green');

// The smallest screen does not scroll sideways, and the page asks no other host.
await page.setViewportSize({ width: 400, height: 800 });
const width = await page.evaluate(() => document.documentElement.scrollWidth);
assert.ok(width <= 400, `the page is ${width} pixels wide`);
assert.deepEqual([...hosts], [new URL(lab).origin]);
assert.deepEqual(errors, []);
await browser.close();
holds('400 pixels, no other host, no error');
