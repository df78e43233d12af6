// Shows the state that /events pushes, and sends the buttons to /actions/NAME. It keeps no state of its own.

const by = (id) => document.getElementById(id);
const WORDS = { up: 'up', active: 'active', standby: 'standby', not_ready: 'not ready', silent: 'does not answer', away: 'away' };
const STATES = { pending: '… pending', awaiting_payment: '… awaiting payment', confirmed: '✓ confirmed', cancelled: '✗ cancelled' };

/** Changes the text only if it differs, so that a screen reader reads each change once. */
function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const heading = (text) => Object.assign(document.createElement('th'), { scope: 'row', textContent: text });

/** A cell is a text, or a text with a class, or an element, or a whole cell. */
function cell(content) {
  if (content instanceof HTMLTableCellElement) return content;
  const td = document.createElement('td');
  if (content instanceof Node) td.append(content);
  else if (Array.isArray(content)) [td.textContent, td.className] = content;
  else td.textContent = content;
  return td;
}

/** Replaces the children that have changed; those that stay the same are not touched. */
function show(parent, children) {
  children.forEach((child, index) => {
    const present = parent.children[index];
    if (!present) parent.append(child);
    else if (!present.isEqualNode(child)) present.replaceWith(child);
  });
  while (parent.children.length > children.length) parent.lastElementChild.remove();
}

/** Shows the rows of a table body. A single cell is as wide as the table. */
function rows(body, lines) {
  show(body, lines.map((cells) => {
    const row = document.createElement('tr');
    row.append(...cells.map(cell));
    if (cells.length === 1) row.cells[0].colSpan = body.parentElement.tHead?.rows[0].cells.length ?? 2;
    return row;
  }));
}

/** Shows a source: its value, or in one row why there is none. */
function source(id, { read, away } = {}, lines) {
  const body = by(id);
  if (read !== undefined && read !== null) rows(body, lines(read));
  else rows(body, [[[away ? `✗ ${away}` : 'not read yet', away ? 'bad' : '']]]);
}

/** A disabled button keeps the focus, so that the keyboard does not lose its place. */
const disable = (button, is) => (button.ariaDisabled = String(is));
const euros = (cents) => (cents / 100).toFixed(2);
// The end of an id differs where its beginning is a time.
const short = (id) => `…${id.slice(-6)}`;
const number = (value) => [String(value), 'number'];

const age = ({ age_seconds: seconds }) => (seconds === null ? '' : `${seconds} s ago`);

/** Marks how many looks at a slow source have begun and ended, so that a program can wait for a fresh one. */
function fresh(element, { begun, ended }) {
  Object.assign(element.dataset, { begun, ended });
}

const title = ({ number, request, copies }) => `${number}. ${request}${copies > 1 ? ` × ${copies}` : ''}`;

function response(exchange) {
  const parts = [];
  const times = (number, text) => (number > 1 ? `${number} × ${text}` : text);
  if (exchange.lost) parts.push(times(exchange.lost, 'no response'));
  if (exchange.executed) parts.push(`${exchange.status} executed`);
  if (exchange.replayed) parts.push(exchange.executed ? `${exchange.replayed} replays` : times(exchange.replayed, `${exchange.status} replayed`));
  if (exchange.replayed + exchange.executed > 1 && exchange.is_equal) parts.push('same bytes');
  if (exchange.status >= 400) parts.push(`${exchange.status} ${exchange.code}`.trim());
  if (exchange.given_up) parts.push(`✗ ${times(exchange.given_up, 'given up after five minutes')}`);
  if (exchange.open) parts.push(exchange.lost ? '… the same key again' : '… waiting');
  if (!exchange.is_equal) return [`✗ ${parts.join('; ')}; the bytes differ`, 'bad'];
  return [parts.join('; '), exchange.given_up ? 'bad' : exchange.open ? 'warn' : ''];
}

