// The overview: all agents in a table that the hub sorts, filters and pages. What
// happens is shown in place; the order changes when nobody points at it.

import { $, h, show, steady, arrows, typing } from './dom.js';
import { inline, when, since, count, number } from './text.js';
import { base, middle } from './paths.js';
import * as api from './api.js';
import { steps } from './operate.js';
import { address, attentions, columns, filtered, labelsIn, params, states } from './query.js';
import { attempt, state } from './state.js';

const pageSize = 100;
const most = 1000; // that the hub answers with at once

export const label = (agent) => agent.name?.trim() || agent.id;

export const href = (agent, tab) => `#/${encodeURIComponent(agent.id)}${tab && tab !== 'resources' ? '/' + tab : ''}`;

const stateWords = { connected: ['ok', 'connected'], away: ['away', 'away'], never_connected: ['never', 'never connected'] };

// presence shows whether an agent is there, and if not, for how long.
export function presence(agent) {
  const [tone, word] = stateWords[agent.state] ?? ['info', agent.state];
  return h('span', { class: `state ${tone}` }, word, agent.state === 'away' && agent.away_since && [' ', since(agent.away_since)]);
}

export const attention = (agent) => agent.attention.map((code) => attentions[code] ?? code.replaceAll('_', ' '));

const labelsOf = (agent) => Object.entries(agent.labels ?? {}).sort().map(([name, value]) => value ? `${name}=${value}` : name);

export const chips = (agent) => labelsOf(agent).map((text) => h('span', { class: 'chip' }, inline(text)));

// A number's words are shown where the columns have no heads.
const counted = (n, tone, word, what) => h('td', { class: `number ${n === 0 ? 'none' : ''}`, 'data-label': `${word} ${what}${n === 1 ? '' : 's'}` },
  n > 0 ? h('span', { class: `state ${tone}` }, number(n)) : '0');

function cells(agent) {
  const reasons = attention(agent);
  const where = [agent.hostname, agent.root].filter(Boolean);
  return [
    h('th', { scope: 'row' },
      h('a', { class: 'name', href: href(agent), 'data-key': `agent-${agent.id}` }, inline(label(agent))),
      where.length > 0 && h('span', { class: 'where' }, agent.hostname && h('span', null, inline(agent.hostname)), agent.root && middle(agent.root))),
    h('td', { class: 'presence' }, presence(agent)),
    h('td', { class: 'attention' }, reasons.length > 0 && h('span', { class: 'state warn' }, inline(reasons.slice(0, 2).join(', ')), reasons.length > 2 && ` and ${reasons.length - 2} more`)),
    counted(agent.drifted_pins, 'warn', 'drifted', 'pin'),
    h('td', { class: 'pushed' }, agent.last_push_at ? when(agent.last_push_at) : 'never pushed'),
    counted(agent.failing_plugins, 'bad', 'failing', 'plugin'),
    h('td', { class: 'version' }, inline(agent.agent_version)),
    h('td', { class: 'labels' }, chips(agent)),
  ];
}

const rows = new Map(); // by id: the element, and what it shows

function row(id) {
  const agent = state.agents.get(id);
  const shows = JSON.stringify(agent);
  let known = rows.get(id);
  if (!known) {
    known = { element: h('tr', { 'data-id': id }) };
    rows.set(id, known);
  }
  if (known.shows !== shows) {
    show(known.element, cells(agent));
    known.shows = shows;
  }
  return known.element;
}

function drawRows() {
  const body = $('fleet-rows');
  const key = body.contains(document.activeElement) ? document.activeElement.dataset.key : '';
  const ids = new Set(state.fleet.ids);
  for (const [id, known] of rows) {
    if (ids.has(id)) continue;
    known.element.remove();
    rows.delete(id);
  }
  state.fleet.ids.forEach((id, i) => {
    const element = row(id);
    if (body.children[i] !== element) body.insertBefore(element, body.children[i] ?? null);
  });
  if (key && document.activeElement?.dataset.key !== key) body.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}

