// A page in Chromium makes orders and charges by the client that cannot forget, and is reloaded at random. tests/killed reads the
// output.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { env } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

import { chromium } from 'playwright-core';

const settings = [env.IDEM_COMMANDS, env.IDEM_ORDERS, env.IDEM_PAYMENTS, env.IDEM_TOKEN];
const page = `<!doctype html><script type="module">
import { carryOut } from './intents.js';
import { BrowserStore, Commands } from './remember.js';

const [number, orders, payments, token] = ${JSON.stringify(settings)};
const commands = (service, url) => new Commands(new BrowserStore(service), url, () => token, 3);
await carryOut(Number(number), commands('orders', orders), commands('payments', payments), (...words) => tell(words.join(' ')));
tell('ended');
</script>`;

const server = createServer(async (request, response) => {
  const [, script] = /^\/(\w+\.js)$/.exec(request.url) ?? [];
  response.setHeader('Content-Type', script ? 'text/javascript' : 'text/html');
  response.end(script ? await readFile(`${env.IDEM_SCRIPTS}/${script}`) : page);
}).listen(Number(env.IDEM_PAGE_PORT), '127.0.0.1');

const browser = await chromium.launch({ executablePath: env.IDEM_CHROMIUM, args: ['--no-sandbox'] });
const tab = await browser.newPage();
const ended = new Promise((done, fail) => {
  tab.exposeFunction('tell', (line) => (line === 'ended' ? done(true) : console.log(line)));
  tab.on('pageerror', fail);
});
// A page begins with its first command again, so it needs more time with more of them.
const life = 25 * Number(env.IDEM_COMMANDS); // milliseconds
await tab.goto(`http://127.0.0.1:${env.IDEM_PAGE_PORT}/`);
while (!(await Promise.race([ended, sleep(life * (0.2 + 0.8 * Math.random()), false)]))) {
  console.log('reloads');
  await tab.reload();
}
await browser.close();
server.close();
