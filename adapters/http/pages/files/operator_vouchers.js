// Vouchers: the list, one of them, and the form that publishes and changes.
import { h, setText } from './dom.js';
import { dateTime, money, number, t } from './language.js';
import { LongList } from './long_list.js';
import { call, now, serverFacts } from './server.js';
import { askReason, askSure, backLink, facts, fault, noteLine } from './operator_parts.js';
import { soldOutText } from './operator_overview.js';

const ENDLESS_MS = 253402300799999;
const priceOf = (cents) => money(cents, serverFacts()?.currency);

export function stateOf(voucher) {
  if (now() < voucher.begin_ms) return 'soon';
  if (now() >= voucher.end_ms) return 'closed';
  return voucher.free !== null && voucher.free <= 0 ? 'soldOut' : 'open';
}
const CHIPS = { soon: 'accent', open: 'good', soldOut: 'bad', closed: '' };

/** All vouchers of the sale, as they are now. */
export class Vouchers {
  #byId = new Map();
  list = [];       // in ascending order of ids
  onRead = null;   // called when they were read again
  #reading = null;

  get(id) { return this.#byId.get(String(id)); }

  read() {
    this.#reading ??= this.#readAll().finally(() => { this.#reading = null; });
    return this.#reading;
  }

  async #readAll() {
    const all = [];
    let after = null;
    do {
      const page = await call('GET', `/v1/vouchers?limit=1000${after === null ? '' : `&after=${encodeURIComponent(after)}`}`);
      all.push(...page.vouchers);
      after = page.next;
    } while (after !== null);
    this.list = all.map((voucher) => ({ ...voucher, id: String(voucher.id), rate: this.get(voucher.id)?.rate ?? 0 }));
    this.#byId = new Map(this.list.map((voucher) => [voucher.id, voucher]));
    this.onRead?.();
  }

  /** Takes the counts of an event. The rate is that of about five seconds. */
  take({ vouchers: changed }) {
    const WEIGHT = 0.06;  // of a quarter of a second
    let isOld = false;
    const rates = new Map();
    for (const { id, free, admitted, per_second: rate, version } of changed) {
      const voucher = this.get(id);
      if (voucher === undefined || voucher.version !== version) { isOld = true; continue; }
      Object.assign(voucher, { free, admitted });
      rates.set(voucher.id, rate);
    }
    for (const voucher of this.list) {
      const rate = rates.get(voucher.id) ?? 0;
      if (rate === 0 && voucher.rate === 0) continue;
      voucher.rate += (rate - voucher.rate) * WEIGHT;
      if (voucher.rate < 0.02 && rate === 0) voucher.rate = 0;
    }
    if (isOld) this.read().catch(() => {});
  }
}

export class VoucherPages {
  constructor(vouchers) {
    this.vouchers = vouchers;
    this.words = '';
    this.state = '';
  }

  async enter(main, id) {
    this.main = main;
    this.id = id;
    if (id === '') return this.#showList();
    if (id === 'new') return this.#showForm(null);
    const [number_, action] = id.split('/');
    if (this.vouchers.get(number_) === undefined) await this.vouchers.read().catch(() => {});
    const voucher = this.vouchers.get(number_);
    if (voucher === undefined) return main.replaceChildren(backLink('#vouchers'), h('p', { class: 'quiet' }, t('noMatch')));
    return action === 'change' ? this.#showForm(voucher) : this.#showOne(voucher);
  }

  takeVouchers() {
    if (this.id === '') this.#fill();
    else if (this.shown) this.#showCounts();
  }

  // ---- The list ----

