// The tabs of an agent, as the ARIA practices have them: one stop for the tab
// key, arrows between them.

import { h } from './dom.js';

// tabs makes the list. Each of items is { key, label, badge, tone }.
export function tabs(items, current, choose) {
  const list = h('div', { role: 'tablist', 'aria-label': 'About this agent', class: 'tabs' });
  for (const item of items) {
    const selected = item.key === current;
    list.append(h('button', {
      role: 'tab', id: `tab-${item.key}`, 'data-key': `tab-${item.key}`, 'aria-controls': 'panel',
      'aria-selected': String(selected), tabindex: selected ? 0 : -1, type: 'button',
      onclick: () => choose(item.key),
    }, item.label, item.badge != null && item.badge !== '' && h('span', { class: `badge ${item.tone ?? ''}` }, String(item.badge))));
  }
  list.addEventListener('keydown', (event) => {
    const at = items.findIndex((item) => item.key === current);
    const to = {
      ArrowRight: (at + 1) % items.length, ArrowLeft: (at + items.length - 1) % items.length,
      Home: 0, End: items.length - 1,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(items[to].key);
  });
  return list;
}
