// The MCP servers of an agent: what became of each, why, what to do, and its tools.

import { h } from './dom.js';
import { inline, lineOf, count } from './text.js';
import { middle, relative } from './paths.js';
import * as api from './api.js';
import { approving } from './operate.js';

const outcomes = {
  pending: ['info', 'pending', 'It is being asked what it offers.'],
  connected: ['ok', 'connected'],
  cached: ['ok', 'cached', 'What it last offered is known. It doesn’t run: its first call starts it.'],
  failed: ['bad', 'failed', (name) => ['“agent mcp logs ', name(), '” tells more; “agent mcp restart ', name(), '” tries again.']],
  needs_approval: ['warn', 'needs approval', (name) => ['“agent mcp show ', name(), '” says what it is; “agent mcp approve ', name(), '” lets it run.']],
  needs_authorization: ['warn', 'needs authorization', (name) => ['“agent mcp login ', name(), '” signs in.']],
  switched_off: ['away', 'switched off', 'The configuration switches it off, or somebody has denied it.'],
  listed: ['away', 'listed', 'It is configured, but not among the servers that are connected.'],
};

// The order in which they are shown: first what somebody can do something about.
const order = ['needs_approval', 'needs_authorization', 'failed', 'pending', 'connected', 'cached', 'switched_off', 'listed'];

const isServer = (id) => id.startsWith('mcp_server:');

// servers joins what became of each with the resource that it has become.
export function servers(snapshot) {
  const all = new Map();
  for (const r of snapshot?.resources ?? []) {
    if (r.kind === 'mcp_server') all.set(r.id, { id: r.id, name: r.name, outcome: r.attributes?.outcome ?? '', error: r.error, resource: r });
  }
  for (const s of snapshot?.discovery?.sources ?? []) {
    if (isServer(s.id)) all.set(s.id, { ...all.get(s.id), id: s.id, name: s.name, outcome: s.outcome, error: s.error || all.get(s.id)?.error });
  }
  const rank = (server) => (order.indexOf(server.outcome) + order.length + 1) % (order.length + 1);
  return [...all.values()].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name) || (a.id < b.id ? -1 : 1));
}

// waiting counts those that somebody can do something about.
export const waiting = (list) => list.filter((s) => ['warn', 'bad'].includes(outcomes[s.outcome]?.[0])).length;

export const isPending = (discovery) => discovery?.phase === 'pending';

// phase is the state of a discovery for a head, with its counts for a title.
export function phase(discovery) {
  const counts = {};
  for (const s of discovery.sources ?? []) counts[s.outcome] = (counts[s.outcome] ?? 0) + 1;
  const title = Object.entries(counts).map(([word, n]) => `${n} ${word.replaceAll('_', ' ')}`).join(', ');
  const pending = isPending(discovery);
  return h('span', { class: `state ${pending ? 'info' : 'ok'}`, title: title || null }, pending ? 'pending' : 'complete');
}

const lists = new Map(); // the tools of servers, by id and hash

async function toolsOf(agentID, resource, revision) {
  const key = `${agentID} ${resource.id} ${resource.content_hash}`;
  if (!lists.has(key)) {
    const bytes = await api.resource(agentID, resource.id, revision);
    const { tools } = JSON.parse(new TextDecoder().decode(bytes));
    if (lists.size > 50) lists.clear();
    lists.set(key, Array.isArray(tools) ? tools.filter((t) => t && typeof t === 'object') : []);
  }
  return lists.get(key);
}

// block shows a text with its line breaks.
const block = (text) => String(text).replaceAll('\r\n', '\n').split('\n').map((line) => h('span', { class: 'l' }, lineOf(line)));

const hints = [['readOnlyHint', 'reads only'], ['destructiveHint', 'may destroy'], ['openWorldHint', 'reaches outside']];

function tool(t) {
  const marks = hints.filter(([key]) => t.annotations?.[key] === true).map(([, word]) => word);
  return h('li', { class: 'tool' }, h('details', null,
    h('summary', null, h('strong', { class: 'mono' }, inline(t.name)),
      t.title && h('span', null, inline(t.title)),
      marks.length > 0 && h('span', { class: 'muted' }, marks.join(', '))),
    h('div', { class: 'body' },
      t.description && h('p', { class: 'says' }, block(t.description)),
      h('pre', { class: 'text', tabindex: 0, role: 'group', 'aria-label': 'Input schema' }, block(JSON.stringify(t.input_schema ?? {}, null, 2))))));
}