  #showList() {
    this.shown = null;
    const filter = h('input', { type: 'search', id: 'voucher-filter', value: this.words, autocomplete: 'off',
      oninput: () => { this.words = filter.value; this.#fill(); } });
    const state = h('select', { id: 'voucher-state', onchange: () => { this.state = state.value; this.#fill(); } },
      ...['', 'soon', 'open', 'soldOut', 'closed'].map((name) => h('option', { value: name, selected: name === this.state }, t(name || 'any'))));
    this.count = h('p', { class: 'quiet numbers', role: 'status' });
    this.long = new LongList({ label: t('vouchers'), rowRem: 4, key: ({ id }) => id,
      version: (voucher) => `${voucher.title} ${voucher.free} ${voucher.stock} ${voucher.rate.toFixed(1)} ${stateOf(voucher)} ${soldOutText(voucher)}`,
      row: (voucher) => this.#row(voucher) });
    this.main.replaceChildren(
      h('div', { class: 'row spread' }, h('h1', {}, t('vouchers')), h('a', { class: 'button main', href: '#vouchers/new' }, t('publish'))),
      h('div', { class: 'find' }, h('label', {}, h('span', {}, t('filter')), filter), h('label', {}, h('span', {}, t('state')), state), this.count),
      this.long.element);
    this.#fill();
  }

  #fill() {
    const words = this.words.trim().toLowerCase();
    const { list } = this.vouchers;
    const found = list.filter((voucher) => (words === '' || voucher.title.toLowerCase().includes(words) || voucher.id === words) && (this.state === '' || stateOf(voucher) === this.state));
    this.long.items = found;
    setText(this.count, list.length === 0 ? t('noVouchers') : found.length === 0 ? t('noMatch') : t('count', { n: found.length, of: list.length }));
  }

  #row(voucher) {
    const filled = h('span');
    filled.style.width = `${100 * Math.min(1, (voucher.free ?? 0) / Math.max(1, voucher.stock))}%`;
    const state = stateOf(voucher);
    return h('a', { class: 'line-row', href: `#vouchers/${voucher.id}` },
      h('span', {}, h('span', { class: 'strong' }, voucher.title || '–'), h('small', { class: 'numbers' }, `#${voucher.id}`)),
      h('span', { class: 'numbers' }, voucher.free === null ? t('unknownLeft') : t('left', { free: voucher.free, stock: voucher.stock }), h('span', { class: 'track', 'aria-hidden': 'true' }, filled)),
      h('span', { class: 'numbers' }, voucher.rate > 0 ? t('rate', { rate: number(voucher.rate, 1) }) : ''),
      h('span', { class: 'numbers' }, soldOutText(voucher)),
      h('span', { class: `chip ${CHIPS[state]}` }, t(state)));
  }

  // ---- One voucher ----

  #showOne(voucher) {
    this.shown = voucher.id;
    this.note = noteLine();
    this.counts = h('dl', { class: 'tiles' });
    const isClosed = stateOf(voucher) === 'closed';
    const link = (text, href) => h('a', { class: 'button plain', href }, text);
    this.main.replaceChildren(backLink('#vouchers'),
      h('div', { class: 'row spread' }, h('h1', {}, voucher.title || `#${voucher.id}`), h('span', { class: `chip ${CHIPS[stateOf(voucher)]}` }, t(stateOf(voucher)))),
      this.note, this.counts,
      h('div', { class: 'row' }, link(t('change'), `#vouchers/${voucher.id}/change`), link(t('ordersOfVoucher'), `#orders/of/${voucher.id}`),
        isClosed ? h('button', { type: 'button', class: 'danger-plain', id: 'refund-all', onclick: () => this.#refundAll(voucher) }, t('refundAll'))
          : h('button', { type: 'button', class: 'danger-plain', id: 'close', onclick: () => this.#close(voucher) }, t('close'))),
      h('section', { class: 'card' }, facts(TERMS.map((term) => [t(term.name), term.show(term.get(voucher))])), h('p', { class: 'quiet small numbers' }, t('version', { n: voucher.version }))));
    this.#showCounts();
  }

  #showCounts() {
    const voucher = this.vouchers.get(this.shown);
    if (voucher === undefined) return;
    const values = [[t('free'), voucher.free === null ? '–' : number(voucher.free)], [t('stock'), number(voucher.stock)],
      [t('admitted'), voucher.admitted === null ? '–' : number(voucher.admitted)], [t('perSecond'), number(voucher.rate, 1), soldOutText(voucher)]];
    while (this.counts.children.length < values.length) this.counts.append(h('div', { class: 'card tile' }, h('dt'), h('dd', {}, h('span'), h('span', { class: 'detail' }))));
    values.forEach(([name, value, detail], at) => {
      const [term, data] = this.counts.children[at].children;
      setText(term, name);
      setText(data.firstChild, value);
      setText(data.lastChild, detail ?? '');
    });
  }

  async #close(voucher) {
    if (!(await askSure({ title: t('closeTitle', { title: voucher.title }), text: t('closeText'), confirm: t('close') }))) return;
    await this.#act(voucher, () => call('POST', `/v1/vouchers/${voucher.id}/close`, { body: {} }));
  }

  async #refundAll(voucher) {
    const reason = await askReason({ title: t('refundAllTitle', { title: voucher.title }), text: t('refundAllText'), confirm: t('refundAll') });
    if (reason === null) return;
    await this.#act(voucher, async () => {
      const done = await call('POST', `/v1/vouchers/${voucher.id}/refund`, { body: { reason, actor: 'operator' } });
      return t('refundedAll', { n: done.changed ?? done.refunded ?? 0 });
    });
  }

  async #act(voucher, action) {
    try {
      const text = await action();
      await this.vouchers.read();
      if (this.shown === voucher.id) this.#showOne(this.vouchers.get(voucher.id));
      if (typeof text === 'string') this.note.say('good', text);
    } catch (error) {
      this.note.say('', fault(error));
    }
  }

  // ---- The form ----

  #showForm(before) {
    this.shown = null;
    // Another language must not lose what was typed.
    const typed = this.form?.element.isConnected && this.form.before?.id === before?.id ? this.form.typed : null;
    const form = new VoucherForm(before, this.vouchers, typed);
    this.form = form;
    this.main.replaceChildren(backLink(before ? `#vouchers/${before.id}` : '#vouchers'), h('h1', {}, before ? `${t('change')}: ${before.title}` : t('publish')), form.element);
    form.element.querySelector('input')?.focus();
  }
}

// ---- Terms, as fields ----

const toLocal = (ms) => (ms === null ? '' : new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16));
const ofLocal = (text) => (text === '' ? null : new Date(text).getTime());
const whole = (text) => (/^-?\d{1,15}$/.test(text.trim()) ? Number(text) : NaN);
const cents = (text) => (/^\d{1,12}([.,]\d{1,2})?$/.test(text.trim()) ? Math.round(Number(text.replace(',', '.')) * 100) : NaN);

