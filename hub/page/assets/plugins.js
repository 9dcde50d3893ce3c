// The resolver modules of an agent and how they are.

import { h } from './dom.js';
import { inline } from './text.js';
import { copyButton } from './copy.js';

const tones = { ready: 'ok', compiling: 'info', failing: 'warn', quarantined: 'bad', rejected: 'bad', needs_approval: 'warn' };

const advice = {
  failing: 'Its last good results stay, marked as stale.',
  quarantined: 'It failed repeatedly and is tried again later; “agent plugins retry” tries now.',
  needs_approval: 'It asks for more than before; “agent plugins approve” lets it.',
};

export const trouble = (plugins) => plugins.filter((plugin) => tones[plugin.state] !== 'ok').length;

export function view(snapshot) {
  const plugins = snapshot.plugins ?? [];
  if (plugins.length === 0) return h('p', { class: 'empty' }, 'This agent tells of no plugins. Agents that speak Coder’s protocol don’t.');
  const order = [...plugins].sort((a, b) => (tones[a.state] === 'ok') - (tones[b.state] === 'ok'));
  return h('ul', { class: 'cards' }, order.map((plugin) => h('li', { class: 'card' },
    h('div', { class: 'line' },
      h('strong', null, inline(plugin.name)), h('span', { class: 'muted num' }, inline(plugin.version)),
      h('span', { class: `state ${tones[plugin.state] ?? 'info'}` }, plugin.state.replaceAll('_', ' '))),
    plugin.error && h('p', { class: 'reason' }, inline(plugin.error)),
    advice[plugin.state] && h('p', { class: 'muted' }, advice[plugin.state]),
    h('dl', { class: 'facts' },
      h('dt', null, 'Resolvers'), h('dd', null, (plugin.resolvers ?? []).flatMap((name, i) => [i > 0 ? ', ' : '', inline(name)])),
      h('dt', null, 'From'), h('dd', { class: 'path' }, plugin.path === 'builtin' ? 'built in' : inline(plugin.path)),
      plugin.digest && [h('dt', null, 'SHA-256'), h('dd', null, h('span', { class: 'mono' }, plugin.digest.slice(0, 12), '…'), ' ', copyButton(plugin.digest, 'Copy', `digest-${plugin.digest}`))]))));
}
