// Reading what the page shows.

import * as api from './api.js';
import { state, attempt } from './state.js';

export async function loadSnapshot() {
  const id = state.selected;
  if (!state.agents.has(id)) return;
  await attempt(async () => {
    let snapshot = null;
    try {
      snapshot = await api.context(id);
    } catch (error) {
      if (error.status !== 404) throw error; // 404: it has not pushed yet
    }
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
    const history = state.tab === 'history' ? await api.history(id) : null;
    const markdown = state.tab === 'prompt' ? await api.markdown(id) : null;
    if (state.selected === id) Object.assign(state, { history, markdown }); // else somebody has moved on
  });
}

// markFresh notes what to highlight: what is new since the last look.
function markFresh(before, after) {
  state.fresh.clear();
  if (!before || !after) return;
  const known = new Map(before.resources.map((r) => [r.id, JSON.stringify(r)]));
  for (const r of after.resources) if (known.get(r.id) !== JSON.stringify(r)) state.fresh.add(r.id);
}

export async function loadAll() {
  await attempt(async () => {
    const [list, pinned] = await Promise.all([api.agents(), api.pins()]);
    state.agents = new Map(list.map((agent) => [agent.id, agent]));
    state.pins = pinned;
  });
}

export async function loadAgent(id) {
  await attempt(async () => {
    try {
      state.agents.set(id, await api.agent(id));
    } catch (error) {
      if (error.status !== 404) throw error;
      state.agents.delete(id);
    }
  });
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
