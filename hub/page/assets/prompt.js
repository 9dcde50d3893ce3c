// The snapshot as text that is ready for a prompt, and what became different in it.

import { h } from './dom.js';
import { lineOf } from './text.js';
import { copyButton } from './copy.js';
import { unified } from './diff.js';
import { unifiedDiff } from './linediff.js';

function difference(state) {
  const [now, before] = state.history ?? [];
  if (!before) return h('p', { class: 'empty' }, 'Nothing older is kept to compare this with.');
  if (state.before == null) return h('p', { class: 'empty' }, 'Loading');
  const text = unifiedDiff(state.before, state.markdown);
  if (text === null) return h('p', { class: 'empty' }, 'Too much is different to show it line by line.');
  return [
    h('p', { class: 'muted lead' }, `What revision ${now.revision} made of revision ${before.revision}.`),
    text === '' ? h('p', { class: 'empty' }, 'No differences.') : unified(text),
  ];
}

export function view(state, compare) {
  const text = state.markdown;
  if (text == null) return h('p', { class: 'empty' }, 'Loading');
  return h('div', null,
    h('div', { class: 'toolbar' },
      copyButton(text, 'Copy text'),
      h('button', { type: 'button', 'data-key': 'compare', 'aria-pressed': String(state.compare), onclick: () => compare(!state.compare) }, 'Since last revision')),
    h('p', { class: 'muted lead' }, 'What a chat is given: instructions in order, the catalog of skills, MCP servers, and what is wrong. ',
      'As text: hub context --format markdown.'),
    state.compare ? difference(state) : h('pre', { class: 'text', tabindex: 0, role: 'group', 'aria-label': 'Text for a prompt' },
      text.split('\n').flatMap((line) => [lineOf(line), '\n'])));
}