function drawHead() {
  for (const column of columns) {
    const current = state.query.sort === column.sort;
    const head = $(`sort-${column.sort}`);
    if (current) head.setAttribute('aria-sort', state.query.down ? 'descending' : 'ascending');
    else head.removeAttribute('aria-sort');
  }
  $('fleet-order').value = `${state.query.sort}${state.query.down ? ' desc' : ''}`;
}

const facets = [['', 'All agents'], ['attention', 'Needs attention'], ['connected', 'Connected'], ['away', 'Away'], ['never_connected', 'Never connected']];
const tones = { attention: 'warn', connected: 'ok', away: 'away', never_connected: 'never' };
const facet = () => (state.query.attention ? 'attention' : state.query.state);

function drawFacets() {
  const counts = state.fleet.counts;
  show($('facets'), facets.map(([key, word]) => {
    const query = { ...state.query, state: states.includes(key) ? key : '', attention: key === 'attention' ? 'any' : '' };
    return h('li', null, h('a', {
      href: address(query, ''), 'data-key': `facet-${key}`, 'aria-current': facet() === key ? 'true' : null,
      onclick: (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        ask(query);
      },
    }, h('span', { class: key && `state ${key === 'attention' && !counts?.attention ? 'none' : tones[key]}` }, word), counts && h('span', { class: 'count' }, number(counts[key || 'all']))));
  }));
}

function emptiness() {
  if (filtered(state.query)) {
    return h('div', { class: 'empty' }, h('p', null, 'No agent matches.'),
      h('button', { type: 'button', 'data-key': 'clear', onclick: () => ask({ ...state.query, q: '', labels: [], state: '', attention: '' }) }, 'Show all agents'));
  }
  return h('h2', null, 'No agents yet');
}

// draw shows what is known.
const draw = steady(() => {
  const { fleet } = state;
  drawAside();
  if (state.selected || state.operators) return;
  const none = fleet.total === 0;
  $('fleet').dataset.empty = none ? (filtered(state.query) ? 'filtered' : 'yes') : '';
  drawFacets();
  drawHead();
  drawRows();
  show($('fleet-empty'), none && emptiness());
  show($('fleet-hits'), fleet.hits?.hits.length > 0 && hits(fleet.hits));
  if (none && !filtered(state.query)) adding(true);
  $('fleet-table').hidden = none;
  const parts = fleet.total == null ? ['Loading']
    : fleet.ids.length < fleet.total ? [`${number(fleet.ids.length)} of ${count(fleet.total, 'agent')}`] : [count(fleet.total, 'agent')];
  $('fleet-count').textContent = parts.join('');
  $('fleet-waiting').hidden = !fleet.waiting;
  $('fleet-more').hidden = !fleet.next;
  if (fleet.total != null && !shown) shown = performance.mark('rows'); // for the test that measures it
});

let shown;

// adding shows or hides how an agent is added.
function adding(on) {
  if (on === !$('adding').hidden) return;
  $('adding').hidden = !on;
  $('fleet-add').setAttribute('aria-expanded', String(on));
  show($('adding'), on && steps());
}

// The same agents beside a chosen one, in short.
function drawAside() {
  const { fleet } = state;
  $('agents-count').textContent = fleet.total == null ? '' : number(fleet.total);
  if (!state.selected && !state.operators) return;
  show($('agents'), fleet.ids.map((id) => {
    const agent = state.agents.get(id);
    const reasons = attention(agent);
    return h('li', null, h('a', { href: href(agent), 'data-key': `agent-${id}`, 'aria-current': id === state.selected ? 'page' : null },
      h('span', { class: 'name' }, inline(label(agent))),
      h('span', { class: 'line' }, presence(agent), reasons.length > 0 && h('span', { class: 'state warn' }, inline(reasons.join(', '))),
        agent.discovery?.phase === 'pending' && agent.last_push_at && h('span', { class: 'state info', title: 'more is still to come' }, 'pending'))));
  }), fleet.next && h('li', { class: 'muted' }, `${number(fleet.total - fleet.ids.length)} more: filter, or see all agents`));
}

let asked = false;

