// The chosen agent: its head, its tabs, and what the chosen tab holds.

import { $, h, show, steady } from './dom.js';
import { inline, when, count, size } from './text.js';
import { command, copyButton, insecure, onDatabase } from './copy.js';
import { rootOf } from './paths.js';
import * as api from './api.js';
import * as clients from './clients.js';
import * as coverage from './coverage.js';
import * as fleet from './fleet.js';
import * as historyView from './history.js';
import * as mcp from './mcp.js';
import * as operate from './operate.js';
import * as pins from './pins.js';
import * as plugins from './plugins.js';
import * as prompt from './prompt.js';
import * as resources from './resources.js';
import * as viewer from './viewer.js';
import { loadAgent, loadTab } from './load.js';
import { attempt, isAway, state } from './state.js';
import { tabs } from './tabs.js';

// views are the tabs, in order. Each has a key, which is in the address, and a label;
// badge() is what stands beside it, and its tone; hidden() leaves it out; bare is for
// one that shows something of an agent that hasn't pushed; tool() makes what is above
// the view and stays, such as a field to type in; view() makes the rest.
const views = [
  {
    key: 'resources', label: 'Resources',
    badge: () => [state.snapshot?.resources.filter(resources.isIssue).length, 'bad'],
    tool: () => resources.toolbar(state, renderBody),
    view() {
      const { element, shown, all } = resources.list(state, root(), openResource);
      $('matching').textContent = shown === all ? count(all, 'resource') : `${shown} of ${all}`;
      return [element, coverage.view(state.agents.get(state.selected), root())];
    },
  },
  {
    key: 'servers', label: 'MCP servers',
    badge() {
      const servers = mcp.servers(state.snapshot);
      const toDo = mcp.waiting(servers);
      return toDo ? [toDo, 'warn'] : [servers.length, ''];
    },
    hidden: () => mcp.servers(state.snapshot).length === 0,
    view: () => mcp.view(state, root()),
  },
  {
    key: 'pins', label: 'Pins', bare: true,
    badge() {
      const drifted = pins.drifted(state.pins);
      return drifted ? [drifted, 'warn'] : [state.pins.length, ''];
    },
    tool: () => pins.form(state.selected, act),
    view: () => pins.view(state, root(), act),
  },
  { key: 'history', label: 'History', view: () => historyView.view(state.selected, state.history, root()) },
  { key: 'plugins', label: 'Plugins', badge: () => [plugins.trouble(state.snapshot?.plugins ?? []), 'warn'], view: () => plugins.view(state.snapshot) },
  { key: 'clients', label: 'Clients', bare: true, view: () => clients.view(state.selected) },
  {
    key: 'prompt', label: 'Prompt',
    view: () => prompt.view(state, async (compare) => {
      state.compare = compare;
      await loadTab();
      renderBody();
    }),
  },
  operate.isOperator && { key: 'manage', label: 'Manage', bare: true, tool: () => operate.manage(state.agents.get(state.selected), reread, left), view: () => null },
].filter(Boolean);

export const tabKeys = views.map((view) => view.key);

const current = () => views.find((view) => view.key === state.tab) ?? views[0];

const root = () => rootOf(state.agents.get(state.selected), state.snapshot);

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

// identity shows an id that people can read, and copies one that they can't.
const identity = (id) => (uuid.test(id) ? copyButton(id, 'Copy id') : [inline(id), ' ', copyButton(id, 'Copy')]);

function details(agent) {
  const s = state.snapshot;
  const fact = (name, value, properties) => value && [h('dt', null, name), h('dd', properties, value)];
  const element = h('details', { class: 'details', open: state.openDetails },
    h('summary', { 'data-key': 'details' }, 'Details'),
    h('dl', { class: 'facts' },
      fact('Id', identity(agent.id)),
      fact('Agent', agent.agent_version && inline(agent.agent_version), { class: 'num' }),
      s && fact('Revision', String(s.revision), { class: 'num' }),
      s && fact('Version', String(s.version), { class: 'num' }),
      s?.aggregate_hash && fact('Hash', h('span', { class: 'mono' }, s.aggregate_hash)),
      s && fact('Resources', `${s.resources.length}, with ${size(s.payload_bytes)} of text`, { class: 'num' }),
      s?.discovery?.sources.length > 0 && fact('Discovery', mcp.phase(s.discovery))));
  element.addEventListener('toggle', () => { state.openDetails = element.open; });
  return element;
}

