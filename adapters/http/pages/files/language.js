// Languages, numbers, times, and the choice of colours. Both choices stay in this browser.

import { icon } from './dom.js';

const LANGUAGES = { en: 'EN', zh: '中文' };
const listeners = new Set();
let texts = { en: {}, zh: {} };
let current = 'en';

function stored(name) {
  try { return localStorage.getItem(name); } catch { return null; }
}
function store(name, value) {
  try { localStorage.setItem(name, value); } catch { /* this visit alone */ }
}

export const language = () => current;

/** Sets the texts of a page, and chooses a language. */
export function useTexts(all) {
  texts = all;
  const wanted = stored('rushgate.language') ?? navigator.language;
  apply(wanted.startsWith('zh') ? 'zh' : 'en');
}

function apply(name) {
  current = name;
  document.documentElement.lang = name === 'zh' ? 'zh-CN' : 'en';
  for (const element of document.querySelectorAll('[data-text]')) {
    element.textContent = t(element.dataset.text);
  }
  for (const element of document.querySelectorAll('[data-label]')) {
    element.setAttribute('aria-label', t(element.dataset.label));
  }
  for (const listener of listeners) listener();
}

/** Calls `listener` after each change of the language. */
export function onLanguage(listener) { listeners.add(listener); }

/** Returns a text, with {name} replaced by a value. `one` and `other` are chosen by the value `n`. */
export function t(key, values = {}) {
  let text = texts[current][key] ?? texts.en[key] ?? key;
  if (typeof text === 'object') text = text[new Intl.PluralRules(current).select(values.n)] ?? text.other;
  return text.replace(/\{(\w+)\}/g, (all, name) => {
    const value = values[name];
    if (value === undefined) return all;
    return typeof value === 'number' ? number(value) : value;
  });
}

const locale = () => (current === 'zh' ? 'zh-CN' : 'en-GB');

export function number(value, digits = 0) {
  return new Intl.NumberFormat(locale(), { maximumFractionDigits: digits }).format(value);
}

export function money(cents, currency) {
  const value = cents / 100;
  if (!currency) return new Intl.NumberFormat(locale(), { minimumFractionDigits: 2 }).format(value);
  return new Intl.NumberFormat(locale(), { style: 'currency', currency, currencyDisplay: 'narrowSymbol' }).format(value);
}

export function dateTime(ms, style = { dateStyle: 'medium', timeStyle: 'short' }) {
  return new Intl.DateTimeFormat(locale(), style).format(ms);
}

const two = (value) => String(value).padStart(2, '0');

/** Returns a time that is left: "2 d 03:04:05", "03:04:05", "04:05". */
export function duration(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const days = Math.floor(seconds / 86400);
  const hours = Math.floor(seconds / 3600) % 24;
  const clock = `${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  if (days > 0) return t('days', { days, clock: `${two(hours)}:${clock}` });
  return hours > 0 ? `${two(hours)}:${clock}` : clock;
}

/** Returns the same in words: "15 minutes". */
export function span(ms) {
  const units = [['day', 86400e3], ['hour', 3600e3], ['minute', 60e3], ['second', 1e3]];
  const [unit, size] = units.find(([, length]) => ms >= length) ?? units[3];
  return new Intl.NumberFormat(locale(), { style: 'unit', unit, unitDisplay: 'long' })
    .format(Math.round(ms / size));
}

// ---- The two choices ----

function isDark() {
  return document.documentElement.dataset.colours
    ? document.documentElement.dataset.colours === 'dark'
    : matchMedia('(prefers-color-scheme: dark)').matches;
}

/** Puts the two buttons of the header to work. */
export function useHeader() {
  const languageButton = document.getElementById('language');
  const coloursButton = document.getElementById('colours');
  const show = () => {
    const other = current === 'zh' ? 'en' : 'zh';
    languageButton.textContent = LANGUAGES[other];
    languageButton.lang = other === 'zh' ? 'zh-CN' : 'en';
    languageButton.setAttribute('aria-label', other === 'zh' ? '中文' : 'English (EN)');
    coloursButton.setAttribute('aria-label', t(isDark() ? 'lightColours' : 'darkColours'));
    coloursButton.title = coloursButton.getAttribute('aria-label');
  };
  languageButton.addEventListener('click', () => {
    const other = current === 'zh' ? 'en' : 'zh';
    store('rushgate.language', other);
    apply(other);
  });
  coloursButton.addEventListener('click', () => {
    const colours = isDark() ? 'light' : 'dark';
    document.documentElement.dataset.colours = colours;
    store('rushgate.colours', colours);
    show();
  });
  coloursButton.replaceChildren(icon('colours'));
  onLanguage(show);
  show();
}

const colours = stored('rushgate.colours');
if (colours === 'dark' || colours === 'light') document.documentElement.dataset.colours = colours;
