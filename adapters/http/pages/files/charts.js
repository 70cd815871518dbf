// Charts in SVG. Colours and type come from the style sheet.
import { h, s, setText } from './dom.js';

// In parts of the height of a letter.
const LEFT = 4.2;
const BOTTOM = 1.8;
const TOP = 0.6;

/** Returns a bound of the axis above `value`: 1, 2 or 5 times a power of ten. */
function niceBound(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)));
  return [1, 2, 5, 10].map((step) => step * power).find((bound) => bound >= value);
}

/** A chart of values over the last `spanMs` at most. add() gets the newest values; draw() shows them. Series are
 * {key, name(), colour: 1 to 6}. Values that are null leave a gap. Series of a stacked chart are areas. */
export class TimeChart {
  #samples = [];  // {at, values}

  constructor({ title, series, spanMs, format, formatTime, isStacked = false }) {
    Object.assign(this, { title, series, spanMs, format, formatTime, isStacked });
    this.picture = s('svg', { class: 'chart', role: 'img' });
    this.legend = h('ul', { class: 'legend' });
    this.tip = h('p', { class: 'tip numbers', 'aria-hidden': 'true' });
    this.element = h('div', { class: 'chart-box' }, this.legend, this.picture, this.tip);
    this.tip.hidden = true;
    this.picture.addEventListener('pointermove', (event) => this.#point(event));
    this.picture.addEventListener('pointerleave', () => { this.tip.hidden = true; this.#cursor(null); });
  }

  add(at, values) {
    this.#samples.push({ at, values });
    const first = this.#samples.findIndex((sample) => sample.at >= at - this.spanMs - 2000);
    if (first > 0) this.#samples.splice(0, first);
  }

  draw() {
    const last = this.#samples.at(-1);
    const end = last?.at ?? 0;
    // It begins with a minute, and grows with what it has.
    const spanMs = Math.min(this.spanMs, Math.max(60_000, end - (this.#samples[0]?.at ?? 0)));
    const totals = this.#samples.map(({ values }) => (this.isStacked
      ? this.series.reduce((sum, { key }) => sum + (values[key] ?? 0), 0)
      : Math.max(0, ...this.series.map(({ key }) => values[key] ?? 0))));
    const most = Math.max(0, ...totals);
    const bound = niceBound(most);
    this.#measure();
    const { left, right, top, bottom } = this.area;
    this.x = (at) => left + ((at - end) / spanMs + 1) * (right - left);
    this.y = (value) => top + (1 - value / bound) * (bottom - top);
    this.picture.replaceChildren(...this.#axes(most > 0 ? bound : 0, end, spanMs), ...this.#shapes());
    this.#showLegend(last);
  }

  /** Draws in the pixels that the picture has, so that its texts are as large as others. */
  #measure() {
    const { width, height } = this.picture.getBoundingClientRect();
    const letter = 0.75 * parseFloat(getComputedStyle(document.documentElement).fontSize);
    this.picture.setAttribute('viewBox', `0 0 ${Math.max(1, width)} ${Math.max(1, height)}`);
    this.area = { left: LEFT * letter, right: Math.max(LEFT * letter + 1, width - 4), top: TOP * letter, bottom: Math.max(1, height - BOTTOM * letter), height, letter };
  }

  /** `bound` is 0 if there is no value above: then 0 alone has a name. */
  #axes(bound, end, spanMs) {
    const { left, right, top, bottom, height, letter } = this.area;
    const lines = (bound === 0 ? [0] : [0, 0.5, 1]).flatMap((share) => {
      const y = bottom - share * (bottom - top);
      return [s('line', { class: 'grid', x1: left, x2: right, y1: y, y2: y }),
        s('text', { x: left - letter / 2, y: y + letter / 3, 'text-anchor': 'end' }, this.format(share * bound))];
    });
    const times = [0, 0.5, 1].map((share) => s('text', {
      x: left + share * (right - left), y: height - letter / 3, 'text-anchor': ['start', 'middle', 'end'][share * 2],
    }, this.formatTime(end - (1 - share) * spanMs)));
    return end === 0 ? lines : [...lines, ...times];
  }

  #shapes() {
    const below = new Map();  // the height of the stack, by the time
    return this.series.map(({ key, colour }) => {
      const points = this.#samples.filter(({ values }) => values[key] !== null && values[key] !== undefined)
        .map(({ at, values }) => {
          const from = this.isStacked ? below.get(at) ?? 0 : 0;
          below.set(at, from + values[key]);
          return [this.x(at), this.y(from + values[key]), this.y(from)];
        }).filter(([x]) => x >= this.area.left - 1);
      const line = points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`);
      if (line.length === 0) return '';
      if (!this.isStacked) return s('path', { class: `line series-${colour}`, d: `M${line.join('L')}` });
      const back = points.reverse().map(([x, , y]) => `${x.toFixed(1)} ${y.toFixed(1)}`);
      return s('path', { class: `area series-${colour}`, d: `M${line.join('L')}L${back.join('L')}Z` });
    });
  }

  #showLegend(last) {
    const names = this.series.map(({ key, name, colour }) => {
      const value = last?.values[key];
      return { text: name(), value: value === undefined || value === null ? '–' : this.format(value), colour };
    });
    while (this.legend.children.length < names.length) {
      this.legend.append(h('li', {}, h('span', { class: 'swatch' }), h('span', {}), h('b', { class: 'numbers' })));
    }
    names.forEach(({ text, value, colour }, at) => {
      const [swatch, label, number] = this.legend.children[at].children;
      swatch.setAttribute('class', `swatch series-${colour}`);
      setText(label, text);
      setText(number, value);
    });
    this.picture.setAttribute('aria-label', `${this.title()}: ${names.map(({ text, value }) => `${text} ${value}`).join(', ')}`);
  }

  #cursor(at) {
    this.picture.querySelector('.cursor')?.remove();
    if (at !== null) this.picture.append(s('line', { class: 'cursor', x1: this.x(at), x2: this.x(at), y1: this.area.top, y2: this.area.bottom }));
  }

  #point(event) {
    if (this.#samples.length === 0 || !this.x) return;
    const box = this.picture.getBoundingClientRect();
    const x = event.clientX - box.left;
    const near = this.#samples.reduce((best, sample) => (Math.abs(this.x(sample.at) - x) < Math.abs(this.x(best.at) - x) ? sample : best));
    this.#cursor(near.at);
    const values = this.series.map(({ key, name }) => `${name()} ${near.values[key] === null || near.values[key] === undefined ? '–' : this.format(near.values[key])}`);
    setText(this.tip, `${this.formatTime(near.at)} · ${values.join(' · ')}`);
    this.tip.hidden = false;
  }
}

/** Returns horizontal bars, one for each of {name, value, text}, as long as their share of the greatest. */
export function bars(rows) {
  const most = Math.max(1e-9, ...rows.map(({ value }) => value ?? 0));
  return h('dl', { class: 'bars' }, ...rows.flatMap(({ name, value, text }) => {
    const bar = h('span', { class: 'bar-fill' });
    bar.style.width = `${(100 * (value ?? 0)) / most}%`;
    return [h('dt', {}, name), h('dd', {}, h('span', { class: 'bar-track', 'aria-hidden': 'true' }, bar), h('b', { class: 'numbers' }, text))];
  }));
}
