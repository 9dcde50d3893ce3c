// What is recognised in a workspace and not used, at the end of its resources. The agent
// is asked when somebody unfolds it, and each time anew.

import { h, show } from './dom.js';
import { inline, count, clockTime } from './text.js';
import { command } from './copy.js';
import { middle, relative } from './paths.js';
import * as api from './api.js';

let shown = null; // what is asked of the agent that is looked at, and the element with it

// view returns the same element for as long as the agent does, since it is asked for with
// every event. An agent that isn't connected can't be asked.
export function view(agent, root) {
  if (shown?.agentID !== agent.id) shown = make(agent.id);
  shown.root = root;
  return agent.connected && shown.element;
}

function make(agentID) {
  const one = { agentID, body: h('div', { class: 'body' }) };
  one.element = h('details', { class: 'details coverage' },
    h('summary', { 'data-key': 'coverage' }, 'Recognised and not used'), one.body);
  one.element.addEventListener('toggle', () => { if (one.element.open) ask(one); });
  return one;
}

async function ask(one) {
  if (one.asking) return;
  one.asking = true;
  show(one.body, h('p', { class: 'muted', role: 'status' }, 'The agent is looking…'));
  try {
    show(one.body, list(await api.coverage(one.agentID), one.root));
  } catch (error) {
    show(one.body, h('p', { class: 'empty' }, error.message));
  }
  one.asking = false;
}

function list(answer, root) {
  return [
    h('p', { class: 'muted', role: 'status' }, 'as of ', clockTime(new Date())),
    answer.groups.length === 0 && h('p', { class: 'empty' }, 'All files of agents that lie here are used.'),
    answer.groups.length > 0 && h('ul', { class: 'cards' }, answer.groups.map((g) => group(g, root))),
    answer.partial && h('p', { class: 'notice' }, 'There may be more: not all was looked at.'),
    answer.groups.length > 0 && [h('p', { class: 'muted' }, 'All of them, where the agent runs:'), command('agent why --all')]];
}

// group is the files of one reason, folded up; those of which the hub is told how many
// they are have nothing to unfold.
function group(g, root) {
  if (g.files.length === 0) {
    return h('li', { class: 'card' }, inline(g.text), g.withheld > 0 && h('p', { class: 'muted' }, 'Which ones, an agent tells a hub on its own machine only.'));
  }
  return h('li', { class: 'card' }, h('details', null,
    h('summary', { 'data-key': `coverage-${g.reason}` }, inline(g.text)),
    h('ul', { class: 'body' }, g.files.map((f) => h('li', null,
      middle(relative(f.path, root), f.path),
      h('span', { class: 'muted' }, inline([f.as, f.readers.length > 0 && `read by ${f.readers.join(', ')}`].filter(Boolean).join(', ')))))),
    g.left_off > 0 && h('p', { class: 'notice' }, `${count(g.left_off, 'more file')}, for which the answer has no room.`)));
}
