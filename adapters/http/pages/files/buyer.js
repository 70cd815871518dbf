// The buyer's page.
import { ask, h, icon, s, setChildren, setHidden, setText } from './dom.js';
import { dateTime, duration, money, number, onLanguage, span, t, useHeader, useTexts } from './language.js';
import { qrModules } from './qr.js';
import { Patience, Refusal, call, follow, hasToken, now, readServer, serverFacts, setToken, wait } from './server.js';
import { texts } from './buyer_text.js';

const get = (id) => document.getElementById(id);
const ENDLESS_MS = Date.UTC(9999, 0);
const SHOWN_AT_FIRST = 48;
const ENDED = new Set(['used', 'cancelled', 'refunded']);
const WITH_TICKET = new Set(['created', 'paid', 'used']);

const vouchers = new Map();  // by id
const cards = new Map();     // by id of a voucher
const orders = new Map();    // by id: what the server said last
let shown = SHOWN_AT_FIRST;
let hasList = false;

// ---- What this browser keeps ----

/** A list in local storage, of bounded length. */
class Kept {
  constructor(name) {
    this.name = `rushgate.${name}`;
    try { this.list = JSON.parse(localStorage.getItem(this.name)) ?? []; } catch { this.list = []; }
  }
  save() {
    try { localStorage.setItem(this.name, JSON.stringify(this.list.slice(-100))); } catch { /* this visit alone */ }
  }
  add(item) { this.list.push(item); this.save(); }
  remove(item) { this.list = this.list.filter((one) => one !== item); this.save(); }
}

// {key, voucher, title, user, quantity, at, order}: `order` is missing until the server replied. Each is
// kept before it is sent, so that its key is never lost.
const purchases = new Kept('purchases');
const waiting = new Kept('waiting');  // {voucher, title, user, order, place}

let user = localStorage.getItem('rushgate.user') ?? '';

