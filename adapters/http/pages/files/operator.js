// The operator's page: the frame around its sections.
import { h, setHidden, setText } from './dom.js';
import { dateTime, onLanguage, t, useHeader, useTexts } from './language.js';
import { call, follow, hasToken, now, readServer, setToken, wait } from './server.js';
import { texts } from './operator_text.js';
import { Statistics } from './operator_statistics.js';
import { Overview } from './operator_overview.js';
import { VoucherPages, Vouchers } from './operator_vouchers.js';
import { OrderPages } from './operator_orders.js';
import { LetterPage } from './operator_letters.js';
import { AuditPage } from './operator_audit.js';

const get = (id) => document.getElementById(id);
const TOKEN = 'rushgate.operatorToken';

const statistics = new Statistics();
const vouchers = new Vouchers();
const pages = {
  overview: new Overview(statistics, vouchers),
  vouchers: new VoucherPages(vouchers),
  orders: new OrderPages(vouchers),
  letters: new LetterPage(),
  audit: new AuditPage(),
};

let isIn = false;
let current = null;

/** Shows the section that the address names: #orders/12. */
function show() {
  if (!isIn) return;
  const [name, ...rest] = (location.hash.slice(1) || 'overview').split('/');
  const page = pages[name] ?? pages.overview;
  if (current !== page) current?.leave?.();
  const isOther = current !== page;
  current = page;
  for (const link of document.querySelectorAll('nav a')) {
    const isCurrent = link.hash === `#${pages[name] ? name : 'overview'}`;
    if (isCurrent) link.setAttribute('aria-current', 'page'); else link.removeAttribute('aria-current');
    if (isCurrent) link.scrollIntoView({ block: 'nearest', inline: 'center' });
  }
  document.title = `${t(name === 'audit' ? 'auditAndBackup' : pages[name] ? name : 'overview')} – ${t('operations')}`;
  page.enter(get('main'), rest.join('/'));
  if (isOther) scrollTo(0, 0);
}

// ---- Signing in ----

function showSignIn(fault) {
  isIn = false;
  setHidden(get('tabs'), true);
  setHidden(get('leave'), true);
  const input = h('input', { id: 'token', type: 'password', autocomplete: 'off', required: true });
  const form = h('form', {
    onsubmit: (event) => {
      event.preventDefault();
      setToken(input.value.trim());
      sessionStorage.setItem(TOKEN, input.value.trim());
      enter();
    },
  }, h('label', {}, h('span', {}, t('token')), input), h('p', { class: 'quiet small' }, t('tokenHint')),
  fault ? h('p', { class: 'fault', role: 'alert' }, fault) : null,
  h('button', { type: 'submit', class: 'main' }, t('signIn')));
  get('main').replaceChildren(h('section', { class: 'card sign-in stack' }, h('h1', {}, t('signIn')), form));
  input.focus();
}

function showOnlyHere() {
  get('main').replaceChildren(h('section', { class: 'card sign-in' }, h('p', {}, t('onlyHere'))));
}

/** Looks whether the server lets this page in, again and again until it replies. */
async function enter() {
  for (;;) {
    try {
      const facts = await readServer();
      if (facts.demands_operator_token && !hasToken()) return showSignIn();
      await call('GET', '/v1/dead-letters?limit=1');
      break;
    } catch (error) {
      if (error.status === 401) return showSignIn(hasToken() ? t('wrongToken') : null);
      if (error.status === 403) return showOnlyHere();
      showConnection(false);
      await wait(1000);
    }
  }
  showConnection(true);
  isIn = true;
  setHidden(get('tabs'), false);
  setHidden(get('leave'), !hasToken());
  await vouchers.read().catch(() => {});
  return show();
}

function leave() {
  sessionStorage.removeItem(TOKEN);
  setToken(null);
  current?.leave?.();
  current = null;
  showSignIn();
}

// ---- What is always shown ----

let isOpen = true;
function showConnection(nowOpen) {
  isOpen = nowOpen;
  setHidden(get('connection'), isOpen);
  setText(get('connection'), t('offline'));
  showHealth();
}

function showHealth() {
  const { last } = statistics;
  const isWell = isOpen && statistics.isReady;
  const chip = get('health');
  chip.className = `chip ${isWell ? 'good' : 'bad'}`;
  setText(chip, t(!isOpen ? 'unreachable' : isWell ? 'ready' : 'notReady'));
  const letters = last?.dead_letters ?? 0;
  setHidden(get('letter-count'), letters === 0);
  setText(get('letter-count'), String(letters));
}

async function keepReading() {
  for (;;) {
    await wait(1000);
    setText(get('clock'), dateTime(now(), { timeStyle: 'medium' }));
    if (!isIn || document.hidden) continue;
    try {
      await statistics.read();
      if (!isOpen) { showConnection(true); vouchers.read().catch(() => {}); readServer().catch(() => {}); current?.reconnected?.(); }
    } catch (error) {
      if (error.status === 401) { leave(); continue; }
      if (error.type === 'no-reply') showConnection(false);
      else if (!isOpen) showConnection(true);
    }
    showHealth();
    current?.tick?.();
  }
}

function start() {
  useTexts(texts);
  useHeader();
  setToken(sessionStorage.getItem(TOKEN));
  addEventListener('hashchange', show);
  get('leave').addEventListener('click', leave);
  document.querySelector('.skip').addEventListener('click', (event) => { event.preventDefault(); get('main').focus(); });
  onLanguage(() => {
    showConnection(isOpen);
    if (!isIn) { if (get('token')) showSignIn(); return; }
    for (const page of Object.values(pages)) page.renew?.();
    show();
  });
  vouchers.onRead = () => current?.takeVouchers?.();
  enter();
  keepReading();
  follow('/v1/vouchers/events', { onEvent: (data) => { vouchers.take(data); current?.takeVouchers?.(); } });
}

start();
