// The resources of an agent: first what is wrong, equal problems together, then all
// by kind.

import { h, arrows } from './dom.js';
import { inline, count } from './text.js';
import { base, directory, middle, relative } from './paths.js';
import * as problems from './problems.js';

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
const words = (r) => `${r.name} ${r.source} ${r.description} ${r.error} ${r.resolver} ${(r.findings ?? []).map((f) => `${f.code} ${f.message}`).join(' ')}`.toLowerCase();

export function matches(resource, filter) {
  const status = { '': true, issues: isIssue(resource), findings: resource.findings?.length > 0 }[filter.status] ?? resource.status === filter.status;
  return (!filter.kind || resource.kind === filter.kind) && status &&
    (!filter.reader || (resource.readers ?? []).includes(filter.reader)) &&
    (!filter.text || words(resource).includes(filter.text.toLowerCase()));
}

// title is what a resource is called: its name, or that of its file.
export function title(resource) {
  return resource.name || base(resource.source) || resource.source;
}

// where is the path of a resource, without its last part where that is the title.
function where(resource, root) {
  const path = relative(resource.source, root);
  return middle(base(path) === title(resource) ? directory(path) || './' : path, resource.source);
}

// row shows a resource; why tells what is wrong with it.
function row(resource, view, why) {
  const found = resource.findings?.length ?? 0;
  return h('li', { class: view.fresh.has(resource.id) ? 'row fresh' : 'row' },
    h('button', { type: 'button', 'data-key': `${view.prefix}${resource.id}`, onclick: () => view.open(resource) },
      h('span', { class: 'what' },
        why && h('span', { class: `state ${why.tone}` }, inline(why.word)),
        h('span', { class: 'name' }, inline(title(resource))),
        !why && found > 0 && !view.bare && h('span', { class: `state ${problems.severity(resource.findings[0])}` }, count(found, 'finding')),
        resource.description && !why && h('span', { class: 'description' }, inline(resource.description))),
      where(resource, view.root),
      why && h('span', { class: `reason ${why.tone}` }, inline(why.text))));
}

// problem shows several resources with the same problem, folded up.
function problem(group, view, unfolded) {
  if (group.resources.length === 1) return row(group.resources[0], view, group);
  const details = h('details', { open: unfolded.has(group.key) },
    h('summary', { 'data-key': `group-${group.key}` },
      h('span', { class: 'what' }, h('span', { class: `state ${group.tone}` }, inline(group.word)),
        h('span', { class: 'name' }, group.place ? middle(group.place) : 'in the root'), h('span', { class: 'badge' }, String(group.resources.length))),
      h('span', { class: `reason ${group.tone}` }, inline(group.text))),
    h('ul', { class: 'rows' }, group.resources.map((r) => row(r, { ...view, bare: true }))));
  details.addEventListener('toggle', () => (details.open ? unfolded.add(group.key) : unfolded.delete(group.key)));
  return h('li', { class: 'problem' }, details);
}

function section(name, n, items, tone) {
  if (n === 0) return null;
  const id = `group-${name.replaceAll(' ', '-')}`;
  return h('section', { class: 'group', 'aria-labelledby': id },
    h('h3', { id }, name, h('span', { class: `badge ${tone ?? ''}` }, String(n))),
    h('ul', { class: 'rows' }, items));
}

// toolbar is made once for an agent, so that typing in it isn't disturbed.
export function toolbar(state, changed) {
  const choice = (name, key, options) => h('label', { class: 'choice' }, h('span', { class: 'hidden' }, name),
    h('select', { 'data-key': `filter-${key}`, onchange: (event) => { state.filter[key] = event.target.value; changed(); } },
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
  const readers = [...new Set(state.snapshot.resources.flatMap((r) => r.readers ?? []))].sort();
  return h('div', { class: 'toolbar', role: 'search' }, search,
    choice('Kind', 'kind', [['', 'All kinds'], ...Object.entries(kinds)]),
    choice('Status', 'status', [['', 'Any status'], ['issues', 'Needs attention'], ['findings', 'With findings'], ...Object.keys(tones).map((s) => [s, s])]),
    readers.length > 0 && choice('Reader', 'reader', [['', 'Any reader'], ...readers.map((id) => [id, `Read by ${id}`])]),
    h('output', { id: 'matching', class: 'muted num' }));
}

export function list(state, root, open) {
  const all = state.snapshot.resources;
  const shown = all.filter((resource) => matches(resource, state.filter));
  const view = { root, open, fresh: state.fresh, prefix: 'r-' };
  const issues = problems.issues(shown, root);
  const findings = problems.findings(shown, root);
  const fine = shown.filter((resource) => !isIssue(resource));
  const others = [...new Set(fine.map((resource) => resource.kind))].filter((kind) => !(kind in kinds));
  const groups = [
    section('Needs attention', shown.length - fine.length, issues.map((g) => problem(g, view, state.openGroups)), 'bad'),
    section('Findings', findings.reduce((n, g) => n + g.resources.length, 0), findings.map((g) => problem(g, { ...view, prefix: 'f-' }, state.openGroups)), 'warn'),
    ...[...Object.keys(kinds), ...others].map((kind) => {
      const mine = fine.filter((r) => r.kind === kind);
      return section(kinds[kind] ?? kind, mine.length, mine.map((r) => row(r, view)));
    }),
  ].filter(Boolean);
  const element = h('div', { id: 'list' }, groups);
  if (groups.length === 0) {
    element.append(h('p', { class: 'empty' }, all.length === 0
      ? 'Nothing was found of what agents read. “agent why FILE” says why a file isn’t listed.'
      : 'No resource matches the filter.'));
  }
  arrows(element, '.row button, summary');
  return { element, shown: shown.length, all: all.length };
}