/** A shop that knows its users opens the page with #token=…, a token of sign_user(). */
function takeToken() {
  const found = /[#&]token=([^&]+)/.exec(location.hash);
  if (found) {
    sessionStorage.setItem('rushgate.token', found[1]);
    history.replaceState(null, '', location.pathname + location.search);
  }
  const token = sessionStorage.getItem('rushgate.token');
  if (!token) return;
  setToken(token);
  const hex = token.split('.')[1] ?? '';
  const bytes = Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  user = new TextDecoder().decode(bytes);
}

const isUser = (name) => /^[^\s\p{Cc}]+$/u.test(name) && new TextEncoder().encode(name).length <= 64;

async function askUser() {
  const input = h('input', { id: 'user-name', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', value: user, required: true });
  const fault = h('p', { class: 'fault', role: 'alert' });
  const name = await ask({
    title: t('who'), text: h('p', { class: 'quiet' }, t('whoHint')), confirm: t('go'), cancel: t('back'),
    fields: [h('label', {}, h('span', {}, t('userLabel')), input), fault],
    read: () => {
      if (isUser(input.value.trim())) return input.value.trim();
      setText(fault, t('userFault'));
      return null;
    },
  });
  if (name === null) return false;
  user = name;
  localStorage.setItem('rushgate.user', name);
  show();
  return true;
}

/** Returns whether it is known who buys. */
async function knowsUser() {
  if (serverFacts()?.demands_user_token) return user !== '' && hasToken();
  return user !== '' || askUser();
}

// ---- Vouchers ----

const priceOf = (cents) => (cents === 0 ? t('free') : money(cents, serverFacts()?.currency));

function stateOf(voucher) {
  if (now() < voucher.begin_ms) return 'soon';
  if (now() >= voucher.end_ms) return 'ended';
  return voucher.free !== null && voucher.free <= 0 ? 'soldOut' : 'open';
}

/** Returns how many one purchase may take. */
function quantityMax(voucher) {
  const { per_user: perUser, per_user_day: perDay } = voucher.limits;
  const limits = [100, voucher.free ?? 1, perUser || 100, perDay || 100];
  return Math.max(1, Math.min(...limits));
}

/** The card of a voucher. Its elements stay while their contents change, and so does the focus. */
class Card {
  constructor(id) {
    this.id = id;
    this.quantity = 1;
    this.message = null;  // {kind, key, values, order}
    this.isBusy = false;
    const part = (name, tag, properties, ...children) => (this[name] = h(tag, properties, ...children));
    const step = (by) => () => { this.quantity += by; this.show(); };
    this.element = h('li', {}, h('article', { class: 'voucher card', 'data-voucher': id },
      part('title', 'h2', { id: `voucher-${id}` }),
      h('header', {}, part('price', 'p', { class: 'price numbers' }), part('chip', 'span', { class: 'chip' })),
      part('count', 'div', {}, part('countLabel', 'p', { class: 'quiet small' }), part('countdown', 'p', { class: 'countdown numbers' })),
      part('rules', 'p', { class: 'quiet small' }),
      part('stock', 'div', { class: 'stock' }, part('left', 'p', { class: 'numbers small' }),
        part('track', 'div', { class: 'track', 'aria-hidden': 'true' }, part('filled', 'span'))),
      part('note', 'p', { class: 'message', role: 'status' }),
      part('actions', 'div', { class: 'buy' },
        part('stepper', 'div', { class: 'stepper', role: 'group' },
          part('fewer', 'button', { type: 'button', onclick: step(-1) }, '−'),
          part('amount', 'output', {}),
          part('another', 'button', { type: 'button', onclick: step(1) }, '+')),
        part('button', 'button', { type: 'button', class: 'main', 'aria-describedby': `voucher-${id}`, onclick: () => this.act() }))));
  }

  get voucher() { return vouchers.get(this.id); }
  get place() { return waiting.list.find((one) => one.voucher === this.id && one.user === user); }

  show() {
    const { voucher } = this;
    const state = stateOf(voucher);
    this.quantity = Math.max(1, Math.min(this.quantity, quantityMax(voucher)));
    setText(this.title, voucher.title || `#${voucher.id}`);
    setText(this.price, priceOf(voucher.price_cents));
    this.#showState(voucher, state);
    this.#showStock(voucher, state);
    this.#showActions(voucher, state);
    this.#showNote();
  }

  #showState(voucher, state) {
    const isFew = state === 'open' && voucher.free !== null && voucher.free * 10 <= voucher.stock;
    setText(this.chip, t(isFew ? 'few' : state));
    this.chip.className = `chip ${{ soon: 'accent', open: isFew ? 'warn' : 'good', soldOut: 'bad', ended: '' }[state]}`;
    setHidden(this.count, state !== 'soon');
    if (state === 'soon') {
      setText(this.countLabel, t('startsIn'));
      setText(this.countdown, duration(voucher.begin_ms - now()));
    }
    const { per_user: perUser, per_user_day: perDay } = voucher.limits;
    const rules = [perUser ? t('perUser', { n: perUser }) : null, perDay ? t('perDay', { n: perDay }) : null,
      voucher.payment_ms ? t('payWithin', { time: span(voucher.payment_ms) }) : null, this.#endText(voucher, state)];
    setText(this.rules, rules.filter(Boolean).join(' · '));
  }

  #endText(voucher, state) {
    if (voucher.end_ms >= ENDLESS_MS) return null;
    if (state === 'ended') return t('endedAt', { time: dateTime(voucher.end_ms) });
    const leftMs = voucher.end_ms - now();
    return leftMs < 86400e3 && state !== 'soon' ? t('endsIn', { time: duration(leftMs) })
      : t('endsAt', { time: dateTime(voucher.end_ms) });
  }

  #showStock(voucher, state) {
    setHidden(this.stock, state === 'ended');
    const free = voucher.free;
    setText(this.left, free === null ? t('unknownLeft') : t('left', { free, stock: voucher.stock }));
    const share = free === null || voucher.stock === 0 ? 0 : Math.min(1, free / voucher.stock);
    this.filled.style.width = `${100 * share}%`;
    this.track.classList.toggle('few', share <= 0.1);
  }

  #showActions(voucher, state) {
    const isWaiting = this.place !== undefined;
    const canWait = state === 'soldOut' && voucher.waiting_max > 0;
    setHidden(this.stepper, state !== 'open' || quantityMax(voucher) === 1);
    setText(this.amount, number(this.quantity));
    this.stepper.setAttribute('aria-label', t('quantity'));
    this.fewer.setAttribute('aria-label', t('fewer'));
    this.another.setAttribute('aria-label', t('another'));
    this.fewer.disabled = this.quantity === 1;
    this.another.disabled = this.quantity >= quantityMax(voucher);
    const text = () => {
      if (this.isBusy) return t('buying');
      if (isWaiting) return t('leave');
      if (state === 'open') return voucher.price_cents ? t('buyFor', { price: priceOf(voucher.price_cents * this.quantity) }) : t('buy');
      return t(canWait ? 'waitFor' : state);
    };
    setText(this.button, text());
    this.button.disabled = this.isBusy || !(isWaiting || state === 'open' || canWait);
    this.button.className = isWaiting ? 'plain' : 'main';
    setHidden(this.actions, state === 'ended' && !isWaiting);
  }

  #showNote() {
    const place = this.place;
    const message = this.message ?? (place ? { kind: 'good', key: 'place', values: { place: place.place } } : null);
    this.note.className = `message ${message?.kind ?? ''}`;
    const text = message ? t(message.key, message.values) : '';
    const link = message?.order ? h('a', { href: `#order/${message.order}` }, t('showOrder')) : null;
    if (this.note.dataset.shown === text) return;
    this.note.dataset.shown = text;
    this.note.replaceChildren(text, ...(link ? [' ', link] : []));
  }

  say(kind, key, values, order) {
    this.message = key ? { kind, key, values, order } : null;
    this.note.dataset.shown = '';
    if (this.voucher) this.show();
  }

  async act() {
    if (!(await knowsUser())) return showConnection();
    if (this.place) return leave(this.place);
    this.say();
    return stateOf(this.voucher) === 'open' ? buy(this.voucher, this.quantity) : join(this.voucher);
  }
}

