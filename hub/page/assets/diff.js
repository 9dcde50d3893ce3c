// What became different, resource by resource.

import { h } from './dom.js';
import { inline, lineOf } from './text.js';
import { middle, relative } from './paths.js';

const tones = { added: 'ok', changed: 'warn', removed: 'bad' };
// openAtFirst is how many changes are shown unfolded.
const openAtFirst = 8;

const lineClass = (line) => ({ '+': 'add', '-': 'del', '@': 'hunk', '\\': 'note' })[line[0]] ?? '';

// unified shows a unified diff, without its head, which names files.
export function unified(text) {
  const lines = text.endsWith('\n') ? text.slice(0, -1).split('\n') : text.split('\n');
  if (lines[0].startsWith('--- ') && lines[1]?.startsWith('+++ ')) lines.splice(0, 2);
  return h('pre', { class: 'diff', tabindex: 0, role: 'group', 'aria-label': 'Unified diff' },
    lines.map((line) => h('span', { class: `l ${lineClass(line)}` }, lineOf(line), '\n')));
}

// fields tells which facts differ, for changes that aren't in the text.
function fields(before, after) {
  if (!before || !after) return null;
  const names = { status: 'status', error: 'reason', name: 'name', description: 'description', stale: 'stale', size_bytes: 'size', resolver: 'resolver' };
  const rows = Object.keys(names).filter((key) => before[key] !== after[key]).flatMap((key) => [
    h('dt', null, names[key]),
    h('dd', null, h('del', null, inline(String(before[key]) || '–')), ' → ', h('ins', null, inline(String(after[key]) || '–'))),
  ]);
  return rows.length > 0 && h('dl', { class: 'facts' }, rows);
}

// counts shows how many resources were added, changed and removed.
export function counts({ added, changed, removed }) {
  return h('span', { class: 'counts num' },
    h('span', { class: 'ok', 'aria-hidden': 'true' }, `+${added}`), ' ',
    h('span', { class: 'warn', 'aria-hidden': 'true' }, `~${changed}`), ' ',
    h('span', { class: 'bad', 'aria-hidden': 'true' }, `−${removed}`),
    h('span', { class: 'hidden' }, ` ${added} added, ${changed} changed, ${removed} removed`));
}

// tally is what counts shows of a diff.
export function tally(diff) {
  const n = { added: 0, changed: 0, removed: 0 };
  for (const change of diff.changes) if (change.change in n) n[change.change]++;
  return n;
}

export function changes(diff, root = '') {
  if (diff.changes.length === 0) return h('p', { class: 'empty' }, 'No differences.');
  const several = diff.changes.length > openAtFirst;
  return h('div', { class: 'changes' }, diff.changes.map((change) => {
    const resource = change.after ?? change.before ?? { name: '', source: '' };
    return h('details', { open: !several },
      h('summary', null,
        h('span', { class: `state ${tones[change.change] ?? 'info'}` }, change.change), ' ',
        middle(relative(resource.source || change.id, root), resource.source || change.id)),
      fields(change.before, change.after),
      change.diff_note && h('p', { class: 'muted' }, inline(change.diff_note)),
      change.diff && unified(change.diff));
  }));
}
