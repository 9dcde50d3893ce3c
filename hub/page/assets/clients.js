// What coding agents would see in the workspace of an agent: what they begin with, and
// what is cut or left out. The agent is asked when somebody looks.

import { h, show } from './dom.js';
import { inline, count, size, clockTime } from './text.js';
import * as api from './api.js';

// What is offered until an agent has said which ones it knows.
const first = 'codex';

let shown = null; // what is asked of the agent that is looked at, and the element with it

// view returns the same element for as long as the agent does, since it is asked for with
// every event.
export function view(agentID) {
  if (shown?.agentID !== agentID) {
    shown = { agentID, client: shown?.client ?? first, known: [{ client: first, name: 'Codex' }], element: h('div', { class: 'clients' }) };
    ask(shown);
  }
  return shown.element;
}

async function ask(one) {
  const { client } = one;
  Object.assign(one, { asking: true, error: null });
  render(one);
  try {
    const answer = await api.client(one.agentID, client);
    if (one.client !== client) return; // another one is asked for by now
    Object.assign(one, { answer, at: new Date(), known: answer.known });
  } catch (error) {
    if (one.client !== client) return;
    Object.assign(one, { answer: null, error });
  }
  one.asking = false;
  render(one);
}

function toolbar(one) {
  const choice = h('select', { id: 'client', 'data-key': 'client', onchange: (event) => {
    Object.assign(one, { client: event.target.value, answer: null });
    ask(one);
  } }, one.known.map((k) => h('option', { value: k.client, selected: k.client === one.client }, inline(k.name))));
  return h('div', { class: 'toolbar' },
    h('label', { class: 'choice' }, 'Coding agent ', choice),
    h('button', { type: 'button', 'data-key': 'look-again', disabled: one.asking, onclick: () => ask(one) }, 'Look again'),
    h('span', { class: 'muted', role: 'status' }, one.asking ? 'The agent is looking…' : one.answer && ['as of ', clockTime(one.at)]));
}

function budget(b) {
  const fact = (name, value) => [h('dt', null, name), h('dd', { class: 'num' }, value)];
  return h('dl', { class: 'facts' },
    fact('Instructions', b.instruction_bytes > 0 ? `${b.used_bytes} of ${b.instruction_bytes} bytes` : size(b.used_bytes)),
    b.skill_tokens > 0 && fact('List of skills', `about ${b.used_tokens} of ${b.skill_tokens} tokens, with ${count(b.builtin_skills, 'skill')} of its own`),
    b.shortened_skills > 0 && fact('Shortened', count(b.shortened_skills, 'description')),
    b.dropped_skills > 0 && fact('Without room', count(b.dropped_skills, 'skill')));
}

function row(item, root) {
  const [tone, word] = !item.included ? ['away', 'left out'] : item.reason ? ['warn', 'in part'] : ['ok', 'seen'];
  const inside = item.path.startsWith(root + '/');
  return h('li', { class: 'card' },
    h('div', { class: 'line' },
      item.name && h('strong', null, inline(item.name)),
      h('span', { class: 'path', title: item.path }, inline(inside ? item.path.slice(root.length + 1) : item.path)),
      h('span', { class: `state ${tone}` }, word)),
    h('p', { class: 'muted num' }, `${item.kind.replaceAll('_', ' ')}, ${size(item.bytes)}`,
      item.included && `, about ${count(item.tokens, 'token')}`, item.cut_bytes > 0 && `, ${size(item.cut_bytes)} cut off`),
    (item.detail || item.reason) && h('p', { class: item.included ? 'reason warn' : 'muted' }, inline(item.detail || item.reason.replaceAll('_', ' '))));
}

function list(one) {
  const a = one.answer;
  const seen = a.items.filter((item) => item.included);
  const not = a.items.filter((item) => !item.included);
  const part = (title, items) => items.length > 0 && h('section', { class: 'group' }, h('h3', null, title), h('ol', { class: 'cards' }, items.map((item) => row(item, a.root))));
  return [
    h('p', { class: 'muted' }, inline(`${a.name} ${a.version}, started in ${a.root}. `),
      inline(`Its rules are judged by: ${a.judged}.`)),
    budget(a.budget),
    a.items.length === 0 && a.withheld === 0 && h('p', { class: 'empty' }, 'Nothing in this workspace is for it.'),
    part(`It begins with ${count(seen.length, 'item')}`, seen),
    part(`It leaves out ${count(not.length, 'item')}`, not),
    a.withheld > 0 && h('p', { class: 'notice' }, `${count(a.withheld, 'more item')} of which this hub isn’t told: the agent doesn’t push them here. “agent context” on its machine shows all.`),
    a.left_off > 0 && h('p', { class: 'notice' }, `${count(a.left_off, 'more item')}: the answer has no room for them. “agent context” on its machine shows all.`)];
}

function render(one) {
  show(one.element, toolbar(one),
    one.error && h('p', { class: 'empty' }, one.error.message),
    one.answer && list(one));
}