function showVouchers() {
  const words = get('filter').value.trim().toLowerCase();
  const all = [...vouchers.values()];
  const rank = { open: 0, soon: 1, soldOut: 2, ended: 3 };
  const found = words === '' ? all : all.filter((one) => one.title.toLowerCase().includes(words));
  found.sort((a, b) => rank[stateOf(a)] - rank[stateOf(b)] || a.begin_ms - b.begin_ms || a.id - b.id);
  const seen = found.slice(0, shown);
  for (const { id } of seen) if (!cards.has(id)) cards.set(id, new Card(id));
  const elements = seen.map(({ id }) => cards.get(id));
  for (const card of elements) card.show();
  // Cards must not move away below a finger: the order changes when the list does.
  setChildren(get('vouchers'), elements.map((card) => card.element));
  setHidden(get('search'), all.length <= 12);
  setHidden(get('empty'), !hasList || found.length > 0);
  setText(get('empty'), t(all.length === 0 ? 'noVouchers' : 'noMatch'));
  setHidden(get('more'), found.length <= shown);
  setText(get('more'), t('more', { n: Math.min(SHOWN_AT_FIRST, found.length - shown) }));
}

async function readVouchers() {
  const read = new Map();
  let after = null;
  do {
    const page = await call('GET', `/v1/vouchers?limit=1000${after === null ? '' : `&after=${encodeURIComponent(after)}`}`);
    for (const voucher of page.vouchers) read.set(String(voucher.id), { ...voucher, id: String(voucher.id) });
    after = page.next;
  } while (after !== null);
  vouchers.clear();
  for (const [id, voucher] of read) vouchers.set(id, voucher);
  for (const id of cards.keys()) if (!vouchers.has(id)) cards.delete(id);
  hasList = true;
  showVouchers();
}

/** Takes the counts of an event. A voucher that is new or changed is read again. */
function takeCounts({ vouchers: changed }) {
  let isOld = false;
  for (const { id, free, admitted, version } of changed) {
    const voucher = vouchers.get(String(id));
    if (voucher === undefined || voucher.version !== version) { isOld = true; continue; }
    Object.assign(voucher, { free, admitted });
    if (cards.get(voucher.id)?.element.isConnected) cards.get(voucher.id).show();
  }
  if (isOld) readVouchers().catch(() => {});
}

// ---- Buying ----

const newKey = () => (crypto.randomUUID ? crypto.randomUUID()
  : Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(''));

