// The chosen agent: its head, its tabs, and what the chosen tab holds.

import { $, h, show, steady } from './dom.js';
import { inline, when, count, size } from './text.js';
import * as api from './api.js';
import * as agents from './agents.js';
import * as clients from './clients.js';
import * as historyView from './history.js';
import * as mcp from './mcp.js';
import * as pins from './pins.js';
import * as plugins from './plugins.js';
import * as prompt from './prompt.js';
import * as resources from './resources.js';
import * as viewer from './viewer.js';
import { state, attempt } from './state.js';
import { tabs } from './tabs.js';

const agentPins = () => state.pins.filter((pin) => pin.agent_id === state.selected);

function head(agent) {
  const s = state.snapshot;
  const fact = (name, ...value) => h('div', null, h('dt', null, name), h('dd', null, value));
  return h('header', { class: 'agent-head' },
    h('div', { class: 'line' },
      h('h2', null, inline(agents.label(agent))),
      h('span', { class: `state ${agent.connected ? 'ok' : 'away'}` }, agent.connected ? 'connected' : 'away')),
    h('dl', { class: 'strip' },
      agent.name && fact('Id', inline(agent.id)),
      fact('Last pushed', s ? when(agent.updated_at ?? s.received_at) : 'never'),
      s && fact('Resources', String(s.resources.length)),
      s && fact('Text', size(s.payload_bytes)),
      s?.discovery && (mcp.isPending(s.discovery) || s.discovery.sources.length > 0) && fact('Discovery', mcp.phase(s.discovery)),
      s && fact('Version', String(s.version)),
      s && fact('Revision', String(s.revision)),
      s && fact('Hash', h('span', { class: 'mono', title: s.aggregate_hash }, s.aggregate_hash.slice(0, 12) || '–'))),
    agent.not_heard > 0 && h('p', { class: 'notice warn' }, `${count(agent.not_heard, 'more agent')} with this token: only the newest is heard. Give each a token of its own.`),
    s?.snapshot_error && h('p', { class: 'notice warn' }, inline(s.snapshot_error)));
}

function tabItems() {
  const issues = state.snapshot?.resources.filter(resources.isIssue).length ?? 0;
  const moved = pins.drifted(agentPins());
  const ill = plugins.trouble(state.snapshot?.plugins ?? []);
  const servers = mcp.servers(state.snapshot);
  const toDo = mcp.waiting(servers);
  return [
    { key: 'resources', label: 'Resources', badge: issues || '', tone: 'bad' },
    (servers.length > 0 || state.tab === 'servers') && { key: 'servers', label: 'MCP servers', badge: toDo || servers.length || '', tone: toDo ? 'warn' : '' },
    { key: 'pins', label: 'Pins', badge: moved || agentPins().length || '', tone: moved ? 'warn' : '' },
    { key: 'history', label: 'History' },
    { key: 'plugins', label: 'Plugins', badge: ill || '', tone: 'warn' },
    { key: 'clients', label: 'Clients' },
    { key: 'prompt', label: 'Prompt' },
  ].filter(Boolean);
}

// act does something to pins and reads them again.
async function act(action) {
  const done = await attempt(async () => {
    await action();
    state.pins = await api.pins();
  });
  renderAgent();
  agents.render(state);
  return done;
}

function body() {
  if (!state.snapshot && state.tab !== 'pins') {
    return h('p', { class: 'empty' }, 'This agent has not pushed anything yet. ',
      'On its machine: agent run --url ', location.origin, ' --token-file FILE');
  }
  switch (state.tab) {
    case 'servers': return mcp.view(state);
    case 'pins': return pins.view(agentPins(), state.openPins, act);
    case 'history': return historyView.view(state.selected, state.history);
    case 'plugins': return plugins.view(state.snapshot);
    case 'clients': return clients.view(state.selected);
    case 'prompt': return prompt.view(state.markdown);
  }
  const { element, shown, all } = resources.list(state, openResource);
  $('matching').textContent = shown === all ? count(all, 'resource') : `${shown} of ${all}`;
  return element;
}

function openResource(resource) {
  viewer.open(state.selected, resource, state.snapshot.revision);
}

// frame makes what stays as long as the agent and the tab do: a field that
// somebody types in is never replaced.
function frame() {
  const tool = state.tab === 'resources' && state.snapshot ? resources.toolbar(state, renderBody)
    : state.tab === 'pins' && pins.form(state.selected, act);
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
    show($('agent'), h('p', { class: 'empty' }, state.agents.size > 0 ? 'Choose an agent.'
      : ['There are no agents yet. Make a token for one, and start it with that: ',
        h('pre', { class: 'text' }, `hub token create --role agent --agent my-workspace > agent.token\nagent run --url ${location.origin} --token-file agent.token`)]));
    return;
  }
  document.title = `${agents.label(agent)} – Waymark hub`;
  if ($('agent').dataset.frame !== frameKey() || !$('panel')) frame();
  show($('head'), head(agent));
  show($('tabs'), tabs(tabItems(), state.tab, (key) => { location.hash = agents.href(agent, key); }));
  // Where the tabs don't fit, the chosen one is moved into sight.
  const list = $('tabs').firstElementChild;
  const chosen = $(`tab-${state.tab}`);
  list.scrollLeft = Math.max(0, chosen.offsetLeft + chosen.offsetWidth - list.offsetLeft - list.clientWidth);
  renderBody();
});
