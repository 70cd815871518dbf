// Dead letters: orders that were accepted and could not be stored.
import { h } from './dom.js';
import { t } from './language.js';
import { call } from './server.js';
import { askReason, facts, fault, noteLine } from './operator_parts.js';

const PAGE = 50;

export class LetterPage {
  async enter(main) {
    this.note = noteLine();
    this.list = h('ul', { class: 'stack' }, h('li', { class: 'quiet' }, t('loading')));
    this.more = h('button', { type: 'button', class: 'plain', onclick: () => this.#read(this.next) }, t('more'));
    this.more.hidden = true;
    main.replaceChildren(h('h1', {}, t('letters')), h('p', { class: 'quiet' }, t('letterHint')), this.note, this.list, h('p', { class: 'row centre' }, this.more));
    await this.#read(null);
  }

  /** The connection is back. */
  reconnected() { return this.#read(null); }

  async #read(after) {
    try {
      const page = await call('GET', `/v1/dead-letters?limit=${PAGE}${after === null ? '' : `&after=${encodeURIComponent(after)}`}`);
      const rows = page.dead_letters.map((letter) => this.#row(letter));
      if (after === null) this.list.replaceChildren(...(rows.length ? rows : [h('li', { class: 'card quiet' }, t('noLetters'))]));
      else this.list.append(...rows);
      this.next = page.next;
      this.more.hidden = page.next === null;
    } catch (error) {
      this.note.say('', fault(error));
    }
  }

  #row(letter) {
    const { order } = letter;
    const id = order.order_id ?? order.id ?? order.order ?? '';
    return h('li', { class: 'card' },
      h('p', { class: 'strong' }, letter.reason),
      facts([[t(id ? 'order' : 'letter'), /^\d+$/.test(id) ? h('a', { href: `#orders/${id}` }, id) : id || letter.id], ...Object.entries(order).filter(([, value]) => value !== id && value !== '')]),
      h('p', { class: 'row end' },
        h('button', { type: 'button', class: 'plain', 'aria-label': `${t('discard')} ${id || letter.id}`, onclick: () => this.#discard(letter) }, t('discard')),
        h('button', { type: 'button', class: 'main', 'aria-label': `${t('retry')} ${id || letter.id}`, onclick: () => this.#retry(letter) }, t('retry'))));
  }

  async #act(action) {
    try {
      const [kind, text] = await action();
      this.note.say(kind, text);
    } catch (error) {
      this.note.say('', fault(error));
    }
    await this.#read(null);
  }

  #retry(letter) {
    return this.#act(async () => ((await call('POST', `/v1/dead-letters/${encodeURIComponent(letter.id)}/retry`, { body: {} })).retried ? ['good', t('retried')] : ['warn', t('stays')]));
  }

  async #discard(letter) {
    const reason = await askReason({ title: t('discardTitle'), text: t('discardText'), confirm: t('discard') });
    if (reason === null) return;
    await this.#act(async () => { await call('POST', `/v1/dead-letters/${encodeURIComponent(letter.id)}/discard`, { body: { reason } }); return ['good', t('discarded')]; });
  }
}
