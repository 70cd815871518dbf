// The audit, with its progress, and the backup.
import { h, setText } from './dom.js';
import { dateTime, money, number, t } from './language.js';
import { LongList } from './long_list.js';
import { call, serverFacts } from './server.js';
import { askSure, facts, fault, noteLine } from './operator_parts.js';

const timeOf = (text) => dateTime(Date.parse(text), { dateStyle: 'medium', timeStyle: 'medium' });
const COUNTS = ['free', 'admitted', 'created', 'queued', 'dead'];

export class AuditPage {
  async enter(main) {
    this.note = noteLine();
    this.shown = '';
    this.state = h('div', { class: 'stack' });
    this.repair = h('input', { type: 'checkbox', id: 'repair' });
    this.begin = h('button', { type: 'button', class: 'main', id: 'begin-audit', onclick: () => this.#begin() }, t('beginAudit'));
    this.backup = h('section', { class: 'card stack' }, h('h2', {}, t('backup')), h('p', { class: 'quiet' }, t('noBackup')));
    main.replaceChildren(h('h1', {}, t('auditAndBackup')), this.note,
      h('section', { class: 'card stack' }, h('h2', {}, t('audit')), h('p', { class: 'quiet' }, t('auditHint')),
        h('div', { class: 'row spread' }, h('label', { class: 'check' }, this.repair, h('span', {}, t('repair'))), this.begin), this.state), this.backup);
    await Promise.all([this.#read(), this.#offerBackup()]);
  }

  tick() {
    if (this.isRunning) this.#read();
    if (this.isBackingUp) this.#readBackup();
  }

  /** The connection is back. */
  async reconnected() {
    await this.#read();
    if (this.beginBackup) await this.#readBackup();
  }

  async #begin() {
    const repair = this.repair.checked;
    if (repair && !(await askSure({ title: t('repairTitle'), text: t('repairText'), confirm: t('repair') }))) return;
    try {
      await call('POST', '/v1/audit', { body: { repair } });
      this.note.say();
      await this.#read();
    } catch (error) {
      this.note.say('', fault(error));
    }
  }

  async #read() {
    let audit = null;
    try { audit = await call('GET', '/v1/audit'); } catch (error) {
      if (error.type !== 'not-found') return;
    }
    this.isRunning = audit?.state === 'running';
    this.begin.disabled = this.isRunning;
    const what = JSON.stringify(audit);
    if (what === this.shown) return;
    this.shown = what;
    if (audit === null) this.state.replaceChildren(h('p', { class: 'quiet' }, t('never_audited')));
    else if (this.isRunning) this.#showProgress(audit);
    else if (audit.state === 'failed') this.state.replaceChildren(h('p', { class: 'alert' }, t('auditFailed', { detail: audit.reason ?? '' })));
    else this.state.replaceChildren(...this.#report(audit));
  }

  #showProgress(audit) {
    const { progress } = audit;
    if (!this.bar?.isConnected) {
      this.bar = h('progress', { max: 1, 'aria-label': t('audit') });
      this.told = h('p', { class: 'quiet numbers', role: 'status' });
      this.state.replaceChildren(this.bar, this.told);
    }
    if (progress?.orders > 0) this.bar.value = Math.min(1, progress.orders_checked / progress.orders);
    else this.bar.removeAttribute('value');
    setText(this.told, [t('running', { time: timeOf(audit.began_at) }),
      progress ? t('vouchersChecked', { n: progress.vouchers_checked, of: progress.vouchers }) : null,
      progress ? t('ordersChecked', { n: progress.orders_checked, of: progress.orders }) : null].filter(Boolean).join(' · '));
  }

  #report(audit) {
    const { report } = audit;
    const currency = serverFacts()?.currency;
    const list = (name, lines) => (lines?.length ? [h('h3', {}, `${t(name)}: ${number(lines.length)}`), this.#lines(name, lines)] : []);
    return [h('p', { class: `alert ${report.passed ? 'good' : ''}` }, `${t(report.passed ? 'passed' : 'notPassed')} · ${t('endedAt', { time: timeOf(audit.ended_at) })}`),
      ...list('problems', report.problems), ...list('repairs', report.repairs), ...list('warnings', report.warnings),
      h('h3', {}, t('money')), facts(['received', 'kept', 'due', 'refunded'].map((name) => [t(name), money(report.money[name], currency)])),
      ...(report.vouchers.length ? [h('h3', {}, t('auditTable')), this.#table(report.vouchers)] : [])];
  }

  #lines(name, lines) {
    const long = new LongList({ label: t(name), rowRem: 5, key: ({ at }) => at, row: ({ line }) => h('p', { class: 'fault-line' }, line) });
    long.element.classList.add('short');
    queueMicrotask(() => { long.items = lines.map((line, at) => ({ line, at })); });
    return long.element;
  }

  #table(rows) {
    const SHOWN = 200;
    const head = h('tr', {}, h('th', { scope: 'col' }, t('voucher')), ...COUNTS.map((name) => h('th', { scope: 'col', class: 'number' }, t(name))));
    return h('div', { class: 'scroll' }, h('table', { 'aria-label': t('auditTable') }, h('thead', {}, head), h('tbody', {}, ...rows.slice(0, SHOWN).map((row) =>
      h('tr', {}, h('th', { scope: 'row' }, h('a', { href: `#vouchers/${row.voucher}` }, `#${row.voucher}`)), ...COUNTS.map((name) => h('td', { class: 'number' }, number(row[name]))))))),
    rows.length > SHOWN ? h('p', { class: 'quiet' }, t('count', { n: SHOWN, of: rows.length })) : null);
  }

  // ---- The backup ----

  async #offerBackup() {
    try {
      const { paths } = await call('GET', '/openapi.json');
      if (!paths['/v1/backup']?.post) return;
    } catch { return; }
    this.backupNote = noteLine();
    this.beginBackup = h('button', { type: 'button', class: 'main', id: 'begin-backup', onclick: () => this.#beginBackup() }, t('beginBackup'));
    this.backup.replaceChildren(h('h2', {}, t('backup')), h('p', { class: 'quiet' }, t('backupHint')), h('p', { class: 'row end' }, this.beginBackup), this.backupNote);
    await this.#readBackup();
  }

  async #beginBackup() {
    try {
      await call('POST', '/v1/backup', { body: {} });
      await this.#readBackup();
    } catch (error) {
      this.backupNote.say('', fault(error));
    }
  }

  /** Shows the state of the last backup. */
  async #readBackup() {
    let backup = null;
    try { backup = await call('GET', '/v1/backup'); } catch { return; }
    const { state, name, bytes } = backup;
    this.isBackingUp = state === 'running';
    this.beginBackup.disabled = this.isBackingUp;
    if (this.isBackingUp) this.backupNote.say('warn', t('running', { time: timeOf(backup.began_at) }));
    else if (state === 'failed') this.backupNote.say('', t('failed', { detail: backup.reason ?? '' }));
    else this.backupNote.say('good', t('backupDone', { name, size: number(bytes / 1e6, 1), time: timeOf(backup.ended_at) }));
  }
}