const text = { kind: 'text', write: (value) => value, parse: (value) => value, show: (value) => value };
const count = { kind: 'count', write: String, parse: whole, show: (value) => number(value) };
const flag = { kind: 'flag', show: (value) => (value ? '✓' : '–') };
const at = (name) => ({ get: (voucher) => voucher[name], set: (voucher, value) => { voucher[name] = value; } });
const limit = (name) => ({ get: (voucher) => voucher.limits[name], set: (voucher, value) => { voucher.limits[name] = value; } });
const noneIfZero = { show: (value) => (value === 0 ? t('none') : number(value)), hint: 'zeroIsNone' };

const TERMS = [
  { name: 'title', ...text, ...at('title'), isWide: true },
  { name: 'stock', ...count, ...at('stock') },
  { name: 'price', kind: 'count', ...at('price_cents'), write: (value) => (value / 100).toFixed(2), parse: cents, show: priceOf },
  { name: 'begin', kind: 'time', ...at('begin_ms'), write: (value) => (value <= 0 ? '' : toLocal(value)), parse: (value) => ofLocal(value) ?? 0, show: (value) => (value <= 0 ? t('none') : dateTime(value)), hint: 'localTime' },
  { name: 'end', kind: 'time', ...at('end_ms'), write: (value) => (value >= ENDLESS_MS ? '' : toLocal(value)), parse: (value) => ofLocal(value) ?? ENDLESS_MS, show: (value) => (value >= ENDLESS_MS ? t('never') : dateTime(value)), hint: 'endHint' },
  { name: 'payment', kind: 'count', ...at('payment_ms'), write: (value) => String(value / 60_000), parse: (value) => (/^\d{1,9}([.,]\d+)?$/.test(value.trim()) ? Math.round(Number(value.replace(',', '.')) * 60_000) : NaN), show: (value) => (value === 0 ? t('none') : number(value / 60_000, 3)), hint: 'zeroIsNone' },
  { name: 'perUser', ...count, ...limit('per_user'), ...noneIfZero },
  { name: 'perDay', ...count, ...limit('per_user_day'), ...noneIfZero },
  { name: 'offset', ...count, ...limit('utc_offset_minutes') },
  { name: 'total', ...count, ...limit('total'), ...noneIfZero },
  { name: 'waitingMax', ...count, ...at('waiting_max'), ...noneIfZero },
  { name: 'restock', ...flag, ...at('restock') },
  { name: 'restore', ...flag, ...at('restore_allowance') },
  { name: 'needsToken', ...flag, ...at('needs_token') },
];

