// One hot SKU: all orders want the same item, and there are half as many pieces as orders. Every piece is sold, and none twice.

import { Gauge } from 'k6/metrics';

import { constantRate, eventually, INVENTORY, judgeOrder, options as shared, order, read, send, setting, stock, TENANTS } from './lib.js';

export { handleSummary } from './lib.js';

const SKU = 'truffle';
const seconds = setting('IDEM_LOAD_SECONDS', 60);
const rate = setting('IDEM_LOAD_RATE', 30);
const [shop] = TENANTS; // items belong to a tenant

const piecesLeft = new Gauge('pieces_left');

export const options = shared({ orders: constantRate(rate, seconds) }, { pieces_left: ['value==0'] });

export function setup() {
  stock([shop], [SKU], Math.max(1, Math.floor((rate * seconds) / 2)));
}

export default function () {
  judgeOrder(send(order(shop, SKU)));
}

/** Waits until no order holds a piece, and counts the pieces that nobody got. */
export function teardown() {
  let left;
  eventually('no piece is reserved or left', () => {
    const { on_hand: onHand, reserved } = read(shop, `${INVENTORY}/v1/items/${SKU}`, 'get item').json();
    left = onHand;
    piecesLeft.add(left);
    return reserved === 0 && left === 0;
  });
}