// toolList shows the tools of a server, read when they are unfolded. Whether they
// are is kept in open, since a card is made anew with every event.
function toolList(agentID, resource, revision, open, i) {
  const body = h('div', { class: 'body', id: `tools-${i}`, hidden: !open.has(resource.id) });
  const toggle = h('button', { type: 'button', 'data-key': `tools-${resource.id}`, 'aria-controls': body.id });
  const read = async () => {
    toggle.setAttribute('aria-expanded', String(!body.hidden));
    toggle.textContent = body.hidden ? 'Show tools' : 'Hide tools';
    if (body.hidden) return;
    try {
      const list = await toolsOf(agentID, resource, revision);
      body.replaceChildren(h('p', { class: 'muted' }, list.length === 0 ? 'It offers no tools.' : count(list.length, 'tool')),
        h('ul', { class: 'changes' }, list.map(tool)));
    } catch (error) {
      const text = error.status === 404 ? 'It offers no tools.' : error.status ? error.message : 'The list of its tools can’t be read.';
      body.replaceChildren(h('p', { class: 'empty' }, text));
    }
  };
  toggle.addEventListener('click', () => {
    body.hidden = !body.hidden;
    if (body.hidden) open.delete(resource.id);
    else open.add(resource.id);
    read();
  });
  read();
  return [h('div', { class: 'actions' }, toggle), body];
}

// Attributes that have places of their own.
const known = new Set(['outcome', 'state', 'transport', 'freshness', 'findings', 'trimmed', 'tools', 'origin', 'definition']);

const listOf = (value) => value == null ? [] : Array.isArray(value) ? value : [value];

function card(server, agentID, revision, open, root, i) {
  const [tone, word, advice] = outcomes[server.outcome] ?? ['info', server.outcome.replaceAll('_', ' ') || 'unknown'];
  const r = server.resource;
  const a = r?.attributes ?? {};
  const fact = (name, value, properties) => value && [h('dt', null, name), h('dd', properties ?? null, listOf(value).flatMap((v, i) => [i > 0 ? ', ' : '', inline(v)]))];
  const findings = listOf(a.findings);
  const source = r?.source ?? server.id.replace(/^mcp_server:/, '').replace(/#[^#]*$/, '');
  return h('li', { class: 'card server' },
    h('div', { class: 'line' }, h('h3', null, inline(server.name || server.id)), h('span', { class: `state ${tone}` }, inline(word))),
    r?.description && h('p', null, inline(r.description)),
    server.error && h('p', { class: tone === 'bad' ? 'reason' : 'reason warn' }, inline(server.error)),
    advice && h('p', { class: 'muted' }, typeof advice === 'function' ? advice(() => inline(server.name)) : advice),
    server.outcome === 'needs_approval' && approving(server, agentID),
    a.trimmed && h('p', { class: 'muted' }, inline(a.trimmed)),
    findings.length > 0 && h('div', { class: 'notice warn' }, h('strong', null, count(findings.length, 'finding')),
      h('ul', null, findings.map((text) => h('li', null, inline(text))))),
    h('dl', { class: 'facts' },
      fact('Catalogue', a.freshness), fact('State', a.state), fact('Transport', a.transport), fact('Tools', a.tools, { class: 'num' }),
      h('dt', null, 'Configured in'), h('dd', null, middle(relative(source, root), source)), fact('Which is', a.origin),
      Object.entries(a).filter(([key]) => !known.has(key)).map(([key, value]) => [h('dt', null, inline(key)), h('dd', null, listOf(value).flatMap((v, i) => [i > 0 ? ', ' : '', inline(v)]))])),
    r?.status === 'ok' && toolList(agentID, r, revision, open, i));
}

export function view(state, root) {
  const snapshot = state.snapshot;
  const list = servers(snapshot);
  const pending = isPending(snapshot.discovery);
  return [
    pending && h('p', { class: 'notice' }, 'Not complete yet: more is still to come. The page shows it as it comes.'),
    list.length === 0 && h('p', { class: 'empty' }, pending ? 'No MCP server is known yet.' : 'This workspace configures no MCP servers.'),
    h('ul', { class: 'cards' }, list.map((server, i) => card(server, state.selected, snapshot.revision, state.openServers, root, i))),
  ].filter(Boolean);
}