const blank = () => ({ title: '', stock: 100, price_cents: 0, begin_ms: Math.ceil(now() / 3_600_000) * 3_600_000, end_ms: ENDLESS_MS, payment_ms: 900_000, waiting_max: 0, restock: true, restore_allowance: true, needs_token: false,
  limits: { per_user: 1, per_user_day: 0, utc_offset_minutes: -new Date().getTimezoneOffset(), total: 0 } });

/** Edits the terms of a voucher, and shows what would change before it is published. */
class VoucherForm {
  constructor(before, vouchers, typed = null) {
    Object.assign(this, { before, vouchers });
    this.inputs = new Map();
    this.faults = new Map();
    this.preview = h('section', { class: 'card', id: 'preview' });
    this.button = h('button', { type: 'submit', class: 'main' });
    this.note = noteLine();
    const start = before ?? blank();
    this.number = before ? null : h('input', { id: 'field-number', inputmode: 'numeric', required: true, value: String(Math.max(0, ...vouchers.list.map(({ id }) => Number(id))) + 1), oninput: () => this.show() });
    this.element = h('form', { class: 'stack', novalidate: true, onsubmit: (event) => { event.preventDefault(); this.publish(); } }, this.note,
      h('div', { class: 'card fields' }, this.number ? h('label', {}, h('span', {}, t('number')), this.number) : null, ...TERMS.map((term) => this.#field(term, start))),
      this.preview, h('div', { class: 'row end' }, this.button));
    if (typed !== null) this.typed = typed;
    this.show();
  }

  /** What the fields hold, in the order of TERMS. */
  get typed() { return [this.number?.value, ...TERMS.map((term) => (term.kind === 'flag' ? this.inputs.get(term).checked : this.inputs.get(term).value))]; }
  set typed([id, ...values]) {
    if (this.number) this.number.value = id;
    TERMS.forEach((term, at) => { this.inputs.get(term)[term.kind === 'flag' ? 'checked' : 'value'] = values[at]; });
  }

  #field(term, start) {
    const id = `field-${term.name}`;
    const value = term.get(start);
    const show = () => this.show();
    if (term.kind === 'flag') {
      const input = h('input', { id, type: 'checkbox', checked: value, onchange: show });
      this.inputs.set(term, input);
      return h('label', { class: 'check wide' }, input, h('span', {}, t(term.name)));
    }
    const input = h('input', { id, type: term.kind === 'time' ? 'datetime-local' : 'text', inputmode: term.kind === 'count' ? 'decimal' : undefined, value: term.write(value), oninput: show, autocomplete: 'off' });
    const wrong = h('small', { class: 'fault', id: `${id}-fault` });
    this.inputs.set(term, input);
    this.faults.set(term, wrong);
    return h('label', { class: term.isWide ? 'wide' : '' }, h('span', {}, t(term.name)), input, term.hint ? h('small', { class: 'quiet' }, t(term.hint), ' ') : null, wrong);
  }

  /** Returns the terms of the form; null if a field is wrong. A field that was not touched keeps its value to the millisecond. */
  #read() {
    const after = structuredClone(this.before ?? blank());
    let isWrong = false;
    for (const term of TERMS) {
      const input = this.inputs.get(term);
      if (term.kind === 'flag') { term.set(after, input.checked); continue; }
      const isSame = this.before !== null && input.value === term.write(term.get(this.before));
      const value = isSame ? term.get(this.before) : term.parse(input.value);
      const wrong = Number.isNaN(value) ? t('wrongNumber') : term.name === 'title' && value.trim() === '' ? t('wrongTitle') : '';
      setText(this.faults.get(term), wrong);
      input.setAttribute('aria-invalid', wrong !== '');
      if (wrong) isWrong = true; else term.set(after, value);
    }
    if (!isWrong && after.payment_ms > 0 && after.price_cents === 0) {
      setText(this.faults.get(TERMS.find(({ name }) => name === 'payment')), t('needsPrice'));
      isWrong = true;
    }
    if (this.number && !/^\d{1,19}$/.test(this.number.value.trim())) isWrong = true;
    return isWrong ? null : after;
  }