function head(agent) {
  const s = state.snapshot;
  const where = root();
  const labels = fleet.chips(agent);
  return h('header', { class: 'agent-head' },
    h('div', { class: 'line' },
      h('h2', { tabindex: -1, 'data-key': 'title' }, inline(fleet.label(agent))),
      fleet.presence(agent),
      s && mcp.isPending(s.discovery) && h('span', { class: 'state info', title: 'more is still to come' }, 'discovery pending')),
    h('p', { class: 'line muted root' },
      where && [h('span', { class: 'path' }, inline(where)), copyButton(where, 'Copy path')],
      agent.hostname && h('span', null, inline(agent.hostname)),
      h('span', null, agent.last_push_at ? ['pushed ', when(agent.last_push_at)] : 'never pushed'),
      labels.length > 0 && h('span', null, labels)),
    agent.not_heard > 0 && h('p', { class: 'notice warn' }, `${count(agent.not_heard, 'more agent')} with this token: only the newest is heard. Give each a token of its own.`),
    s?.snapshot_error && h('p', { class: 'notice warn' }, inline(s.snapshot_error)),
    details(agent));
}

function tabItems() {
  return views.filter((view) => view.key === state.tab || !view.hidden?.()).map((view) => {
    const [badge, tone] = view.badge?.() ?? [];
    return { key: view.key, label: view.label, badge: badge || '', tone };
  });
}

async function reread() {
  await loadAgent(state.selected);
  renderAgent();
  fleet.soon();
}

// left goes back to all agents, of which the chosen one is gone.
function left() {
  state.agents.delete(state.selected);
  fleet.remove(state.selected);
  location.hash = '';
}

// act does something to pins and reads them again.
async function act(action) {
  const id = state.selected;
  const done = await attempt(async () => {
    await action();
    const list = await api.pins(id);
    if (state.selected === id) state.pins = list;
  });
  renderAgent();
  return done;
}

function body() {
  if (state.snapshot || current().bare) return current().view();
  if (state.agents.get(state.selected)?.revision > 0) return h('p', { class: 'muted' }, isAway() ? 'Not known while the hub does not answer.' : 'Loading');
  return h('div', { class: 'empty' },
    h('p', null, 'This agent has not pushed anything yet. Start it in its workspace, with its token:'),
    command(`agent run --url ${location.origin} --token-file agent.token${insecure}`),
    h('p', null, 'Where the token is lost, make another one:'),
    command(onDatabase(`hub token create --role agent --agent ${/^[\w.-]+$/.test(state.selected) ? state.selected : 'ID'} --out agent.token`)));
}

function openResource(resource) {
  viewer.open(state.selected, resource, state.snapshot.revision, root());
}

// frame makes what stays as long as the agent and the tab do: a field that
// somebody types in is never replaced.
function frame() {
  const tool = (state.snapshot || current().bare) && current().tool?.();
  show($('agent'),
    h('div', { id: 'head' }), h('div', { id: 'tabs' }),
    h('div', { id: 'panel', role: 'tabpanel', 'aria-labelledby': `tab-${state.tab}` }, tool, h('div', { id: 'body' })));
  $('agent').dataset.frame = frameKey();
}

const frameKey = () => JSON.stringify([state.selected, state.tab, Boolean(state.snapshot)]);

function renderBody() {
  show($('body'), body());
}

export const renderAgent = steady(() => {
  const agent = state.agents.get(state.selected);
  if (!agent) {
    document.title = state.selected && !isAway() ? 'No such agent – Waymark hub' : 'Agents – Waymark hub';
    delete $('agent').dataset.frame;
    show($('agent'), state.selected && (isAway() ? h('p', { class: 'muted' }, 'Not known while the hub does not answer.') : h('p', { class: 'empty' }, 'The hub knows no such agent, or your token does not show it. ', h('a', { href: $('back').href }, 'See all agents'))));
    return;
  }
  document.title = `${fleet.label(agent)} – Waymark hub`;
  if ($('agent').dataset.frame !== frameKey() || !$('panel')) frame();
  show($('head'), head(agent));
  show($('tabs'), tabs(tabItems(), state.tab, (key) => { location.hash = fleet.href(agent, key); }));
  // Where the tabs don't fit, the chosen one is moved into sight.
  const list = $('tabs').firstElementChild;
  const chosen = $(`tab-${state.tab}`);
  list.scrollLeft = Math.max(0, chosen.offsetLeft + chosen.offsetWidth - list.offsetLeft - list.clientWidth);
  renderBody();
});
