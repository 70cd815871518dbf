// Elements without markup: every text becomes a text node, so that no title can be anything else.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'class') element.setAttribute('class', value);
    else if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'value') element.value = value;
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Makes an element. Children are elements or texts; null is none. */
export function h(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** Makes an element of a picture. */
export function s(tag, properties, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

// Drawn on a field of 24 by 24.
const ICONS = {
  check: 'M5 12.5l4.5 4.5L19 7.5',
  clock: 'M12 3.5a8.5 8.5 0 100 17 8.5 8.5 0 000-17zM12 7.5V12l3 2',
  dash: 'M6 12h12',
  warning: 'M12 6v7.5M12 17.5v.01',
  next: 'M9.5 6l6 6-6 6',
  full: 'M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5',
  colours: 'M12 3.5a8.5 8.5 0 100 17zM12 3.5a8.5 8.5 0 010 17',
};

/** Returns a picture that only decorates. */
export function icon(name) {
  return s('svg', { class: 'icon-picture', viewBox: '0 0 24 24', 'aria-hidden': 'true' }, s('path', { d: ICONS[name] }));
}

/** Replaces the text, unless it is the same: a screen reader need not hear it again. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setHidden(element, isHidden) {
  if (element.hidden !== isHidden) element.hidden = isHidden;
}

/** Makes the children of `parent` these elements in this order. Those that are there already stay, with
 * their focus. */
export function setChildren(parent, elements) {
  const wanted = new Set(elements);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  elements.forEach((element, at) => {
    if (parent.children[at] !== element) parent.insertBefore(element, parent.children[at] ?? null);
  });
}

/** Asks before something that cannot be undone. Resolves to what `read()` returns when it is confirmed,
 * and to null otherwise. `fields` are elements between the text and the buttons. */
export function ask({ title, text, confirm, cancel, isDangerous = false, fields = [], read = () => true }) {
  return new Promise((resolve) => {
    let result = null;
    const heading = h('h2', { id: 'ask-title' }, title);
    const close = () => dialog.close();
    const form = h('form', {
      onsubmit: (event) => {
        event.preventDefault();
        result = read();
        if (result !== null) close();
      },
    }, heading, text instanceof Node ? text : h('p', {}, text), ...fields,
    h('div', { class: 'row end' },
      h('button', { type: 'button', class: 'plain', onclick: close }, cancel),
      h('button', { type: 'submit', class: isDangerous ? 'danger' : 'main' }, confirm)));
    const dialog = h('dialog', { 'aria-labelledby': 'ask-title' }, form);
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(result);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