function buy(voucher, quantity) {
  const purchase = { key: newKey(), voucher: voucher.id, title: voucher.title, user, quantity, at: now() };
  purchases.add(purchase);
  return finish(purchase);
}

/** Waits in the room in front of a voucher, and keeps the token with which the purchase may enter. */
async function enter(purchase) {
  for (;;) {
    const visit = await call('POST', `/v1/vouchers/${purchase.voucher}/entrance`, { body: { user: purchase.user } });
    if (visit.purchase_token) {
      purchase.token = visit.purchase_token;
      purchases.save();
      return;
    }
    cards.get(purchase.voucher)?.say('good', 'queueing', { position: visit.position, time: span(Math.max(1000, visit.wait_ms)) });
    await wait(Math.min(5000, Math.max(1000, visit.wait_ms / 4)));
  }
}

/** Buys, through the entrance if the voucher has one. A repetition whose key is known needs no token. */
async function send(purchase) {
  const request = () => call('POST', `/v1/vouchers/${purchase.voucher}/orders`, { key: purchase.key,
    body: { user: purchase.user, quantity: purchase.quantity, purchase_token: purchase.token } });
  if (vouchers.get(purchase.voucher)?.needs_token && !purchase.token) await enter(purchase);
  try {
    return await request();
  } catch (error) {
    if (error.type !== 'token-refused') throw error;
    await enter(purchase);  // it has expired
    return request();
  }
}

/** Sends a purchase until its outcome is certain. The key makes that one purchase. */
async function finish(purchase) {
  const card = () => cards.get(purchase.voucher);
  const patience = new Patience();
  const busy = (isBusy) => { if (card()) { card().isBusy = isBusy; if (card().voucher) card().show(); } };
  busy(true);
  for (;;) {
    try {
      const accepted = await send(purchase);
      purchase.order = accepted.order;
      purchases.save();
      busy(false);
      card()?.say();
      orders.set(accepted.order, { ...accepted, state: accepted.state ?? 'queued' });
      show();
      location.hash = `order/${accepted.order}`;
      return;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (!error.isPassing) {
        purchases.remove(purchase);
        busy(false);
        card()?.say(...refusalText(error), error.order);
        showOrders();
        return;
      }
      card()?.say('warn', error.status === 503 ? 'busy' : 'resuming');
      busy(true);
      await patience.next(error.retryAfterMs);
    }
  }
}

function refusalText(error) {
  if (error.status === 401) return ['bad', 'tokenGone'];
  const key = error.type === 'ended' ? 'sale-ended' : error.type;
  if (key in texts.en) return ['bad', key, { detail: error.detail ?? '' }];
  return ['bad', 'other-refusal', { detail: error.message }];
}

/** Finishes what an earlier visit began. After some minutes only if the buyer says so. */
function resume() {
  const RECENT_MS = 10 * 60_000;
  for (const purchase of purchases.list) {
    if (purchase.order === undefined && now() - purchase.at < RECENT_MS) finish(purchase);
  }
}

async function findOut(purchase) {
  if (await ask({ title: t('finishTitle'), text: t('finishText'), confirm: t('finish'), cancel: t('back') })) finish(purchase);
}

// ---- Waiting ----

async function join(voucher) {
  const card = cards.get(voucher.id);
  try {
    const place = await call('POST', `/v1/vouchers/${voucher.id}/waiting`, { body: { user } });
    waiting.add({ voucher: voucher.id, title: voucher.title, user, order: place.order, place: place.place });
  } catch (error) {
    card.say(...refusalText(error), error.order);
  }
  card.show();
}

async function leave(place) {
  if (!(await ask({ title: t('leaveTitle'), text: t('leaveText'), confirm: t('leave'), cancel: t('keep') }))) return;
  try {
    await call('DELETE', `/v1/vouchers/${place.voucher}/waiting/${encodeURIComponent(place.user)}`);
    waiting.remove(place);
  } catch (error) {
    cards.get(place.voucher)?.say(...refusalText(error));
  }
  showVouchers();
}

