// The revisions of an agent that the hub keeps.

import { h } from './dom.js';
import { when } from './text.js';
import * as api from './api.js';
import { changes, counts } from './diff.js';

// item shows one revision; what changed is read when it is unfolded.
function item(agentID, change, before, root) {
  const body = h('div', { class: 'body' });
  const details = h('details', null, h('summary', { 'data-key': `revision-${change.revision}` },
    h('span', { class: 'num' }, `Revision ${change.revision}`), counts(change),
    h('span', { class: 'muted num' }, `version ${change.version}`),
    h('span', { class: 'end muted' }, when(change.at))), body);
  details.addEventListener('toggle', async () => {
    if (!details.open || body.childElementCount > 0) return;
    if (!before) {
      body.append(h('p', { class: 'muted' }, 'Hash ', h('span', { class: 'mono' }, change.aggregate_hash)), h('p', { class: 'empty' }, 'Nothing older is kept to compare this with.'));
      return;
    }
    body.append(h('p', { class: 'empty' }, 'Loading'));
    try {
      body.replaceChildren(changes(await api.diff(agentID, before.revision, change.revision), root));
    } catch (error) {
      body.replaceChildren(h('p', { class: 'notice bad' }, error.message));
    }
  });
  return h('li', { class: 'card' }, details);
}

export function view(agentID, list, root) {
  if (!list) return h('p', { class: 'empty' }, 'Loading');
  if (list.length === 0) return h('p', { class: 'empty' }, 'Nothing is kept.');
  return h('ol', { class: 'cards history' }, list.map((change, i) => item(agentID, change, list[i + 1], root)));
}
