// What the sections of the operator's page share.
import { ask, h, setText } from './dom.js';
import { t } from './language.js';

export const STATES = { queued: 'accent', failed: 'bad', created: 'good', unpaid: 'warn', paid: 'good', used: '', refunding: 'warn', cancelled: '', refunded: '' };

export const stateChip = (state) => h('span', { class: `chip ${STATES[state] ?? ''}` }, t(`state-${state}`));

/** Returns a line in which the outcome of an action is said, with say(kind, text). */
export function noteLine() {
  const element = h('p', { class: 'alert', role: 'status' });
  element.hidden = true;
  element.say = (kind, text) => {
    element.className = `alert ${kind}`;
    element.hidden = !text;
    setText(element, text ?? '');
  };
  return element;
}

export const fault = (error) => (error.type === 'no-reply' ? t('noReply') : t('failed', { detail: error.message }));

/** Asks for a reason, which must be given. Resolves to null if nothing shall be done. */
export function askReason({ title, text, confirm }) {
  const input = h('input', { id: 'reason', required: true, maxlength: 200, autocomplete: 'off' });
  return ask({ title, text, confirm, cancel: t('keep'), isDangerous: true, read: () => input.value.trim() || null,
    fields: [h('label', {}, h('span', {}, t('reason')), input), h('p', { class: 'quiet small' }, t('reasonNeeded'))] });
}

export const askSure = ({ title, text, confirm, isDangerous = true, fields }) => ask({ title, text, confirm, cancel: t('keep'), isDangerous, fields });

export const facts = (pairs) => h('dl', { class: 'facts' },
  ...pairs.filter(([, value]) => value !== null && value !== undefined && value !== '').flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));

export const backLink = (href) => h('p', {}, h('a', { class: 'button plain', href }, `← ${t('back')}`));
