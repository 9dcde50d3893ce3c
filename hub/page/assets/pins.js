// The pins of an agent: what they hold, whether it is still what the agent
// has, and what became different.

import { h, sureButton } from './dom.js';
import { inline, when } from './text.js';
import * as api from './api.js';
import { changes, counts, tally } from './diff.js';
import { copyButton } from './copy.js';

export const drifted = (pins) => pins.filter((pin) => pin.drifted_at).length;

function verdict(pin) {
  if (pin.agent_gone) return ['away', 'agent gone'];
  if (pin.revision === 0) return ['info', 'empty'];
  if (pin.drifted_at) return ['warn', 'drifted'];
  return ['ok', 'in step'];
}

function story(pin) {
  if (pin.revision === 0) return 'It takes the first snapshot that the agent pushes.';
  const parts = [`Holds revision ${pin.revision}, pinned `, when(pin.pinned_at ?? pin.created_at)];
  if (pin.drifted_at) parts.push(`; the agent moved on with revision ${pin.drift_revision}, `, when(pin.drifted_at));
  return [...parts, '.'];
}

// What became different since a pin's revision, by what is compared: pins often hold the
// same. The hub keeps what it has compared no longer than a request.
const compared = new Map();

function compare(pin, newest) {
  const key = `${pin.agent_id} ${pin.revision} ${newest}`;
  if (!compared.has(key)) {
    if (compared.size > 50) compared.clear();
    const answer = api.pinDiff(pin.id);
    answer.catch(() => compared.delete(key));
    compared.set(key, answer);
  }
  return compared.get(key);
}

// summary fills in how much became different. Of one after the other: each costs the hub
// the comparison of two snapshots.
let last = Promise.resolve();

function summary(pin, newest) {
  const element = h('span', { class: 'summary' });
  last = last.then(async () => {
    if (!element.isConnected) return;
    try {
      element.replaceChildren(counts(tally(await compare(pin, newest))));
    } catch { /* whoever unfolds the changes reads why */ }
  });
  return element;
}

// card shows a pin. Whether its changes are unfolded is kept in open, since a
// card is made anew with every event.
function card(pin, newest, open, root, act) {
  const [tone, word] = verdict(pin);
  const body = h('div', { class: 'body', id: `changes-${pin.id}`, hidden: !open.has(pin.id) });
  const toggle = h('button', { type: 'button', 'data-key': `toggle-${pin.id}`, 'aria-controls': body.id }, '');
  const read = async () => {
    toggle.setAttribute('aria-expanded', String(!body.hidden));
    toggle.textContent = body.hidden ? 'Show changes' : 'Hide changes';
    if (body.hidden) return;
    try {
      body.replaceChildren(changes(await compare(pin, newest), root));
    } catch (error) {
      body.replaceChildren(h('p', { class: 'notice bad' }, error.message));
    }
  };
  toggle.addEventListener('click', () => {
    body.hidden = !body.hidden;
    if (body.hidden) open.delete(pin.id);
    else open.add(pin.id);
    read();
  });
  read();
  return h('li', { class: 'card' },
    h('div', { class: 'line' }, h('strong', null, inline(pin.name || 'unnamed')), h('span', { class: `state ${tone}` }, word),
      pin.drifted_at && !pin.agent_gone && pin.revision > 0 && summary(pin, newest)),
    h('p', { class: 'muted' }, story(pin)),
    h('div', { class: 'actions' },
      pin.revision > 0 && toggle,
      newest > pin.revision && !pin.agent_gone && h('button', {
        type: 'button', 'data-key': `refresh-${pin.id}`, onclick: () => act(() => api.refreshPin(pin.id)),
      }, `Move to revision ${newest}`),
      copyButton(pin.id, 'Copy id', `id-${pin.id}`),
      sureButton('Delete', `delete-${pin.id}`, () => act(() => api.deletePin(pin.id)))),
    body);
}

// form makes new pins; it is made once for an agent.
export function form(agentID, act) {
  const name = h('input', { id: 'pin-name', name: 'name', maxlength: 100, autocomplete: 'off', placeholder: 'For example: review of the parser', 'data-key': 'pin-name' });
  return h('form', {
    class: 'new-pin', onsubmit: async (event) => {
      event.preventDefault();
      const wanted = name.value;
      name.value = ''; // at once: what is typed meanwhile is for the next one
      if (!(await act(() => api.createPin(agentID, wanted.trim())))) name.value ||= wanted;
    },
  }, h('label', { for: 'pin-name' }, 'Name of a new pin'), h('div', { class: 'field' }, name, h('button', { class: 'primary' }, 'Pin this snapshot')));
}

export function view({ pins, snapshot, openPins }, root, act) {
  const newest = snapshot?.revision ?? 0;
  if (pins.length === 0) {
    return h('p', { class: 'empty' }, 'No pins. A pin holds on to the snapshot as it is now, and tells when the agent has moved on; chats make them for themselves.');
  }
  const order = [...pins].sort((a, b) => Boolean(b.drifted_at) - Boolean(a.drifted_at) || (a.created_at < b.created_at ? 1 : -1));
  return h('ul', { class: 'cards' }, order.map((pin) => card(pin, newest, openPins, root, act)));
}
