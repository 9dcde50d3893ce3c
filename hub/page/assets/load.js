// Reading what the page shows.

import * as api from './api.js';
import * as feed from './feed.js';
import { state, attempt } from './state.js';

export async function loadSnapshot() {
  const id = state.selected;
  const agent = state.agents.get(id);
  if (!agent) return;
  await attempt(async () => {
    // One that hasn't pushed has nothing to ask for.
    const snapshot = agent.revision > 0 ? await api.context(id) : null;
    if (state.selected !== id) return;
    markFresh(state.snapshot, snapshot);
    state.snapshot = snapshot;
  });
  await loadTab();
}

export async function loadTab() {
  const id = state.selected;
  if (!state.snapshot) return;
  await attempt(async () => {
    const history = await api.history(id);
    const markdown = state.tab === 'prompt' ? await api.markdown(id) : null;
    const before = markdown != null && state.compare && history.length > 1 ? await api.markdown(id, history[1].revision) : null;
    if (state.selected !== id) return; // somebody has moved on
    Object.assign(state, { history, markdown, before });
    feed.rememberHistory(state.agents.get(id) ?? { id }, history);
  });
}

// markFresh notes what to highlight: what is new since the last look.
function markFresh(before, after) {
  state.fresh.clear();
  if (!before || !after) return;
  const known = new Map(before.resources.map((r) => [r.id, JSON.stringify(r)]));
  for (const r of after.resources) if (known.get(r.id) !== JSON.stringify(r)) state.fresh.add(r.id);
}

// loadAgent reads an agent and its pins.
export async function loadAgent(id) {
  if (!id) return;
  await attempt(async () => {
    try {
      const [agent, pins] = await Promise.all([api.agent(id), api.pins(id)]);
      state.agents.set(id, agent);
      if (state.selected === id) state.pins = pins;
    } catch (error) {
      if (error.status !== 404) throw error;
      state.agents.delete(id);
    }
  });
}

const recent = 30;

// loadRecent reads which agents have pushed last, and returns where the events go on.
export async function loadRecent() {
  let newest = '0';
  await attempt(async () => {
    const { agents, events } = await api.agents(new URLSearchParams({ sort: 'last_push_at', order: 'desc', limit: String(recent) }));
    newest = events;
    if (!state.selected) feed.rememberFleet(agents);
  });
  return newest;
}

// once makes of many calls few: while one runs, those that come are one more.
export function once(action) {
  let running = false;
  let again = false;
  return async () => {
    if (running) {
      again = true;
      return;
    }
    running = true;
    try {
      do {
        again = false;
        await action();
      } while (again);
    } finally {
      running = false;
    }
  };
}
