// The overview: what goes wrong, how fast it sells, how long it takes.
import { h, setChildren, setText } from './dom.js';
import { dateTime, number, span, t } from './language.js';
import { TimeChart, bars } from './charts.js';
import { now } from './server.js';
import { REFUSALS } from './operator_statistics.js';

const SPAN_MS = 5 * 60_000;
const SLOW_STORE_MS = 10_000;

const timeOf = (ms) => dateTime(ms, { timeStyle: 'medium' });
const rateText = (rate) => number(rate, rate < 10 ? 1 : 0);

/** Returns a latency in the unit that fits it. */
export function latencyText(ns) {
  if (ns === null || ns === undefined) return '–';
  const [value, unit] = ns < 1e6 ? [ns / 1e3, 'µs'] : ns < 1e9 ? [ns / 1e6, 'ms'] : [ns / 1e9, 's'];
  return `${number(value, value < 10 ? 1 : 0)} ${unit}`;
}

const LANES = { purchases: 'lanePurchases', payments: 'lanePayments', changes: 'laneChanges', reads: 'laneReads' };
const QUANTILES = [['p50_ns', '50 %'], ['p90_ns', '90 %'], ['p99_ns', '99 %'], ['p999_ns', '99.9 %']];

class Tile {
  constructor(name) {
    this.name = name;
    this.label = h('dt');
    this.value = h('span');
    this.detail = h('span', { class: 'detail' });
    this.element = h('div', { class: 'card tile', id: `tile-${name}` }, this.label, h('dd', {}, this.value, this.detail));
  }
  show(value, detail = '', isBad = false) {
    setText(this.label, t(this.name));
    setText(this.value, value);
    setText(this.detail, detail);
    this.element.classList.toggle('bad', isBad);
  }
}

export class Overview {
  constructor(statistics, vouchers) {
    Object.assign(this, { statistics, vouchers });
    const chart = (title, series, format, isStacked) => new TimeChart({
      title: () => t(title), spanMs: SPAN_MS, format, formatTime: timeOf, isStacked,
      series: series.map(([key, name, colour]) => ({ key, colour, name: () => t(name) })) });
    this.purchases = chart('purchasesChart', [['accepted', 'accepted', 1], ['refused', 'refused', 2]], rateText, false);
    this.refusals = chart('refusalsChart', [...REFUSALS, 'others'].map((name, at) => [name, name, at + 1]), rateText, true);
    this.latency = chart('latencyChart', [['p50', 'p50name', 3], ['p99', 'p99name', 4]], latencyText, false);
    this.latency.series[0].name = () => '50 %';
    this.latency.series[1].name = () => '99 %';
    statistics.listeners.add((at, rates, all) => {
      const { recent } = all.purchases.latency;
      this.purchases.add(at, rates);
      this.refusals.add(at, rates);
      this.latency.add(at, recent.count > 0 ? { p50: recent.p50_ns, p99: recent.p99_ns } : { p50: null, p99: null });
    });
    this.tiles = ['perSecond', 'refusedPerSecond', 'backlog', 'letters', 'unpaid', 'paid', 'p99', 'vouchers'].map((name) => new Tile(name));
    this.alerts = h('div', { class: 'alerts', role: 'status' });
    this.quantiles = h('div', { class: 'stack' });
    this.selling = h('div', { class: 'stack' });
  }

  enter(main) {
    const card = (title, ...children) => h('section', { class: 'card' }, h('h2', {}, t(title)), ...children);
    this.shownQuantiles = '';
    this.shownAlerts = '';
    main.replaceChildren(h('h1', { class: 'hidden-text' }, t('overview')), this.alerts,
      h('dl', { class: 'tiles eight' }, ...this.tiles.map((tile) => tile.element)),
      h('div', { class: 'columns' }, card('purchasesChart', this.purchases.element), card('refusalsChart', this.refusals.element),
        card('latencyChart', this.latency.element), card('latencyNow', this.quantiles)),
      card('vouchersSelling', this.selling, h('p', { class: 'row' }, h('a', { class: 'button plain', href: '#vouchers' }, t('allVouchers')))));
    this.tick();
  }

  tick() {
    const { last, rates } = this.statistics;
    if (last) {
      this.#showTiles(last, rates);
      this.#showQuantiles(last);
    } else {
      for (const tile of this.tiles) tile.show('–');
    }
    this.#showAlerts(last);
    for (const chart of [this.purchases, this.refusals, this.latency]) chart.draw();
    this.#showSelling();
  }

