// What happens, and what the page does about it.

import { $, announce } from './dom.js';
import { inline } from './text.js';
import * as feed from './feed.js';
import * as fleet from './fleet.js';
import * as viewer from './viewer.js';
import { renderAgent } from './agent.js';
import { loadAgent, loadSnapshot, once } from './load.js';
import { away, isAway, state } from './state.js';

const refreshSelected = once(async () => {
  if (!state.selected) return;
  await loadAgent(state.selected);
  await loadSnapshot();
  renderAgent();
  if (state.snapshot) viewer.update(state.selected, state.snapshot);
});

async function refreshAll() {
  fleet.soon();
  await refreshSelected();
}

const words = { live: 'live', reconnecting: 'reconnecting' };
let wasLost = false;

// A stream that is begun anew at once is no news.
const patient = 3000; // ms
let patience;

// A stream begins with the agents that moved in the last minute, which is no news.
const replay = 1000; // ms
let begun = -replay;

const known = (id) => state.agents.get(id) ?? { id };

export const handlers = {
  state(now) {
    $('connection').textContent = words[now];
    $('connection').dataset.state = now;
    clearTimeout(patience);
    if (now !== 'live') patience = setTimeout(() => away('The hub does not answer'), patient);
    if (now === 'live') begun = performance.now();
    if (now === 'live' && (wasLost || isAway())) refreshAll(); // events tell of pushes, not of all that was missed
    wasLost = now !== 'live';
  },
  closed: refreshAll,
  context(event) {
    const agent = state.agents.get(event.agent_id);
    feed.pushed(event, known(event.agent_id));
    fleet.soon();
    if (event.agent_id === state.selected) {
      announce('The agent pushed a new version.');
      refreshSelected();
    } else if (agent) {
      Object.assign(agent, {
        version: event.version, revision: event.revision, discovery: event.discovery,
        updated_at: event.at, last_push_at: event.at, failing_plugins: event.failing_plugins,
      });
      fleet.render();
    }
  },
  pin(pin) {
    fleet.soon();
    const mine = pin.agent_id === state.selected;
    const before = mine && state.pins.find((one) => one.id === pin.id);
    if (before && JSON.stringify(before) === JSON.stringify(pin)) return; // read already
    const name = pin.name || 'unnamed';
    const what = pin.deleted ? 'was deleted' : pin.drifted_at && !before?.drifted_at ? 'drifted'
      : before?.drifted_at && !pin.drifted_at ? 'was moved' : before || !mine ? 'was updated' : 'was made';
    feed.put(what === 'drifted' ? 'warn' : '', known(pin.agent_id), 'pin ', () => inline(name), ' ', what);
    if (!mine) return;
    state.pins = state.pins.filter((one) => one.id !== pin.id);
    if (!pin.deleted) state.pins.push(pin);
    renderAgent();
  },
  agent(agent) {
    const before = state.agents.get(agent.id);
    fleet.soon();
    if (agent.removed) {
      state.agents.delete(agent.id);
      fleet.remove(agent.id);
    } else {
      const isNews = before || performance.now() - begun > replay;
      if (isNews && before?.connected !== agent.connected) feed.presence(agent);
      if (agent.not_heard > (before?.not_heard ?? 0)) feed.put('warn', agent, 'another agent with its token is not heard');
      // Of those that aren't shown nothing is kept: there may be very many.
      if (before || agent.id === state.selected) state.agents.set(agent.id, agent);
    }
    fleet.render();
    if (agent.id === state.selected) renderAgent();
  },
  reset: refreshAll,
};