// render shows the list with the next frame, however often it is asked to: a
// thousand agents that push are not a thousand lists.
export function render() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    draw();
  });
}

// pointedAt reports whether somebody is about to press something in the list.
const pointedAt = () => !state.selected && ($('fleet-table').matches(':hover') || $('fleet-rows').contains(document.activeElement));

function take(page, keep) {
  const { fleet } = state;
  for (const agent of page.agents) state.agents.set(agent.id, agent);
  const ids = page.agents.map((agent) => agent.id);
  const moved = ids.length !== fleet.ids.length || ids.some((id, i) => fleet.ids[i] !== id);
  if (keep && moved && pointedAt()) {
    fleet.waiting = ids;
  } else {
    Object.assign(fleet, { ids, waiting: null });
  }
  Object.assign(fleet, { total: page.total, next: page.next });
}

// settle shows what was kept back.
function settle() {
  const { fleet } = state;
  if (!fleet.waiting || pointedAt()) return;
  Object.assign(fleet, { ids: fleet.waiting, waiting: null });
  render();
}

let turn = 0; // of questions: an older one's answer is of no use

async function read(keep) {
  const mine = ++turn;
  const query = params(state.query);
  query.set('limit', String(Math.min(most, keep ? Math.max(pageSize, state.fleet.ids.length) : pageSize)));
  await attempt(async () => {
    const page = await api.agents(query);
    if (mine === turn) take(page, keep);
  });
  render();
}

// asking is the last question whose answer somebody waits for.
let asking;

// load reads the first page of what somebody has chosen.
export function load() {
  find();
  return (asking = read(false));
}

// find looks for resources with the text by which agents are searched.
async function find() {
  const text = state.query.q.trim();
  state.fleet.hits = null;
  if (text.length < 3) return;
  await attempt(async () => {
    const found = await api.search(text);
    if (text === state.query.q.trim()) state.fleet.hits = found;
  });
  render();
}

function hits({ hits: list, more }) {
  return h('section', { class: 'group', 'aria-labelledby': 'hits-title' }, h('h3', { id: 'hits-title' }, 'Resources'),
    h('ul', { class: 'rows' }, list.map((hit) => h('li', { class: 'row hit' },
      h('a', { class: 'name', href: href({ id: hit.agent_id }, hit.kind === 'plugin' ? 'plugins' : '') }, inline(hit.name || base(hit.source))),
      h('span', null, inline(label(state.agents.get(hit.agent_id) ?? { id: hit.agent_id }))), middle(hit.source)))),
    more && h('p', { class: 'muted' }, 'There are more: search for a longer text.'));
}

// refresh reads again what is shown, but never in the place of what somebody waits for: its
// answer is kept back from under the pointer.
async function refresh() {
  for (let question; question !== asking;) {
    question = asking;
    await question;
  }
  await read(true);
}

// count asks how many there are of each state. The hub counts what it doesn't send.
export async function loadCounts() {
  await attempt(async () => {
    const ask = async (name, value) => {
      const query = new URLSearchParams({ limit: '1' });
      if (name) query.set(name, value);
      return (await api.agents(query)).total;
    };
    const [all, attention, ...each] = await Promise.all([ask(), ask('attention', 'any'), ...states.map((s) => ask('state', s))]);
    state.fleet.counts = { all, attention, ...Object.fromEntries(states.map((s, i) => [s, each[i]])) };
  });
  render();
}

const paces = { list: 1000, aside: 5000, counts: 5000 }; // ms between questions, however much happens
const due = {};

function later(what, pace, action) {
  due[what] ??= setTimeout(async () => {
    await action();
    due[what] = undefined;
  }, pace);
}

// soon reads again what has become older by an event.
export function soon() {
  later('list', state.selected ? paces.aside : paces.list, refresh);
  later('counts', paces.counts, loadCounts);
}

