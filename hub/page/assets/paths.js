// Paths of a workspace: below its root, and cut in the middle where there is no room.

import { h } from './dom.js';
import { inline, printable } from './text.js';

export const base = (path) => path.slice(path.lastIndexOf('/', path.length - 2) + 1);
export const directory = (path) => path.slice(0, path.lastIndexOf('/', path.length - 2) + 1);

// rootOf is the directory that an agent looks at. One that doesn't say so, of an
// older version, has the directory that all its files share.
export function rootOf(agent, snapshot) {
  if (agent?.root) return agent.root;
  let shared;
  for (const r of snapshot?.resources ?? []) {
    if (r.scope === 'user' || !r.source.startsWith('/')) continue;
    const parts = directory(r.source).split('/').slice(0, -1);
    const hidden = parts.findIndex((part) => part.startsWith('.'));
    const mine = hidden < 0 ? parts : parts.slice(0, hidden);
    if (!shared) {
      shared = mine;
      continue;
    }
    const differs = shared.findIndex((part, i) => part !== mine[i]);
    if (differs >= 0) shared = shared.slice(0, differs);
  }
  return shared?.length > 2 ? shared.join('/') : ''; // less than two directories say nothing
}

// relative is a path as seen from a root; what is elsewhere stays as it is.
export function relative(path, root) {
  if (!root) return path;
  const prefix = root.endsWith('/') ? root : `${root}/`;
  return path.startsWith(prefix) && path.length > prefix.length ? path.slice(prefix.length) : path === root ? './' : path;
}

// middle shows a path whose end stays in sight when there is no room for all of it.
export function middle(path, full = path) {
  const last = base(path);
  const head = path.slice(0, path.length - last.length);
  return h('span', { class: 'path middle', title: printable(full) },
    head && h('span', { class: 'head' }, inline(head)), h('span', { class: 'tail' }, inline(last)));
}