function showFlow(state) {
  rows(by('requests'), state.requests.map((exchange) => [
    title(exchange), [short(exchange.key), 'key'], response(exchange),
  ]));
  const [newest] = state.requests;
  say(by('newest'), newest ? `${title(newest)}: ${response(newest)[0]}` : '');
  by('shop').hidden = state.shop.read !== undefined;
  say(by('shop'), state.shop.away ?? 'The item is put on sale …');
  source('orders', state.orders, (orders) => orders.latest.map((order) => [
    [short(order.id), 'key'], [STATES[order.status], { confirmed: 'good', cancelled: 'bad' }[order.status] ?? 'warn'],
    [`${euros(order.total.amount)} ${order.total.currency}`, 'number'],
  ]));
  const orders = state.orders.read;
  say(by('orders-note'), orders ? `${orders.open} open of the latest ${orders.read}` : '');
  const services = (cells) => Object.keys(state.services).map((name) => {
    const { read, away } = state.services[name] ?? {};
    return read ? [name, ...cells(read, name)] : [name, ['–', 'number'], [away ? '✗ away' : '', 'bad']];
  });
  rows(by('outboxes'), services((read, name) => {
    const relay = state.parts[`${name}-relay`];
    return [[String(read.unpublished), read.unpublished ? 'number warn' : 'number'],
      [relay === 'active' ? '✓ active' : `✗ ${WORDS[relay]}`, relay === 'active' ? 'good' : 'bad']];
  }));
  rows(by('inboxes'), services((read) => [number(read.received), number(read.duplicates)]));
  fresh(by('topics'), state.topics);
  say(by('topics-age'), age(state.topics));
  source('topics', state.topics.last, ({ topics }) => topics.flatMap(({ topic, ends, groups }) =>
    (groups.length ? groups : [{ group: '–', committed: [], lag: 0 }]).map(({ group, committed, lag }) => [
      topic, group, committed.map((offset) => offset ?? '–').join(' '), ends.join(' '), [String(lag), lag ? 'number warn' : 'number'],
    ])));
  source('ledger', state.ledger, ({ accounts, sum }) => [
    ...accounts.map((account) => [account.name, [euros(account.balance), 'number']]),
    ['sum', [sum ? `✗ ${euros(sum)}` : '✓ 0.00', sum ? 'number bad' : 'number good']],
  ]);
  source('charges', state.charges, ({ payments, charges, captured, refunds, refunded }) => [
    [heading('orders with a payment'), number(payments)], [heading('charges'), number(charges)], [heading('refunds'), number(refunds)],
    [heading('total EUR'), [euros(captured - refunded), 'number']],
  ]);
}

function showParts(parts) {
  show(by('parts'), Object.entries(parts).map(([name, state]) => {
    const item = document.createElement('li');
    const good = state === 'up' || state === 'active';
    item.className = good ? '' : 'bad';
    item.textContent = good ? `✓ ${name}` : `✗ ${name} ${WORDS[state]}`;
    return item;
  }));
}

function showFaults(state) {
  for (const article of document.querySelectorAll('[data-fault]')) {
    const fault = state.faults[article.dataset.fault];
    if (!fault) continue;
    const acts = state.acting.some((action) => article.querySelector(`[data-action="${action}"]`));
    article.toggleAttribute('data-active', fault.is_active);
    say(article.querySelector('.fault-state'), `${fault.is_active ? '✗ ' : '✓ '}${fault.shows}`);
    // The button that acts stays in sight until it is done, so that the focus does not jump.
    if (acts) continue;
    const [set, cure] = article.querySelectorAll('button');
    const had = document.activeElement === set || document.activeElement === cure;
    set.hidden = fault.is_active;
    cure.hidden = !fault.is_active;
    if (had && document.activeElement.hidden) (fault.is_active ? cure : set).focus();
  }
  for (const button of document.querySelectorAll('[data-action]')) {
    const acts = state.acting.includes(button.dataset.action);
    button.toggleAttribute('data-acting', acts);
    const words = (button.dataset.words ??= button.textContent);
    say(button, acts ? `${words} …` : words);
    disable(button, acts || (button.classList.contains('client') && state.shop.read === undefined));
  }
  const failures = Object.entries(state.failures).map(([action, reason]) => {
    const { words } = document.querySelector(`[data-action="${action}"]`).dataset;
    return `✗ “${words}” failed: ${reason}`;
  });
  by('failure').hidden = failures.length === 0;
  say(by('failure'), failures.join('; '));
}