/** Looks whether a user that waits has got a piece. */
async function lookAtPlace(place) {
  try {
    const order = await call('GET', `/v1/orders/${place.order}`);
    orders.set(place.order, order);
    waiting.remove(place);
    purchases.add({ key: `waiting-${place.order}`, voucher: place.voucher, title: place.title, user: place.user, quantity: 1, at: now(), order: place.order });
    if (place.user === user) location.hash = `order/${place.order}`;
    return show();
  } catch (error) {
    if (error.type !== 'unknown-order') return null;
  }
  try {
    const answer = await call('POST', `/v1/vouchers/${place.voucher}/waiting`, { body: { user: place.user } });
    Object.assign(place, { order: answer.order, place: answer.place });
    waiting.save();
  } catch (error) {
    if (!error.isPassing && error.type !== 'limit-reached') waiting.remove(place);
  }
  return showVouchers();
}

// ---- Orders ----

const mine = () => purchases.list.filter((one) => one.user === user).reverse();

const purchaseOf = (id) => purchases.list.find((one) => one.order === id);

function markOf(state) {
  const kind = { created: 'good', paid: 'good', used: '', queued: 'good', unpaid: 'warn', failed: 'bad' }[state] ?? '';
  const sign = { created: 'check', paid: 'check', used: 'check', queued: 'check', unpaid: 'clock', failed: 'warning' }[state] ?? 'dash';
  return { kind, sign };
}

const dueMs = (order) => (order.due_at ? Date.parse(order.due_at) : null);

function orderRow(purchase) {
  const order = orders.get(purchase.order);
  const state = order?.state ?? 'queued';
  if (purchase.order === undefined) {
    const time = dateTime(purchase.at, { timeStyle: 'short' });
    return h('li', { class: 'card' }, h('p', { class: 'what' }, t('interrupted', { title: purchase.title, time })),
      h('button', { type: 'button', class: 'plain', onclick: () => findOut(purchase) }, t('finish')));
  }
  const due = order?.state === 'unpaid' ? dueMs(order) : null;
  return h('li', {}, h('a', { class: 'card', href: `#order/${purchase.order}` },
    h('div', { class: 'what' }, h('p', { class: 'strong' }, purchase.title),
      h('p', { class: 'quiet small numbers' }, `${t('order')} ${purchase.order}`)),
    due ? h('span', { class: 'numbers strong', 'data-due': due }, duration(due - now())) : null,
    h('span', { class: `chip ${markOf(state).kind}` }, t(state)),
    icon('next')));
}

let shownOrders = '';
function showOrders() {
  const list = mine();
  const rows = list.slice(0, 20);
  const what = JSON.stringify([document.documentElement.lang, user, rows.map((one) => [one.key, one.order, orders.get(one.order)?.state])]);
  setHidden(get('mine'), rows.length === 0);
  if (what === shownOrders) return;
  shownOrders = what;
  get('orders').replaceChildren(...rows.map(orderRow));
}

function paymentUrl(order) {
  const template = serverFacts()?.payment_url;
  if (!template) return null;
  const values = {
    order: order.order, voucher: order.voucher, user: order.user, amount_cents: order.price_cents * order.quantity,
    return: `${location.origin}${location.pathname}${location.search}#order/${order.order}` };
  return template.replace(/\{(\w+)\}/g, (all, name) => (name in values ? encodeURIComponent(values[name]) : all));
}

function qr(text, label) {
  const rows = qrModules(text);
  const size = rows.length + 8;
  const path = rows.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x + 4} ${y + 4}h1v1h-1z` : ''))).join('');
  return s('svg', { viewBox: `0 0 ${size} ${size}`, role: 'img', 'aria-label': label, 'shape-rendering': 'crispEdges' },
    s('path', { d: path, fill: '#000' }));
}

const facts = (pairs) => h('dl', { class: 'facts' },
  ...pairs.filter(([, value]) => value).flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));

function ticketOf(order, title) {
  const url = `${location.origin}/operator#orders/${order.order}`;
  return h('section', { class: 'card ticket', 'aria-label': t('ticket') },
    qr(url, t('qr', { order: order.order })),
    h('div', {}, h('h2', {}, title), orderFacts(order),
      h('p', { class: 'row print' }, h('button', { type: 'button', class: 'plain', onclick: () => print() }, t('print')))));
}

