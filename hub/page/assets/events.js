// What happens, and what the page does about it.

import { $, announce } from './dom.js';
import { inline } from './text.js';
import * as agents from './agents.js';
import * as feed from './feed.js';
import * as viewer from './viewer.js';
import { renderAgent } from './agent.js';
import { loadAgent, loadAll, loadSnapshot, once } from './load.js';
import { state } from './state.js';

const refreshSelected = once(async () => {
  await Promise.all([loadAgent(state.selected), loadSnapshot()]);
  renderAgent();
  agents.render(state);
  if (state.snapshot) viewer.update(state.selected, state.snapshot);
});

const refreshAll = once(async () => {
  await loadAll();
  await loadSnapshot();
  renderAgent();
  agents.render(state);
  if (state.snapshot) viewer.update(state.selected, state.snapshot);
});

const nameOf = (id) => agents.label(state.agents.get(id) ?? { id });

const words = { live: 'live', reconnecting: 'reconnecting' };
let wasLost = false;

export const handlers = {
  state(now) {
    $('connection').textContent = words[now];
    $('connection').dataset.state = now;
    if (now === 'live' && wasLost) refreshAll(); // events tell of pushes, not of all that was missed
    wasLost = now !== 'live';
  },
  closed: refreshAll,
  context(event) {
    feed.put('', { id: event.agent_id }, nameOf(event.agent_id), ...feed.changed(event));
    const agent = state.agents.get(event.agent_id);
    if (!agent) {
      refreshAll();
    } else if (event.agent_id === state.selected) {
      announce('The agent pushed a new version.');
      refreshSelected();
    } else {
      Object.assign(agent, { version: event.version, revision: event.revision, discovery: event.discovery, updated_at: new Date().toISOString() });
      agents.render(state);
    }
  },
  pin(pin) {
    const before = state.pins.find((known) => known.id === pin.id);
    if (JSON.stringify(before) === JSON.stringify(pin)) return; // read already
    state.pins = state.pins.filter((known) => known.id !== pin.id);
    if (!pin.deleted) state.pins.push(pin);
    const name = pin.name || 'unnamed';
    const what = pin.deleted ? 'was deleted' : pin.drifted_at && !before?.drifted_at ? 'drifted'
      : !before ? 'was made' : before.drifted_at && !pin.drifted_at ? 'was refreshed' : 'was updated';
    feed.put(what === 'drifted' ? 'warn' : '', { id: pin.agent_id }, nameOf(pin.agent_id), 'pin ', inline(name), ' ', what);
    agents.render(state);
    if (pin.agent_id === state.selected) renderAgent();
  },
  agent(agent) {
    const before = state.agents.get(agent.id);
    if (before && before.connected !== agent.connected) {
      feed.put(agent.connected ? 'ok' : 'away', agent, agents.label(agent), agent.connected ? 'connected' : 'went away');
    }
    if (agent.not_heard > (before?.not_heard ?? 0)) {
      feed.put('warn', agent, agents.label(agent), 'another agent with its token is not heard');
    }
    if (agent.removed) state.agents.delete(agent.id);
    else state.agents.set(agent.id, agent);
    agents.render(state);
    if (agent.id === state.selected || !state.agents.has(state.selected)) renderAgent();
  },
  reset: refreshAll,
};
