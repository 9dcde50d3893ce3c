// What the page knows, and how it says that something went wrong.

import { $, h, show } from './dom.js';
import { read } from './query.js';
import { clockTime } from './text.js';

export const state = {
  agents: new Map(), // by id: those of the overview and the chosen one
  query: read(), // which agents the overview shows
  fleet: {
    ids: [], // of the agents that are shown, in order
    total: null, // how many there are in all; null until that is known
    next: '', // where the next page begins
    counts: null, // of all agents, by state, and of those that need attention
    waiting: null, // what will be shown when nobody points at the list
    hits: null, // the API's answer to a search of resources
  },
  pins: [], // of the chosen agent
  selected: '', // an agent's id; empty: the overview is shown, or
  operators: false, // what operators did
  tab: 'resources',
  snapshot: null, // of the selected agent; null when it has none
  history: null,
  markdown: null,
  before: null, // the text of the revision before, where it is compared
  compare: false, // whether it is
  filter: { text: '', kind: '', status: '', reader: '' },
  fresh: new Set(), // ids of resources that have just changed
  openGroups: new Set(), // keys of groups of problems that are unfolded
  openPins: new Set(), // ids of pins whose changes are shown
  openServers: new Set(), // ids of MCP servers whose tools are shown
  openDetails: false, // whether the chosen agent's details are shown
};

// The hub or its database is away since then; null while it answers.
let awaySince = null;

export const isAway = () => awaySince !== null;

// away says that the hub, or its database, doesn't answer, and since when.
export function away(says) {
  awaySince ??= new Date();
  show($('notice'), h('p', { class: 'notice bad' }, says, ' since ', clockTime(awaySince), '. What is shown is what was known then; the page goes on by itself.'));
}

export function complain(error) {
  if (error?.away) {
    away(error.away);
    return;
  }
  awaySince = null;
  if (error?.status === 401) {
    show($('notice'), h('p', { class: 'notice bad' }, 'You are signed out. ', h('a', { href: '/login' }, 'How to sign in')));
    return;
  }
  show($('notice'), error && h('p', { class: 'notice bad' }, error.message));
}

// attempt runs something that asks the hub, and reports whether it worked.
export async function attempt(action) {
  try {
    await action();
    complain(null);
    return true;
  } catch (error) {
    complain(error);
    return false;
  }
}
