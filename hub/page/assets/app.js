// The hub's page: what is known about agents, kept up to date by events. Here
// is the start, where the page is, and the keyboard.

import { $ } from './dom.js';
import { refreshTimes } from './text.js';
import * as feed from './feed.js';
import * as fleet from './fleet.js';
import * as operate from './operate.js';
import * as viewer from './viewer.js';
import { renderAgent, tabKeys } from './agent.js';
import { handlers } from './events.js';
import { follow } from './live.js';
import { loadAgent, loadRecent, loadSnapshot, loadTab } from './load.js';
import { read } from './query.js';
import { state } from './state.js';

// readHash is the chosen agent and its tab; without an agent, the overview.
function readHash() {
  if (operate.isOperator && location.hash === '#operators') return { agentID: '', tab: 'resources', operators: true };
  const [id = '', tab = ''] = location.hash.replace(/^#\//, '').split('/');
  let agentID = '';
  try {
    agentID = decodeURIComponent(id);
  } catch { /* not one of ours */ }
  return { agentID, tab: tabKeys.includes(tab) ? tab : 'resources', operators: false };
}

function showView() {
  document.documentElement.dataset.view = state.selected ? 'agent' : state.operators ? 'operators' : 'fleet';
  if (state.operators) operate.view();
}

// begin gives the focus to the heading of what is shown now: whoever reads on, or goes on with
// the keyboard, begins there.
const begin = (selector) => document.querySelector(selector)?.focus({ preventScroll: true });

async function navigate() {
  const { agentID, tab, operators } = readHash();
  const other = agentID !== state.selected || operators !== state.operators;
  state.tab = tab;
  if (other) {
    const came = state.selected;
    Object.assign(state, { selected: agentID, operators, snapshot: null, pins: [], history: null, markdown: null, before: null, openDetails: false });
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
      begin(operators ? '#operators h2' : '#fleet-title');
      // Who comes back from an agent goes on at its row, once that is drawn.
      if (came && !operators) setTimeout(() => begin(`#fleet-rows [data-key="${CSS.escape(`agent-${came}`)}"]`), 50);
      await loadRecent();
    }
  } else if (agentID) {
    await loadTab();
  }
  const focus = document.activeElement?.getAttribute('role') === 'tab';
  renderAgent();
  if (other && agentID && state.selected === agentID && !$('agent').contains(document.activeElement)) begin('#agent h2');
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

const { agentID, tab, operators } = readHash();
Object.assign(state, { selected: agentID, tab, operators });
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
