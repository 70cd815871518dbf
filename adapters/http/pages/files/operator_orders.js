// Orders: search, lists by state, and one order with its whole history.
import { h, setText } from './dom.js';
import { dateTime, money, number, t } from './language.js';
import { LongList } from './long_list.js';
import { call, serverFacts } from './server.js';
import { STATES, askReason, askSure, backLink, facts, fault, noteLine, stateChip } from './operator_parts.js';

const PAGE = 200;
const priceOf = (order) => money(order.price_cents * order.quantity, serverFacts()?.currency);
const timeOf = (text) => (text ? dateTime(Date.parse(text), { dateStyle: 'medium', timeStyle: 'medium' }) : null);

export class OrderPages {
  constructor(vouchers) {
    this.vouchers = vouchers;
    this.kind = 'order';
    this.words = '';
    this.state = '';
    this.voucher = '';
  }

  enter(main, id) {
    this.main = main;
    this.id = id;
    this.stop();
    if (/^\d+$/.test(id)) return this.#showOne(id);
    const [of, voucher] = id.split('/');
    if (of === 'of') Object.assign(this, { voucher, state: '', words: '' });
    return this.#showSearch();
  }

  leave() { this.stop(); }

  /** The connection is back. */
  reconnected() {
    if (this.search === null) return this.#readOne(this.id);
    return this.search.orders.length === 0 ? this.#begin() : null;
  }

  stop() { this.search = null; }

  // ---- Search and lists ----

