// What became different, resource by resource.

import { h } from './dom.js';
import { inline, lineOf } from './text.js';

const tones = { added: 'ok', changed: 'warn', removed: 'bad' };
// openAtFirst is how many changes are shown unfolded.
const openAtFirst = 8;

function lineClass(line) {
  if (line.startsWith('+++') || line.startsWith('---')) return 'file';
  return { '+': 'add', '-': 'del', '@': 'hunk', '\\': 'note' }[line[0]] ?? '';
}

function unified(text) {
  const lines = text.endsWith('\n') ? text.slice(0, -1).split('\n') : text.split('\n');
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

export function changes(diff) {
  if (diff.changes.length === 0) return h('p', { class: 'empty' }, 'No differences.');
  const several = diff.changes.length > openAtFirst;
  return h('div', { class: 'changes' }, diff.changes.map((change) => {
    const resource = change.after ?? change.before ?? { name: '', source: '' };
    return h('details', { open: !several },
      h('summary', null,
        h('span', { class: `state ${tones[change.change] ?? 'info'}` }, change.change), ' ',
        h('span', { class: 'path' }, inline(resource.source || change.id))),
      fields(change.before, change.after),
      change.diff_note && h('p', { class: 'muted' }, inline(change.diff_note)),
      change.diff && unified(change.diff));
  }));
}