function orderFacts(order) {
  return facts([[t('orderNumber'), h('span', { class: 'order-number' }, order.order)], [t('user'), order.user === undefined ? null : String(order.user)],
    [t('pieces'), order.quantity ? number(order.quantity) : null],
    [t('amount'), order.price_cents === undefined ? null : priceOf(order.price_cents * order.quantity)],
    [t('boughtAt'), order.admitted_at ? dateTime(Date.parse(order.admitted_at)) : null], [t('reference'), order.reference]]);
}

function stateSection(order) {
  const { state } = order;
  const { kind, sign } = markOf(state);
  const due = state === 'unpaid' ? dueMs(order) : null;
  const price = order.price_cents === undefined ? '' : priceOf(order.price_cents * order.quantity);
  const url = paymentUrl(order);
  const buttons = state !== 'unpaid' ? [] : [
    url ? h('a', { class: 'button main', href: url, id: 'pay' }, t('pay', { price })) : h('p', {}, t('payAtDesk', { price })),
    h('button', { type: 'button', class: 'plain', id: 'cancel', onclick: () => cancel(order) }, t('cancel'))];
  return h('section', { class: 'card state', 'aria-live': 'polite' },
    h('span', { class: `mark ${kind}`, 'aria-hidden': 'true' }, icon(sign)), h('h1', {}, t(state)),
    due ? h('p', { class: 'countdown numbers', role: 'timer', 'aria-label': t('timeLeft'), 'data-due': due }, duration(due - now())) : null,
    h('p', { class: 'quiet' }, t(`${state}Text`)), buttons.length ? h('div', { class: 'row centre' }, ...buttons) : null,
    h('p', { id: 'order-note', class: 'message bad', role: 'alert' }));
}

let shownOrder = '';
function showOrder(id) {
  const order = orders.get(id);
  const title = purchaseOf(id)?.title ?? vouchers.get(String(order?.voucher))?.title ?? '';
  const what = JSON.stringify([id, order, title, document.documentElement.lang, serverFacts()]);
  if (what === shownOrder) return;
  const isOther = !shownOrder.startsWith(`["${id}"`);
  shownOrder = what;
  const back = h('p', { class: 'back' }, h('a', { class: 'button plain', href: '#' }, `← ${t('back')}`));
  const body = order === undefined || order.state === null ? [h('p', { class: 'quiet', role: 'status' }, order ? t('missing') : '…')] : [stateSection(order),
    WITH_TICKET.has(order.state) ? ticketOf(order, title)
      : h('section', { class: 'card' }, h('h2', {}, title), orderFacts(order))];
  if (document.documentElement.classList.contains('kiosk') && order && !['queued', 'unpaid'].includes(order.state)) {
    body.push(h('p', { class: 'row centre' }, h('button', { type: 'button', class: 'main', onclick: forgetUser }, t('done'))));
  }
  get('order').replaceChildren(back, ...body);
  if (isOther) get('main').focus({ preventScroll: true });
}

async function cancel(order) {
  const isSure = await ask({ title: t('cancelTitle'), text: t('cancelText'), confirm: t('cancel'), cancel: t('keep'), isDangerous: true });
  if (!isSure) return;
  try {
    await call('POST', `/v1/orders/${order.order}/cancel`, { body: {} });
  } catch (error) {
    if (error.type !== 'too-late') return setText(get('order-note'), t(...refusalText(error).slice(1)));
  }
  return readOrder(order.order);
}

async function readOrder(id) {
  try {
    const { payments, history, ...order } = await call('GET', `/v1/orders/${id}`);
    orders.set(id, { ...orders.get(id), ...order });
  } catch (error) {
    if (error.type === 'unknown-order') orders.set(id, { order: id, state: null });
  }
  show();
}

/** Returns how often an order is read while it is on the screen. */
function periodOf(order) {
  if (order === undefined || order.state === 'queued') return 700;
  return { unpaid: 2000, created: 3000, paid: 3000 }[order.state] ?? (ENDED.has(order.state) || order.state === null ? Infinity : 5000);
}

const readAt = new Map();  // when an order was read last, by its id
async function lookAtOrders() {
  const open = openOrder();
  const ids = new Set(mine().slice(0, 20).map((one) => one.order).filter(Boolean));
  if (open) ids.add(open);
  const due = [...ids].filter((id) => performance.now() - (readAt.get(id) ?? -Infinity) >= periodOf(orders.get(id)) * (id === open ? 1 : 3));
  for (const id of due.slice(0, 4)) {
    readAt.set(id, performance.now());
    await readOrder(id);
  }
}