  #showSearch() {
    const kind = h('select', { id: 'search-kind', onchange: () => { this.kind = kind.value; } },
      ...[['order', 'byOrder'], ['user', 'byUser'], ['reference', 'byReference']].map(([name, label]) => h('option', { value: name, selected: name === this.kind }, t(label))));
    const words = h('input', { type: 'search', id: 'search-words', value: this.words, autocomplete: 'off', spellcheck: 'false' });
    const form = h('form', { class: 'card find', role: 'search', onsubmit: (event) => {
      event.preventDefault();
      this.words = words.value.trim();
      if (this.kind === 'order' && /^\d+$/.test(this.words)) location.hash = `orders/${this.words}`;
      else this.#begin();
    } }, h('label', {}, h('span', {}, t('search')), words), h('label', {}, h('span', {}, t('searchFor')), kind), h('button', { type: 'submit', class: 'main' }, t('find')));
    const state = h('select', { id: 'order-state', onchange: () => { this.state = state.value; this.#begin(); } },
      ...['', 'created', 'unpaid', 'paid', 'used', 'refunding', 'cancelled', 'refunded'].map((name) => h('option', { value: name, selected: name === this.state }, t(name ? `state-${name}` : 'any'))));
    const voucher = h('input', { id: 'order-voucher', inputmode: 'numeric', value: this.voucher, autocomplete: 'off', onchange: () => { this.voucher = voucher.value.trim(); this.#begin(); } });
    this.status = h('p', { class: 'quiet numbers', role: 'status' });
    this.long = new LongList({ label: t('orders'), rowRem: 4, key: ({ order }) => order, version: ({ state: now }) => now,
      row: (order) => this.#row(order), onEnd: () => this.#more() });
    this.main.replaceChildren(h('h1', {}, t('orders')), form,
      h('div', { class: 'fields' }, h('label', {}, h('span', {}, t('ofState')), state), h('label', {}, h('span', {}, t('ofVoucher')), voucher)), this.status, this.long.element);
    this.#begin();
  }

  #row(order) {
    return h('a', { class: 'line-row', href: `#orders/${order.order}` },
      h('span', {}, h('span', { class: 'strong numbers' }, order.order), h('small', {}, this.vouchers.get(order.voucher)?.title ?? `#${order.voucher}`)),
      h('span', {}, String(order.user), h('small', {}, order.reference || '\u00a0')),
      h('span', { class: 'numbers' }, priceOf(order)), h('span', { class: 'numbers' }, dateTime(Date.parse(order.admitted_at), { dateStyle: 'short', timeStyle: 'medium' })), stateChip(order.state));
  }

  #begin() {
    this.search = { after: null, isDone: false, isBusy: false, orders: [] };
    this.long.items = [];
    return this.#more();
  }

  #path(search) {
    const query = new URLSearchParams({ limit: PAGE, sort: 'newest' });
    if (search.after !== null) query.set('after', search.after);
    if (this.state) query.set('state', this.state);
    if (this.voucher) query.set('voucher', this.voucher);
    if (this.words && this.kind === 'user') query.set('user', this.words);
    if (this.words && this.kind === 'reference') query.set('reference', this.words);
    return `/v1/orders?${String(query).replaceAll('+', '%20')}`;  // a plus sign stays one here
  }

  /** Reads the next page, and further ones while they are empty: a search without an index looks at a part of the orders each time. */
  async #more() {
    const { search } = this;
    if (search === null || search.isBusy || search.isDone) return;
    search.isBusy = true;
    if (search.orders.length === 0) setText(this.status, t('loading'));
    try {
      do {
        const page = await call('GET', this.#path(search));
        if (this.search !== search) return;
        search.orders.push(...page.orders);
        search.after = page.next;
        search.isDone = page.next === null;
        setText(this.status, search.isDone ? (search.orders.length === 0 ? t('noMatch') : '') : page.orders.length === 0 ? t('searching', { order: page.next }) : '');
      } while (!search.isDone && search.orders.length === 0);
      search.isBusy = false;
      this.long.items = search.orders;
    } catch (error) {
      search.isBusy = false;
      if (this.search === search) setText(this.status, fault(error));
    }
  }

  // ---- One order ----

  async #showOne(id) {
    this.one = null;
    this.note = noteLine();
    this.body = h('div', { class: 'stack' }, h('p', { class: 'quiet' }, t('loading')));
    this.main.replaceChildren(backLink('#orders'), this.note, this.body);
    await this.#readOne(id);
  }

  async #readOne(id) {
    try {
      const order = await call('GET', `/v1/orders/${id}`);
      this.one = order.order;
      this.body.replaceChildren(...this.#orderParts(order));
    } catch (error) {
      const text = error.type === 'unknown-order' ? t('notFound') : fault(error);
      if (this.one === id) this.note.say('', text);
      else this.body.replaceChildren(h('p', { class: 'quiet', role: 'status' }, text));
    }
  }

  #orderParts(order) {
    const { state } = order;
    const voucher = this.vouchers.get(order.voucher);
    const button = (name, kind, action) => h('button', { type: 'button', class: kind, id: name, onclick: () => action.call(this, order) }, t(name));
    const actions = [['created', 'paid'].includes(state) ? button('use', 'main', this.#use) : null,
      state === 'unpaid' ? button('cancel', 'danger-plain', this.#cancel) : null,
      ['created', 'paid', 'used'].includes(state) ? button('refund', 'danger-plain', this.#refund) : null].filter(Boolean);
    return [h('div', { class: 'row spread' }, h('h1', { class: 'numbers' }, `${t('order')} ${order.order}`), stateChip(state)),
      actions.length ? h('div', { class: 'row' }, ...actions) : null,
      h('div', { class: 'columns' },
        h('section', { class: 'card' }, facts([[t('voucher'), order.voucher === undefined ? null : h('a', { href: `#vouchers/${order.voucher}` }, voucher?.title || `#${order.voucher}`)],
          [t('buyer'), order.user === undefined ? null : String(order.user)], [t('pieces'), order.quantity === undefined ? null : number(order.quantity)],
          [t('amount'), order.price_cents === undefined ? null : priceOf(order)], [t('boughtAt'), timeOf(order.admitted_at)], [t('storedAt'), timeOf(order.created_at)],
          [t('dueAt'), state === 'unpaid' ? timeOf(order.due_at) : null], [t('reference'), order.reference], [t('key'), order.idempotency_key], [t('terms'), order.version === undefined ? null : String(order.version)], [t('reason'), order.reason]])),
        h('section', { class: 'card' }, h('h2', {}, t('history')), this.#history(order)),
        h('section', { class: 'card' }, h('h2', {}, t('payments')), this.#payments(order)))].filter(Boolean);
  }

  #history(order) {
    const first = order.admitted_at ? [h('li', {}, h('p', { class: 'strong' }, t('boughtAt')), h('p', { class: 'quiet small numbers' }, timeOf(order.admitted_at)))] : [];
    const changes = order.history.map((change) => h('li', {},
      h('p', {}, stateChip(change.from), ' → ', stateChip(change.to)),
      h('p', { class: 'quiet small numbers' }, [timeOf(change.at), change.actor ? t('by', { actor: change.actor }) : null].filter(Boolean).join(' · ')),
      change.reason ? h('p', {}, change.reason) : null));
    return h('ol', { class: 'history' }, ...first, ...changes);
  }

  #payments(order) {
    if (order.payments.length === 0) return h('p', { class: 'quiet' }, t('noPayments'));
    return h('ul', { class: 'stack' }, ...order.payments.map((payment) => h('li', { class: 'row spread' },
      h('div', {}, h('p', { class: 'strong numbers' }, money(payment.amount_cents, serverFacts()?.currency)), h('p', { class: 'quiet small numbers' }, `${payment.payment} · ${timeOf(payment.received_at)}`),
        payment.reason ? h('p', { class: 'small' }, payment.reason) : null),
      h('div', { class: 'row' }, h('span', { class: `chip ${payment.state === 'due' ? 'warn' : 'good'}` }, t(`state-${payment.state}`)),
        payment.state === 'due' ? h('button', { type: 'button', class: 'plain', onclick: () => this.#confirmRefund(order, payment) }, t('confirmRefund')) : null))));
  }

  async #act(order, action) {
    try {
      const text = await action();
      this.note.say('good', text);
    } catch (error) {
      this.note.say('', error.type === 'too-late' && error.state in STATES ? t('tooLate', { state: t(`state-${error.state}`) }) : fault(error));
    }
    await this.#readOne(order.order);
  }

  async #use(order) {
    if (!(await askSure({ title: t('useTitle', { order: order.order }), text: t('useText'), confirm: t('use'), isDangerous: false }))) return;
    await this.#act(order, async () => ((await call('POST', `/v1/orders/${order.order}/use`, { body: { actor: 'operator' } })).repeated ? t('repeatedUse') : t('state-used')));
  }

  async #cancel(order) {
    const reason = await askReason({ title: t('cancelTitle', { order: order.order }), text: t('cancelText'), confirm: t('cancel') });
    if (reason !== null) await this.#act(order, async () => { await call('POST', `/v1/orders/${order.order}/cancel`, { body: { reason, actor: 'operator' } }); return t('state-cancelled'); });
  }

  async #refund(order) {
    const reason = await askReason({ title: t('refundTitle', { order: order.order }), text: t('refundText'), confirm: t('refund') });
    if (reason !== null) await this.#act(order, async () => { await call('POST', `/v1/orders/${order.order}/refund`, { body: { reason, actor: 'operator' } }); return t('state-refunded'); });
  }

  async #confirmRefund(order, payment) {
    const amount = money(payment.amount_cents, serverFacts()?.currency);
    if (!(await askSure({ title: t('confirmTitle', { payment: payment.payment }), text: t('confirmText', { amount }), confirm: t('confirmRefund'), isDangerous: false }))) return;
    await this.#act(order, async () => { await call('POST', `/v1/payments/${encodeURIComponent(payment.payment)}/confirm-refund`, { body: {} }); return t('state-refunded'); });
  }
}
