// What is wrong with resources: equal problems of one directory are one.

import { base, directory, relative } from './paths.js';
import { isIssue, reason, tones } from './resources.js';

const severities = { info: 'info', warning: 'warn', error: 'bad' };

export const severity = (finding) => severities[finding.severity] ?? 'info';

const escaped = (text) => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');

// alike is a text without what is each resource's own: whole words, the longest first, since one
// may be a part of another.
function alike(text, resource, root) {
  const paths = [resource.source, relative(resource.source, root), base(resource.source)];
  const own = [...paths, ...paths.map((path) => path.replace(/\/$/, '')), resource.name].filter(Boolean).sort((a, b) => b.length - a.length);
  return text.replaceAll(new RegExp(`(?<![\\p{L}\\p{N}_-])(?:${own.map(escaped).join('|')})(?![\\p{L}\\p{N}_-])`, 'gu'), '…');
}

function add(groups, resource, root, problem) {
  const place = directory(relative(resource.source, root));
  const text = alike(problem.text, resource, root);
  const key = JSON.stringify([problem.tone, problem.word, text, place]);
  const group = groups.get(key);
  if (!group) {
    groups.set(key, { key, tone: problem.tone, word: problem.word, text: problem.text, place, resources: [resource] });
  } else if (!group.resources.includes(resource)) {
    if (group.text !== problem.text) group.text = text;
    group.resources.push(resource);
  }
}

const weight = { bad: 0, warn: 1, info: 2 };
const sorted = (groups) => [...groups.values()].sort((a, b) => weight[a.tone] - weight[b.tone] || b.resources.length - a.resources.length);

// issues are groups of resources of which nothing, or something old, was pushed.
export function issues(resources, root) {
  const groups = new Map();
  for (const r of resources.filter(isIssue)) {
    add(groups, r, root, { tone: tones[r.status] === 'ok' ? 'warn' : tones[r.status] ?? 'info', word: r.stale ? (r.status === 'ok' ? 'stale' : `${r.status}, stale`) : r.status, text: reason(r) });
  }
  return sorted(groups);
}

// findings are groups of resources that are there all the same.
export function findings(resources, root) {
  const groups = new Map();
  for (const r of resources) {
    for (const f of r.findings ?? []) add(groups, r, root, { tone: severity(f), word: f.code.replaceAll('-', ' '), text: f.message });
  }
  return sorted(groups);
}