// ---- The page ----

function openOrder() { return /^#order\/(\d+)$/.exec(location.hash)?.[1] ?? null; }

function show() {
  const id = openOrder();
  setHidden(get('shop'), id !== null);
  setHidden(get('order'), id === null);
  const known = serverFacts()?.demands_user_token;
  setText(get('user'), user === '' ? t('whoAreYou') : user);
  setHidden(get('user'), Boolean(known) && user === '');
  get('user').disabled = Boolean(known);
  if (id === null) { shownOrder = ''; showOrders(); showVouchers(); } else showOrder(id);
  document.title = id === null ? t('shop') : `${t('order')} ${id}`;
}

let isOpen = true;
function showConnection() {
  const facts_ = serverFacts();
  const needsToken = Boolean(facts_?.demands_user_token) && !hasToken();
  setHidden(get('connection'), isOpen && !needsToken);
  setText(get('connection'), t(isOpen ? 'needsToken' : 'offline'));
}

function forgetUser() {
  purchases.list = purchases.list.filter((one) => one.user !== user || one.order === undefined);
  purchases.save();
  user = '';
  localStorage.removeItem('rushgate.user');
  location.hash = '';
  show();
}

/** Shows what changes with time alone. */
function tick() {
  setText(get('clock'), dateTime(now(), { timeStyle: 'medium' }));
  for (const element of document.querySelectorAll('[data-due]')) {
    const left = Number(element.dataset.due) - now();
    setText(element, left > 0 ? duration(left) : t('overdue'));
  }
  for (const card of cards.values()) if (card.element.isConnected && card.voucher) card.show();
}

async function keepTicking() {
  for (;;) {
    tick();
    await wait(1000 - (now() % 1000) + 5);  // with the seconds of the server
  }
}

async function keepLooking() {
  for (let turn = 0; ; turn += 1) {
    if (!document.hidden) {
      await lookAtOrders().catch(() => {});
      if (turn % 10 === 0) for (const place of [...waiting.list]) await lookAtPlace(place);
    }
    await wait(350);
  }
}

async function startReading() {
  const patience = new Patience();
  for (;;) {
    try {
      await readServer();
      await readVouchers();
      break;
    } catch {
      isOpen = false;
      showConnection();
      await patience.next();
    }
  }
  isOpen = true;
  showConnection();
  show();
}

function useKiosk() {
  if (!new URLSearchParams(location.search).has('kiosk')) return;
  const IDLE_MS = 120_000;
  document.documentElement.classList.add('kiosk');
  setHidden(get('full'), false);
  let idle = 0;
  const touch = () => { clearTimeout(idle); idle = setTimeout(() => { if (user !== '') forgetUser(); }, IDLE_MS); };
  for (const event of ['pointerdown', 'keydown']) addEventListener(event, touch);
}

async function start() {
  takeToken();
  useTexts(texts);
  useHeader();
  useKiosk();
  get('full').append(icon('full'));
  const label = () => get('full').setAttribute('aria-label', t('fullScreen'));
  label();
  onLanguage(() => { label(); shownOrders = ''; show(); showConnection(); });
  get('user').addEventListener('click', askUser);
  get('full').addEventListener('click', () => document.documentElement.requestFullscreen?.());
  get('filter').addEventListener('input', showVouchers);
  get('more').addEventListener('click', () => { shown += SHOWN_AT_FIRST; showVouchers(); });
  addEventListener('hashchange', () => { show(); scrollTo(0, 0); });
  document.querySelector('.skip').addEventListener('click', (event) => { event.preventDefault(); get('main').focus(); });
  document.addEventListener('visibilitychange', () => { if (!document.hidden) readServer().catch(() => {}); });
  show();
  await startReading();
  keepTicking();
  resume();
  keepLooking();
  follow('/v1/vouchers/events', {
    onEvent: takeCounts,
    onState: (nowOpen) => {
      if (nowOpen && !isOpen) startReading();
      isOpen = nowOpen;
      showConnection();
    },
  });
}

start();