  #showTiles(last, rates) {
    const [perSecond, refused, backlog, letters, unpaid, paid, p99, vouchers] = this.tiles;
    const { queue, orders, purchases } = last;
    const waiting = queue ? (queue.waiting ?? 0) + queue.pending : null;
    const since = (n) => t('since', { n });
    perSecond.show(rates ? rateText(rates.accepted) : '–', since(purchases.all.accepted));
    refused.show(rates ? rateText(rates.refused) : '–', since(this.statistics.refused));
    backlog.show(waiting === null ? '–' : number(waiting), waiting ? t('oldest', { time: latencyText(queue.oldest_age_ms * 1e6) }) : '', queue !== null && queue.oldest_age_ms > SLOW_STORE_MS);
    letters.show(last.dead_letters === null ? '–' : number(last.dead_letters), '', last.dead_letters > 0);
    const OLD_MS = 2000;
    const counted = !orders ? t('noFigures') : orders.age_ms < OLD_MS ? '' : t('counted', { time: latencyText(orders.age_ms * 1e6) });
    unpaid.show(orders ? number(orders.unpaid) : '–', counted);
    paid.show(orders ? number(orders.paid) : '–', counted);
    const { recent } = purchases.latency;
    p99.show(recent.count > 0 ? latencyText(recent.p99_ns) : '–', '');
    vouchers.show(number(last.vouchers.published ?? 0), t('ofThem', { n: last.vouchers.on_sale ?? 0 }));
  }

  #showQuantiles(last) {
    const groups = [['enginePurchases', last.purchases.latency],
      ...last.http.lanes.filter(({ lane }) => LANES[lane]).map(({ lane, latency }) => [LANES[lane], latency])];
    const what = JSON.stringify([groups.map(([name, { recent }]) => [t(name), recent])]);
    if (what === this.shownQuantiles) return;
    this.shownQuantiles = what;
    const head = h('tr', {}, h('th', { scope: 'col' }, t('quantile')), ...QUANTILES.map(([, name]) => h('th', { scope: 'col', class: 'number' }, name)));
    const rows = groups.map(([name, { recent }]) => h('tr', {}, h('th', { scope: 'row' }, t(name)),
      ...(recent.count > 0 ? QUANTILES.map(([key]) => h('td', { class: 'number' }, latencyText(recent[key])))
        : [h('td', { class: 'number quiet', colspan: 4 }, t('noRequests'))])));
    this.quantiles.replaceChildren(h('div', { class: 'scroll' }, h('table', { 'aria-label': t('latencyNow') }, h('thead', {}, head), h('tbody', {}, ...rows))));
  }

  /** Returns [kind, text, link] of each thing that somebody must look at. */
  #alertsOf(last) {
    if (last === null) return [];
    const alerts = [];
    if (last.fault) alerts.push(['', t('keyspaceFault', { detail: last.fault })]);
    for (const detail of last.workers.pause_reasons) alerts.push(['', t('paused', { detail })]);
    if (last.dead_letters > 0) alerts.push(['', t('hasLetters', { n: last.dead_letters }), '#letters']);
    if (last.queue?.oldest_age_ms > SLOW_STORE_MS) alerts.push(['warn', t('backlogGrows', { time: span(SLOW_STORE_MS) })]);
    return alerts.length > 0 ? alerts : [['good', t('allWell')]];
  }

  #showAlerts(last) {
    const alerts = this.#alertsOf(last);
    const what = JSON.stringify(alerts);
    if (what === this.shownAlerts) return;
    this.shownAlerts = what;
    setChildren(this.alerts, alerts.map(([kind, text, link]) => h('p', { class: `alert ${kind}` }, text, link ? h('a', { href: link }, t('look')) : null)));
  }

  #showSelling() {
    const selling = this.vouchers.list.filter(({ rate }) => rate >= 0.05).sort((a, b) => b.rate - a.rate).slice(0, 8);
    const rows = selling.map((voucher) => ({ name: voucher.title, value: voucher.rate, text: [t('rate', { rate: rateText(voucher.rate) }), soldOutText(voucher)].filter(Boolean).join(' · ') }));
    this.selling.replaceChildren(rows.length > 0 ? bars(rows) : h('p', { class: 'quiet' }, t('nothingSells')));
  }
}

/** Returns when a voucher will be sold out at the rate of the last seconds; empty if that is far away. */
export function soldOutText(voucher) {
  if (!voucher.free || voucher.rate < 0.05) return '';
  const seconds = voucher.free / voucher.rate;
  if (seconds > 7 * 86400) return '';
  return t('soldOutAt', { time: dateTime(now() + seconds * 1000, seconds < 86400 ? { timeStyle: seconds < 600 ? 'medium' : 'short' } : { dateStyle: 'short', timeStyle: 'short' }) });
}
