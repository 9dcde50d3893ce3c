// The hub's page: what is known about agents, kept up to date by events. Here
// is the start, where the page is, and the keyboard.

import { $ } from './dom.js';
import { refreshTimes } from './text.js';
import * as agents from './agents.js';
import * as feed from './feed.js';
import * as viewer from './viewer.js';
import { renderAgent } from './agent.js';
import { handlers } from './events.js';
import { follow } from './live.js';
import { loadAll, loadSnapshot, loadTab } from './load.js';
import { state, tabKeys } from './state.js';

function readHash() {
  const [id = '', tab = ''] = location.hash.replace(/^#\//, '').split('/');
  let agentID = '';
  try {
    agentID = decodeURIComponent(id);
  } catch { /* not one of ours */ }
  return { agentID, tab: tabKeys.includes(tab) ? tab : 'resources' };
}

async function navigate() {
  const { agentID, tab } = readHash();
  const other = agentID !== state.selected;
  state.tab = tab;
  state.history = state.markdown = null;
  if (other) {
    state.selected = agentID;
    state.snapshot = null;
    state.fresh.clear();
    state.filter = { text: '', kind: '', status: '' };
    viewer.close();
    await loadSnapshot();
  } else {
    await loadTab();
  }
  agents.render(state);
  const focus = document.activeElement?.getAttribute('role') === 'tab';
  renderAgent();
  if (focus) $(`tab-${state.tab}`)?.focus();
}

addEventListener('keydown', (event) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === 'Escape' && event.target.type === 'search' && event.target.value !== '') {
    event.target.value = '';
    event.target.dispatchEvent(new Event('input'));
    event.preventDefault();
  }
  if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey || $('viewer').open) return;
  const field = $('filter') ?? $('agents-filter');
  if (field.hidden) return;
  event.preventDefault();
  field.focus();
  field.select();
});

$('viewer').addEventListener('click', (event) => {
  if (event.target === $('viewer')) viewer.close(); // beside the dialog
});

agents.setUp(state);
feed.setUp();
await loadAll();
if (!readHash().agentID && state.agents.size > 0) {
  // The one that pushed last is the one that somebody wants to see.
  const newest = [...state.agents.values()].reduce((a, b) => (b.revision > a.revision ? b : a));
  history.replaceState(null, '', agents.href(newest));
}
await navigate();
addEventListener('hashchange', navigate);
follow(Math.max(0, ...[...state.agents.values()].map((agent) => agent.revision)), handlers);
setInterval(refreshTimes, 20_000);
document.documentElement.dataset.ready = '';
performance.mark('ready'); // for the test that measures it