function showInvariants(audit) {
  const line = by('verdict-line');
  const report = audit.last;
  fresh(line, audit);
  const asked = report.read?.asked ?? [];
  const unread = asked.filter((row) => row.error);
  const violated = new Set(asked.filter((row) => row.violations.length).map((row) => row.question)).size;
  if (report.away) [line.dataset.state] = ['unread', say(line, `✗ The audit gave no result: ${report.away}`)];
  else if (!report.read) [line.dataset.state] = ['unread', say(line, 'The invariants are not read yet')];
  else if (violated) [line.dataset.state] = ['violated', say(line, `✗ ${violated} of ${report.read.questions} invariants ${violated === 1 ? 'is' : 'are'} violated`)];
  else if (unread.length) [line.dataset.state] = ['unread', say(line, `? ${unread.length} of ${asked.length} questions could not be asked`)];
  else [line.dataset.state] = ['holds', say(line, `✓ ${report.read.questions} invariants hold`)];
  say(by('verdict-age'), asked.length ? `asked ${asked.length} times by ./dev audit, ${age(audit)}` : '');
  const questions = Map.groupBy(asked, (row) => row.question);
  rows(by('invariants'), [...questions].map(([question, found]) => {
    const [wrong] = found.filter((row) => row.violations.length || row.error);
    return [
      question.replace(/^.*\/|\.sql$/g, '').replaceAll('_', ' '), found[0].promise ?? 'Joins databases; asked again before it counts',
      found.flatMap((row) => row.databases).join(', '), age(audit), wrong ? violations(found) : ['✓ 0', 'good'],
    ];
  }).sort((one, other) => (other[4] instanceof Node) - (one[4] instanceof Node)));
}

/** The violations of a question as a list, and the command that shows them. */
function violations(found) {
  const wrong = found.filter((row) => row.violations.length || row.error);
  const element = document.createElement('div');
  element.className = 'bad';
  const list = document.createElement('ul');
  for (const text of wrong.flatMap((row) => row.error ? [`not asked: ${row.error}`] : row.violations).slice(0, 5)) {
    list.append(Object.assign(document.createElement('li'), { textContent: text }));
  }
  const count = wrong.reduce((sum, row) => sum + row.violations.length, 0);
  const command = Object.assign(document.createElement('code'), { textContent: wrong[0].command });
  element.append(`✗ ${count}`, list, command);
  return element;
}

// Names of tests are long: they break behind an underscore.
for (const test of document.querySelectorAll('.test')) {
  test.replaceChildren(...test.textContent.split(/(?<=_)/).flatMap((word) => [word, document.createElement('wbr')]));
}

const events = new EventSource('/events');
// What the page still shows is old by then, so it makes no claim.
events.onerror = () => {
  by('connection').hidden = false;
  by('verdict-line').dataset.state = 'unread';
  say(by('verdict-line'), '? The lab does not answer');
  say(by('verdict-age'), '');
};
events.onmessage = ({ data }) => {
  const state = JSON.parse(data);
  by('connection').hidden = true;
  say(by('tenant'), state.tenant);
  showParts(state.parts);
  showFaults(state);
  showFlow(state);
  showInvariants(state.audit);
};

document.addEventListener('click', async ({ target }) => {
  const action = target.closest('[data-action]')?.dataset.action;
  if (!action || target.ariaDisabled === 'true') return;
  disable(target, true);
  await fetch(`/actions/${action}`, { method: 'POST' }).catch(() => (by('connection').hidden = false));
});