  show() {
    const after = this.#read();
    const changes = after === null ? [] : TERMS.filter((term) => this.before === null || term.get(this.before) !== term.get(after));
    this.button.disabled = after === null || changes.length === 0;
    setText(this.button, this.before ? t('publishChanges', { n: changes.length }) : t('publishIt'));
    const head = h('tr', {}, ...['field', ...(this.before ? ['was'] : []), 'becomes'].map((name) => h('th', { scope: 'col' }, t(name))));
    const rows = changes.map((term) => h('tr', {}, h('th', { scope: 'row' }, t(term.name)),
      this.before ? h('td', { class: 'was' }, term.show(term.get(this.before))) : null, h('td', {}, term.show(term.get(after)))));
    const warnings = after === null ? [] : this.#warnings(after);
    this.preview.replaceChildren(h('h2', {}, t('whatChanges')), changes.length === 0 ? h('p', { class: 'quiet' }, t('nothingChanges'))
      : h('div', { class: 'scroll' }, h('table', { 'aria-label': t('whatChanges') }, h('thead', {}, head), h('tbody', {}, ...rows))), ...warnings.map((warning) => h('p', { class: 'alert warn' }, warning)));
  }

  #warnings(after) {
    const warnings = [];
    const { before } = this;
    if (before && after.stock !== before.stock) {
      const delta = after.stock - before.stock;
      const sold = before.free === null ? null : before.stock - before.free;
      if (sold !== null && after.stock < sold) warnings.push(t('belowSold', { n: sold }));
      else warnings.push(delta < 0 ? t('fewerFree', { n: -delta }) : t('moreFree', { n: delta }));
    }
    if (before && after.price_cents !== before.price_cents) warnings.push(t('priceChanged'));
    if ((!before || after.begin_ms !== before.begin_ms) && after.begin_ms <= now() && after.end_ms > now()) warnings.push(t('inPast'));
    if (after.end_ms <= now() && after.end_ms !== before?.end_ms) warnings.push(t('endsAtOnce'));
    return warnings;
  }

  async publish() {
    const after = this.#read();
    if (after === null) return;
    const id = this.before?.id ?? this.number.value.trim();
    const { id: _, rate, ...body } = after;
    const headers = this.before ? { 'If-Match': `"${this.before.version}"` } : { 'If-None-Match': '*' };
    try {
      this.button.disabled = true;
      await call('PUT', `/v1/vouchers/${id}`, { body, headers });
      await this.vouchers.read();
      location.hash = `vouchers/${id}`;
    } catch (error) {
      this.button.disabled = false;
      if (error.type !== 'version-changed' || !this.before) { this.note.say('', fault(error)); return; }
      await this.vouchers.read().catch(() => {});
      const now_ = this.vouchers.get(id);
      if (!now_) return;
      const again = new VoucherForm(now_, this.vouchers);
      this.element.replaceWith(again.element);
      again.note.say('warn', t('changedMeanwhile'));
    }
  }
}
