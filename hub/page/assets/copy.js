// Copying: a button for a text, and blocks of commands that have one.

import { h, announce } from './dom.js';

// Without TLS a browser has no clipboard for scripts, except of its own machine;
// what is selected can be copied all the same.
async function copy(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const field = h('textarea', { class: 'hidden', readonly: true, 'aria-hidden': 'true' });
  field.value = text;
  const before = document.activeElement;
  (document.querySelector('dialog[open]') ?? document.body).append(field);
  field.select();
  const done = document.execCommand('copy');
  field.remove();
  before?.focus({ preventScroll: true });
  if (!done) throw new Error('refused');
}

const shown = 2000; // ms

// copyButton copies a text, or what a function makes of it when it is pressed.
export function copyButton(text, label, key = `copy-${label}`) {
  const button = h('button', { type: 'button', class: 'copy', 'data-key': key }, label);
  button.addEventListener('click', async () => {
    let says = 'Copied';
    try {
      await copy(typeof text === 'function' ? text() : text);
    } catch {
      says = 'Not copied';
    }
    button.textContent = says;
    announce(says);
    setTimeout(() => { button.textContent = label; }, shown);
  });
  return button;
}

// command shows what to type in a shell.
export function command(text) {
  return h('div', { class: 'command' },
    h('pre', { class: 'text', tabindex: 0, role: 'group', 'aria-label': 'Command' }, text), copyButton(text, 'Copy', `copy-${text}`));
}

// onDatabase completes an operator's command. It works on the hub's database, where the hub
// runs; readers of some agents aren't told which that is, and need an operator's token.
export const onDatabase = (text) => `${text} ${document.documentElement.dataset.database ? `--db ${document.documentElement.dataset.database}` : `--url ${location.origin} --token-file operator.token`}`;

// insecure is what enrolling and running an agent want where the hub has no TLS, and isn't
// on the browser's machine.
export const insecure = location.protocol === 'http:' && !/^(localhost|127\..*|\[::1\])$/.test(location.hostname) ? ' --insecure' : '';
