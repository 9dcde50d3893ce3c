// What happened, the newest first: what the hub remembers, and then what comes.

import { $, h, show } from './dom.js';
import { inline, clockTime, printable } from './text.js';
import { base } from './paths.js';
import { counts } from './diff.js';
import { href, label } from './fleet.js';
import { isAway, state } from './state.js';

const longest = 60;

let lived = []; // since the page was opened
let remembered = []; // of the chosen agent, or of all

// An entry is { at, id, agent, tone, parts }; the same id is the same push.

const pushId = (agentID, revision) => `${agentID} ${revision}`;

function item(entry) {
  return h('li', { class: entry.tone, 'data-live': lived.includes(entry) },
    clockTime(entry.at),
    h('span', null, entry.agent && entry.agent.id !== state.selected && [h('a', { href: href(entry.agent) }, inline(label(entry.agent))), ' '], entry.parts()));
}

function draw() {
  const mine = lived.filter((entry) => !state.selected || entry.agent?.id === state.selected);
  const known = new Set(mine.map((entry) => entry.id));
  const list = [...mine, ...remembered.filter((entry) => !known.has(entry.id))].sort((a, b) => b.at - a.at).slice(0, longest);
  const box = $('feed').parentElement; // who reads on below keeps the place
  const below = box.scrollTop > 0 && box.scrollHeight - box.scrollTop;
  show($('feed'), list.length > 0 ? list.map(item) : h('li', { class: 'empty' }, isAway() ? 'Not known while the hub does not answer.' : 'Nothing has happened yet.'));
  if (below) box.scrollTop = box.scrollHeight - below;
}

function live(entry) {
  lived = [entry, ...lived].slice(0, longest);
  ask();
}

let asked = false;

function ask() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    draw();
  });
}

// put adds an entry: parts are strings, or make elements.
export function put(tone, agent, ...parts) {
  live({ at: new Date(), tone, agent, parts: () => parts.map((part) => (typeof part === 'function' ? part() : part)) });
}

// pushed adds a push that has just come.
export function pushed(event, agent) {
  live({ at: new Date(event.at), id: pushId(event.agent_id, event.revision), tone: '', agent, parts: () => changed(event) });
}

// Where many come and go at once, as when a hub is started anew, that is one entry.
const few = 5;
let moved = [];

export function presence(agent) {
  if (moved.length === 0) {
    setTimeout(() => {
      for (const connected of [true, false]) {
        const list = moved.filter((one) => one.connected === connected);
        const [tone, word] = connected ? ['ok', 'connected'] : ['away', 'went away'];
        if (list.length > few) put(tone, null, `${list.length} agents ${word}`);
        else for (const one of list) put(tone, one, word);
      }
      moved = [];
    }, 200);
  }
  moved.push(agent);
}

// rememberHistory fills in what an agent has pushed before, rememberFleet which agents
// have pushed last.
export function rememberHistory(agent, changes) {
  remembered = changes.map((change, i) => ({
    at: new Date(change.at), id: pushId(agent.id, change.revision), tone: '', agent,
    parts: () => ['revision ', String(change.revision), ' ', i < changes.length - 1 || change.added + change.changed + change.removed > 0 ? counts(change) : 'pushed'],
  }));
  ask();
}

export function rememberFleet(agents) {
  remembered = agents.filter((agent) => agent.last_push_at).map((agent) => ({
    at: new Date(agent.last_push_at), id: pushId(agent.id, agent.revision), tone: '', agent, parts: () => ['pushed version ', String(agent.version)],
  }));
  ask();
}

export function forget() {
  remembered = [];
  ask();
}

// fileOf is what a resource's id is about, short enough for a list.
export function fileOf(id) {
  return base(id.slice(id.indexOf(':') + 1)) || id;
}

// changed tells which resources a push changed.
function changed(event) {
  const list = event.changed ?? [];
  const shown = list.slice(0, 3);
  const more = list.length - shown.length + (event.more ?? 0);
  if (list.length === 0) return ['pushed version ', String(event.version), event.discovery?.phase === 'pending' ? ', more is to come' : ''];
  const parts = shown.flatMap((id, i) => [i > 0 ? ', ' : '', h('span', { class: 'file', title: printable(id) }, inline(fileOf(id)))]);
  return ['changed ', ...parts, more > 0 ? ` and ${more} more` : ''];
}
