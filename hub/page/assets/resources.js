// The resources of an agent: first those that something is wrong with, then
// all by kind.

import { h, arrows } from './dom.js';
import { inline, size } from './text.js';

export const kinds = {
  instruction_file: 'Instructions', skill: 'Skills', mcp_config: 'MCP configurations', mcp_server: 'MCP servers',
  plugin: 'Agent plugins', hook: 'Hooks', subagent: 'Subagents', command: 'Commands',
};
export const tones = { ok: 'ok', invalid: 'bad', unreadable: 'bad', oversize: 'warn', excluded: 'warn' };

const reasons = {
  oversize: 'The file is larger than what is taken of one resource; its text is not pushed.',
  excluded: 'Other resources used up what a snapshot may hold; its text is not pushed.',
  unreadable: 'The file could not be read.',
  invalid: 'The file breaks a rule of its format.',
};

export const isIssue = (resource) => resource.status !== 'ok' || resource.stale;

export function reason(resource) {
  const why = resource.error || reasons[resource.status] || '';
  const stale = resource.stale ? 'The resolver fails: this is its last good result.' : '';
  return [why, stale].filter(Boolean).join(' ');
}

// The words of a row that the filter looks at.
const words = (r) => `${r.name} ${r.source} ${r.description} ${r.error} ${r.resolver}`.toLowerCase();

export function matches(resource, filter) {
  return (!filter.kind || resource.kind === filter.kind) &&
    (!filter.status || (filter.status === 'issues' ? isIssue(resource) : resource.status === filter.status)) &&
    (!filter.text || words(resource).includes(filter.text.toLowerCase()));
}

// title is what a resource is called: its name, or that of its file.
export function title(resource) {
  return resource.name || resource.source.slice(resource.source.lastIndexOf('/') + 1) || resource.source;
}

function row(resource, fresh, open) {
  const issue = isIssue(resource);
  return h('li', { class: fresh ? 'row fresh' : 'row' }, h('button', { type: 'button', 'data-key': `r-${resource.id}`, onclick: () => open(resource) },
    h('span', { class: `state ${tones[resource.status] ?? 'info'}` }, resource.stale ? `${resource.status}, stale` : resource.status),
    h('span', { class: 'what' },
      h('span', { class: 'name' }, inline(title(resource))),
      resource.description && !issue && h('span', { class: 'description' }, inline(resource.description))),
    h('span', { class: 'path' }, inline(resource.source)),
    h('span', { class: 'size num' }, size(resource.size_bytes)),
    issue && h('span', { class: `reason ${tones[resource.status] ?? ''}` }, inline(reason(resource)))));
}

function group(name, list, state, open, tone) {
  if (list.length === 0) return null;
  const id = `group-${name.replaceAll(' ', '-')}`;
  return h('section', { class: 'group', 'aria-labelledby': id },
    h('h3', { id }, name, h('span', { class: `badge ${tone ?? ''}` }, String(list.length))),
    h('ul', { class: 'rows' }, list.map((resource) => row(resource, state.fresh.has(resource.id), open))));
}

// toolbar is made once for an agent, so that typing in it isn't disturbed.
export function toolbar(state, changed) {
  const choice = (name, key, options) => h('label', { class: 'choice' }, h('span', { class: 'hidden' }, name),
    h('select', { onchange: (event) => { state.filter[key] = event.target.value; changed(); } },
      options.map(([value, text]) => h('option', { value, selected: state.filter[key] === value }, text))));
  const search = h('input', {
    id: 'filter', type: 'search', placeholder: 'Filter by name, path or reason', 'aria-label': 'Filter resources by name, path or reason',
    autocomplete: 'off', spellcheck: 'false', oninput: () => { state.filter.text = search.value; changed(); },
    onkeydown: (event) => {
      if (event.key !== 'ArrowDown') return;
      event.preventDefault();
      document.querySelector('#list .row button')?.focus();
    },
  });
  search.value = state.filter.text;
  return h('div', { class: 'toolbar', role: 'search' }, search,
    choice('Kind', 'kind', [['', 'All kinds'], ...Object.entries(kinds)]),
    choice('Status', 'status', [['', 'Any status'], ['issues', 'Needs attention'], ...Object.keys(tones).map((s) => [s, s])]),
    h('output', { id: 'matching', class: 'muted num' }));
}

export function list(state, open) {
  const all = state.snapshot.resources;
  const shown = all.filter((resource) => matches(resource, state.filter));
  const issues = shown.filter(isIssue);
  const fine = shown.filter((resource) => !isIssue(resource));
  const others = [...new Set(fine.map((resource) => resource.kind))].filter((kind) => !(kind in kinds));
  const groups = [
    group('Needs attention', issues, state, open, 'bad'),
    ...[...Object.keys(kinds), ...others].map((kind) => group(kinds[kind] ?? kind, fine.filter((r) => r.kind === kind), state, open)),
  ].filter(Boolean);
  const element = h('div', { id: 'list' }, groups);
  if (groups.length === 0) {
    element.append(h('p', { class: 'empty' }, all.length === 0
      ? 'Nothing was found of what agents read. “agent why FILE” says why a file isn’t listed.'
      : 'No resource matches the filter.'));
  }
  arrows(element, '.row button');
  return { element, shown: shown.length, all: all.length };
}
