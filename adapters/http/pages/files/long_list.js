// A list of any length: only the rows on the screen are elements.
import { h } from './dom.js';

const MARGIN_ROWS = 8;  // above and below the screen

/** Shows `items`, each `rowRem` high. `row(item, at)` returns an element; `key(item)` names it, so that a
 * row keeps its element, and the focus, while its contents are the same: `row` is called again when
 * `version(item)` changes. `onEnd()` is called when the end comes near. */
export class LongList {
  #items = [];
  #rows = new Map();  // by key: {element, version}

  constructor({ label, rowRem, row, key, version = () => '', onEnd = () => {} }) {
    Object.assign(this, { rowRem, row, key, version, onEnd });
    this.inner = h('ul', { class: 'long-inner' });
    this.element = h('div', { class: 'long', tabindex: '0', role: 'region', 'aria-label': label }, this.inner);
    this.element.addEventListener('scroll', () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  set items(items) {
    this.#items = items;
    this.draw();
  }
  get items() { return this.#items; }

  /** Forgets the rows: the language has changed. */
  renew(label) {
    this.element.setAttribute('aria-label', label);
    this.#rows.clear();
    this.draw();
  }

  draw() {
    const rowPx = this.rowRem * parseFloat(getComputedStyle(document.documentElement).fontSize);
    const height = this.element.clientHeight;
    this.inner.style.height = `${this.#items.length * rowPx}px`;
    const first = Math.max(0, Math.floor(this.element.scrollTop / rowPx) - MARGIN_ROWS);
    const last = Math.min(this.#items.length, Math.ceil((this.element.scrollTop + height) / rowPx) + MARGIN_ROWS);
    const shown = new Map();
    for (let at = first; at < last; at += 1) {
      const item = this.#items[at];
      const key = this.key(item);
      const version = this.version(item);
      let kept = this.#rows.get(key);
      if (kept === undefined || kept.version !== version) {
        const element = h('li', { class: 'long-row', 'aria-setsize': this.#items.length }, this.row(item, at));
        const hadFocus = kept?.element.contains(document.activeElement);
        kept?.element.replaceWith(element);
        kept = { element, version };
        if (hadFocus) element.querySelector('a, button')?.focus({ preventScroll: true });
      }
      kept.element.setAttribute('aria-posinset', at + 1);
      kept.element.style.top = `${at * rowPx}px`;
      kept.element.style.height = `${rowPx}px`;
      shown.set(key, kept);
    }
    for (const [key, { element }] of this.#rows) if (shown.get(key)?.element !== element) element.remove();
    let before = null;
    for (const { element } of shown.values()) {
      const next = before === null ? this.inner.firstChild : before.nextSibling;
      if (next !== element) this.inner.insertBefore(element, next);
      before = element;
    }
    this.#rows = shown;
    if (height > 0 && last >= this.#items.length - MARGIN_ROWS) this.onEnd();
  }
}
