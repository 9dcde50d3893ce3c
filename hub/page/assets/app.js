// The hub's page: what is known about agents, kept up to date by events. Here
// is the start, where the page is, and the keyboard.

import { $ } from './dom.js';
import { refreshTimes } from './text.js';
import * as feed from './feed.js';
import * as fleet from './fleet.js';
import * as viewer from './viewer.js';
import { renderAgent, tabKeys } from './agent.js';
import { handlers } from './events.js';
import { follow } from './live.js';
import { loadAgent, loadRecent, loadSnapshot, loadTab } from './load.js';
import { read } from './query.js';
import { state } from './state.js';

// readHash is the chosen agent and its tab; without an agent, the overview.
function readHash() {
  const [id = '', tab = ''] = location.hash.replace(/^#\//, '').split('/');
  let agentID = '';
  try {
    agentID = decodeURIComponent(id);
  } catch { /* not one of ours */ }
  return { agentID, tab: tabKeys.includes(tab) ? tab : 'resources' };
}

function showView() {
  document.documentElement.dataset.view = state.selected ? 'agent' : 'fleet';
}

async function navigate() {
  const { agentID, tab } = readHash();
  const other = agentID !== state.selected;
  state.tab = tab;
  if (other) {
    const came = state.selected;
    Object.assign(state, { selected: agentID, snapshot: null, pins: [], history: null, markdown: null, before: null, openDetails: false });
    state.filter = { text: '', kind: '', status: '', reader: '' };
    for (const set of [state.fresh, state.openGroups]) set.clear();
    viewer.close();
    showView();
    feed.forget();
    renderAgent();
    fleet.render();
    scrollTo(0, 0);
    if (agentID) {
      await loadAgent(agentID);
      await loadSnapshot();
    } else {
      if (came) setTimeout(() => document.querySelector(`#fleet-rows [data-key="${CSS.escape(`agent-${came}`)}"]`)?.focus({ preventScroll: true }), 50);
      await loadRecent();
    }
  } else if (agentID) {
    await loadTab();
  }
  const focus = document.activeElement?.getAttribute('role') === 'tab';
  renderAgent();
  if (focus) $(`tab-${state.tab}`)?.focus();
}

function searchField() {
  return state.selected ? $('filter') ?? $('agents-filter') : $('fleet-filter');
}

addEventListener('keydown', (event) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === 'Escape' && event.target.type === 'search' && event.target.value !== '') {
    event.target.value = '';
    event.target.dispatchEvent(new Event('input'));
    event.preventDefault();
  }
  if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey || $('viewer').open) return;
  event.preventDefault();
  searchField().focus();
  searchField().select();
});

$('viewer').addEventListener('click', (event) => {
  if (event.target === $('viewer')) viewer.close(); // beside the dialog
});

state.selected = readHash().agentID;
state.tab = readHash().tab;
showView();
fleet.setUp();
const list = fleet.load();
const chosen = state.selected ? loadAgent(state.selected).then(loadSnapshot) : null;
const newest = loadRecent();
await (chosen ?? list);
renderAgent();
addEventListener('hashchange', navigate);
addEventListener('popstate', () => {
  const query = read();
  if (JSON.stringify(query) === JSON.stringify(state.query)) return;
  state.query = query;
  fleet.fields();
  fleet.load();
});
follow(await newest, handlers);
setInterval(refreshTimes, 20_000);
requestAnimationFrame(() => {
  document.documentElement.dataset.ready = '';
  performance.mark('ready'); // for the test that measures it
  fleet.loadCounts();
});