async function more() {
  const query = params(state.query);
  query.set('limit', String(pageSize));
  query.set('after', state.fleet.next);
  const mine = ++turn;
  await attempt(async () => {
    const page = await api.agents(query);
    if (mine !== turn) return;
    for (const agent of page.agents) state.agents.set(agent.id, agent);
    const first = page.agents.find((agent) => !state.fleet.ids.includes(agent.id));
    Object.assign(state.fleet, { ids: [...new Set([...state.fleet.ids, ...page.agents.map((agent) => agent.id)])], total: page.total, next: page.next });
    draw();
    if (first) $('fleet-rows').querySelector(`[data-key="${CSS.escape(`agent-${first.id}`)}"]`)?.focus();
  });
}

// remove takes an agent out that is gone.
export function remove(id) {
  const { fleet } = state;
  fleet.ids = fleet.ids.filter((one) => one !== id);
  fleet.waiting = fleet.waiting?.filter((one) => one !== id) ?? null;
}

// ask shows another choice of agents; the address says which.
function ask(query) {
  state.query = query;
  history.replaceState(null, '', address(query));
  fields();
  load();
}

// fields shows the query in the fields that nobody is typing in.
export function fields() {
  for (const id of ['fleet-filter', 'agents-filter']) if (document.activeElement !== $(id)) $(id).value = state.query.q;
  $('back').href = address(state.query, '#');
  $('fleet-attention').value = state.query.attention;
  if (document.activeElement !== $('fleet-label')) $('fleet-label').value = state.query.labels.join(' ');
}

function order(column) {
  const current = state.query.sort === column.sort;
  ask({ ...state.query, sort: column.sort, down: current ? !state.query.down : Boolean(column.down) });
}

export function setUp() {
  $('fleet-head').append(...columns.map((column) => h('th', { scope: 'col', id: `sort-${column.sort}`, class: column.number ? 'number' : null },
    h('button', { type: 'button', 'data-key': `sort-${column.sort}`, onclick: () => order(column) }, column.label))));
  const choice = $('fleet-order');
  choice.append(...columns.flatMap((c) => [[c.sort, `${c.label}, ascending`], [`${c.sort} desc`, `${c.label}, descending`]])
    .map(([value, text]) => h('option', { value }, text)));
  choice.addEventListener('change', () => {
    const [sort, down] = choice.value.split(' ');
    ask({ ...state.query, sort, down: down === 'desc' });
  });
  $('fleet-attention').append(...[['', 'Whatever it needs'], ['any', 'Needs attention'], ...Object.entries(attentions)].map(([value, text]) => h('option', { value }, text)));
  $('fleet-attention').addEventListener('change', () => ask({ ...state.query, state: '', attention: $('fleet-attention').value }));
  for (const id of ['fleet-filter', 'agents-filter']) typing($(id), (text) => ask({ ...state.query, q: text }));
  typing($('fleet-label'), (text) => ask({ ...state.query, labels: labelsIn(text) }));
  $('fleet-filter').addEventListener('keydown', (event) => {
    if (event.key !== 'ArrowDown') return;
    event.preventDefault();
    $('fleet-rows').querySelector('a')?.focus();
  });
  arrows($('fleet-rows'), 'a.name');
  arrows($('agents'), 'a');
  $('fleet-rows').addEventListener('click', (event) => { // a row is as good as its name
    if (event.target.closest('a') || String(getSelection())) return;
    event.target.closest('tr')?.querySelector('a.name').click();
  });
  $('fleet-add').addEventListener('click', () => adding($('adding').hidden));
  $('fleet-more').addEventListener('click', () => (asking = more()));
  $('fleet-waiting').addEventListener('click', () => {
    document.activeElement?.blur();
    Object.assign(state.fleet, { ids: state.fleet.waiting ?? state.fleet.ids, waiting: null });
    draw();
  });
  $('fleet-table').addEventListener('pointerleave', () => setTimeout(settle, 300));
  $('fleet-table').addEventListener('focusout', () => setTimeout(settle, 300));
  // On a telephone the list beside an agent is folded up.
  const narrow = matchMedia('(max-width: 760px)');
  const fold = () => { $('agents-box').open = !narrow.matches; };
  narrow.addEventListener('change', fold);
  fold();
  fields();
}
