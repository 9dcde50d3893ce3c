// What happened since the page was opened, the newest first.

import { $, h } from './dom.js';
import { inline, clockTime } from './text.js';
import { href } from './agents.js';

const longest = 60;

// put adds an entry: parts are strings, or elements.
export function put(tone, agent, name, ...parts) {
  const feed = $('feed');
  feed.querySelector('.empty')?.remove();
  feed.prepend(h('li', { class: tone },
    clockTime(new Date()),
    h('span', null, h('a', { href: href(agent) }, inline(name)), ' ', parts)));
  while (feed.children.length > longest) feed.lastElementChild.remove();
}

export function setUp() {
  $('feed').append(h('li', { class: 'empty' }, 'Nothing has changed since this page was opened.'));
}

// fileOf is what a resource's id is about, short enough for a list.
export function fileOf(id) {
  const path = id.slice(id.indexOf(':') + 1);
  return path.slice(path.lastIndexOf('/') + 1) || path;
}

// changed tells which resources a push changed.
export function changed(event) {
  const list = event.changed ?? [];
  const shown = list.slice(0, 3);
  const more = list.length - shown.length + (event.more ?? 0);
  if (list.length === 0) return ['pushed version ', String(event.version), event.discovery?.phase === 'pending' ? ', more is to come' : ''];
  const parts = shown.flatMap((id, i) => [i > 0 ? ', ' : '', h('span', { class: 'file', title: id }, inline(fileOf(id)))]);
  return ['changed ', ...parts, more > 0 ? ` and ${more} more` : ''];
}
