// The list of agents.

import { $, h, show, steady, arrows } from './dom.js';
import { inline, when, count } from './text.js';

// filterFrom is how many agents there must be before a filter is of use.
const filterFrom = 8;

export const label = (agent) => agent.name || agent.id;

export const href = (agent, tab) => `#/${encodeURIComponent(agent.id)}${tab && tab !== 'resources' ? '/' + tab : ''}`;

function row(agent, state) {
  const drifted = state.pins.filter((pin) => pin.agent_id === agent.id && pin.drifted_at).length;
  const current = agent.id === state.selected;
  return h('li', null, h('a', { href: href(agent), 'data-key': `agent-${agent.id}`, 'aria-current': current ? 'page' : null },
    h('span', { class: 'line' },
      h('span', { class: 'name' }, inline(label(agent))),
      h('span', { class: `state ${agent.connected ? 'ok' : 'away'}` }, agent.connected ? 'connected' : 'away')),
    h('span', { class: 'line muted' },
      h('span', null, agent.updated_at ? count(agent.resources, 'resource') : 'nothing pushed yet'),
      agent.updated_at && agent.discovery?.phase === 'pending' && h('span', { class: 'state info', title: 'more is still to come' }, 'pending'),
      agent.not_heard > 0 && h('span', { class: 'state warn', title: 'other agents have the same token' }, `${agent.not_heard} not heard`),
      drifted > 0 && h('span', { class: 'state warn', title: count(drifted, 'pin') + ' drifted' }, `${drifted} drifted`),
      h('span', { class: 'end' }, agent.updated_at && when(agent.updated_at)))));
}

export function setUp(state) {
  arrows($('agents'), 'a');
  $('agents-filter').addEventListener('input', () => render(state));
}

let asked = false;

// render shows the list with the next frame, however often it is asked to: a
// thousand agents that push are not a thousand lists.
export function render(state) {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    draw(state);
  });
}

const draw = steady((state) => {
  const all = [...state.agents.values()].sort((a, b) => label(a).localeCompare(label(b)) || (a.id < b.id ? -1 : 1));
  const filter = $('agents-filter');
  filter.hidden = all.length <= filterFrom;
  const text = filter.hidden ? '' : filter.value.trim().toLowerCase();
  const shown = all.filter((agent) => `${agent.name} ${agent.id}`.toLowerCase().includes(text));
  $('agents-count').textContent = text ? `${shown.length} of ${all.length}` : all.length || '';
  show($('agents'), shown.map((agent) => row(agent, state)));
});
