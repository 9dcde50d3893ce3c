// What the page knows, and how it says that something went wrong.

import { $, h, show } from './dom.js';

export const tabKeys = ['resources', 'servers', 'pins', 'history', 'plugins', 'clients', 'prompt'];

export const state = {
  agents: new Map(), // by id
  pins: [],
  selected: '', // an agent's id
  tab: 'resources',
  snapshot: null, // of the selected agent; null when it has none
  history: null,
  markdown: null,
  filter: { text: '', kind: '', status: '' },
  fresh: new Set(), // ids of resources that have just changed
  openPins: new Set(), // ids of pins whose changes are shown
  openServers: new Set(), // ids of MCP servers whose tools are shown
};

export function complain(error) {
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
