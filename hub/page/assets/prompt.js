// The snapshot as text that is ready for a prompt.

import { h } from './dom.js';
import { lineOf } from './text.js';

export function view(text) {
  if (text == null) return h('p', { class: 'empty' }, 'Loading');
  return h('div', null,
    h('p', { class: 'muted lead' }, 'What a chat is given: instructions in order, the catalog of skills, MCP servers, and what is wrong. ',
      'As text: hub context --format markdown.'),
    h('pre', { class: 'text', tabindex: 0, role: 'group', 'aria-label': 'Text for a prompt' },
      text.split('\n').flatMap((line) => [lineOf(line), '\n'])));
}
