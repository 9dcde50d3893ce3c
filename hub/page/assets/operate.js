// What operators do: agents are added, named, labeled and removed, tokens made and revoked,
// and what was done is shown. Readers see none of it but how an agent is added.

import { $, h, show, announce, sureButton } from './dom.js';
import { inline, when } from './text.js';
import { command, copyButton, insecure, onDatabase } from './copy.js';
import * as api from './api.js';
import { attempt, state } from './state.js';

export const isOperator = document.documentElement.dataset.operator === 'yes';

// A secret is made here, and the hub gets its hash. For that a browser has to trust the page's
// origin: it must have TLS, or be on this machine.
const makesSecrets = isOperator && Boolean(globalThis.crypto?.subtle);

const base64url = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

// random is a text of letters, whose number is a power of two.
const random = (letters, length) => Array.from(crypto.getRandomValues(new Uint8Array(length)), (n) => letters[n % letters.length]).join('');

async function hashOf(text) {
  const sum = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(sum), (n) => n.toString(16).padStart(2, '0')).join('');
}

const field = (id, label, properties) => [h('label', { for: id }, label), h('input', { id, 'data-key': id, autocomplete: 'off', spellcheck: 'false', ...properties })];

// form is fields with a button, whose action gets the fields' texts.
function form(fields, label, action) {
  return h('form', {
    class: 'form', onsubmit: (event) => {
      event.preventDefault();
      action(Object.fromEntries([...event.target.elements].filter((one) => one.id).map((one) => [one.id, one.value.trim()])), event.target);
    },
  }, fields, h('button', { class: 'primary' }, label));
}

const codeLife = 10 * 60_000; // ms

// steps are those by which an agent is added. Where there are none yet they are all that is shown.
export function steps() {
  const code = h('div', { class: 'steps' });
  const rest = (text) => [
    h('p', null, 'In the workspace, enroll its agent with that code, and start it:'),
    command(`agent enroll ${location.origin} --root . --code ${text}${insecure}`),
    command('agent run'),
    h('p', { class: 'muted' }, 'It is listed here as soon as it connects.'),
  ];
  const make = async ({ 'add-name': name }) => {
    await attempt(async () => {
      const text = random(crockford, 13);
      const expires = new Date(Date.now() + codeLife);
      await api.createEnrollment({ key_sha256: await hashOf(text), name, max_uses: 1, expires_at: expires.toISOString() });
      const shown = `${text.slice(0, 4)}-${text.slice(4, 8)}-${text.slice(8)}`;
      show(code, h('p', null, 'The code ', h('strong', { class: 'mono' }, shown), ' works once, and for ten minutes.'), rest(shown));
      announce('The code is made.');
    });
  };
  if (makesSecrets) {
    show(code, form(field('add-name', 'What the code is for (not needed)', { maxlength: 100 }), 'Make a code', make));
  } else {
    show(code, h('p', null, 'Make a code for one, where the hub runs. It works once, and for ten minutes:'), command(onDatabase('hub enroll code')), rest('CODE'));
  }
  return code;
}

const tokenState = (token) => token.revoked_at ? ['away', 'revoked ', when(token.revoked_at)]
  : token.expires_at && Date.parse(token.expires_at) <= Date.now() ? ['away', 'expired']
    : ['ok', 'valid', token.expires_at && [' until ', when(token.expires_at)]];

function tokenCard(token, reload) {
  const [tone, ...words] = tokenState(token);
  return h('li', { class: 'card' },
    h('div', { class: 'line' }, h('strong', null, inline(token.name || token.id)), token.role !== 'agent' && h('span', { class: 'muted' }, token.role), h('span', { class: `state ${tone}` }, words)),
    h('p', { class: 'muted' }, 'Made ', when(token.created_at), token.last_used_at ? [', used ', when(token.last_used_at)] : ', never used',
      (token.scope || token.scope_labels) && ', for some agents'),
    tone === 'ok' && h('div', { class: 'actions' }, sureButton('Revoke', `revoke-${token.id}`, async () => {
      await attempt(() => api.revokeToken(token.id));
      reload();
    })));
}

// tokenList shows the tokens that are wanted, those that are no longer valid last.
function tokenList(wanted, none) {
  const list = h('ul', { class: 'cards' });
  const reload = () => attempt(async () => {
    const tokens = (await api.tokens()).filter(wanted);
    const dead = (token) => tokenState(token)[0] !== 'ok';
    show(list, tokens.length > 0 ? tokens.sort((a, b) => dead(a) - dead(b)).map((token) => tokenCard(token, reload)) : h('li', { class: 'empty' }, none));
  });
  reload();
  return [list, reload];
}

// labelChange is what makes of one text of labels another.
function labelChange(before, text) {
  const set = Object.fromEntries(text.split(/[\s,]+/).filter(Boolean).map((one) => {
    const at = one.indexOf('=');
    return at < 0 ? [one, ''] : [one.slice(0, at), one.slice(at + 1)];
  }));
  return { set, remove: Object.keys(before).filter((name) => !(name in set)) };
}

// manage is the tab in which an agent is named, labeled and removed. It is made once for an
// agent; changed is called when it is another, and gone when it isn't there any more.
export function manage(agent, changed, gone) {
  const labels = Object.entries(agent.labels ?? {}).sort().map(([name, value]) => `${name}=${value}`).join(' ');
  const done = async (action) => {
    if (!await attempt(action)) return;
    announce('Done.');
    changed();
  };
  const [tokens] = tokenList((token) => token.agent_id === agent.id, 'It has no tokens.');
  return h('div', { class: 'manage' },
    form(field('agent-name', 'Name, for people', { maxlength: 128, value: agent.name }), 'Rename', ({ 'agent-name': name }) => done(() => api.renameAgent(agent.id, name))),
    form(field('agent-labels', 'Labels, such as env=prod team=web', { value: labels }), 'Set labels',
      ({ 'agent-labels': text }) => done(() => api.labelAgent(agent.id, labelChange(state.agents.get(agent.id)?.labels ?? {}, text)))),
    h('h3', null, 'Tokens'), tokens,
    h('h3', null, 'Remove'),
    h('p', { class: 'muted' }, 'Its tokens, its snapshot and its history go. Its pins stay, and show that it is gone.'),
    h('div', { class: 'actions' }, sureButton('Remove this agent', 'remove-agent', async () => {
      if (await attempt(() => api.removeAgent(agent.id))) gone();
    })));
}

// approving is for a server that waits: how its definition is signed, and where what is signed
// is brought. The hub has no key, and this page none.
export function approving(server, agentID) {
  const definition = server.resource?.attributes?.definition;
  if (!isOperator || typeof definition !== 'string' || !/^sha256:[0-9a-f]{64}$/.test(definition)) return null;
  const says = h('span', { role: 'status' });
  const file = h('input', { type: 'file', 'aria-label': `Signed approval of ${server.name}`, 'data-key': `approve-${server.id}` });
  file.addEventListener('change', async () => {
    const chosen = file.files[0];
    file.value = '';
    if (!chosen) return;
    await attempt(async () => {
      const bytes = new Uint8Array(await chosen.arrayBuffer());
      const kept = await api.addApproval(btoa(Array.from(bytes, (n) => String.fromCharCode(n)).join('')));
      says.textContent = kept.definition === definition ? 'Brought to its agents.' : 'Brought to its agents; it is for another definition than this one.';
    });
  });
  const word = (text) => (/^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  return h('details', { class: 'approve' }, h('summary', { 'data-key': `approving-${server.id}` }, 'Approve it for agents'),
    h('div', { class: 'body steps' },
      h('p', null, 'Where the key is, sign the definition ', h('span', { class: 'mono' }, definition), ':'),
      command(`hub approvals sign --key approvals.key --definition ${definition} --name ${word(server.name)} --agent ${word(agentID)} --out server.approval`),
      h('p', null, 'Bring what is signed; agents that trust the key let the server run.'),
      h('p', { class: 'line' }, file, says)));
}

const pageSize = 50;

function actRow(act) {
  const subject = act.what.startsWith('agent.') && act.what !== 'agent.removed'
    ? h('a', { href: `#/${encodeURIComponent(act.subject)}` }, inline(act.subject)) : inline(act.subject);
  return h('tr', null,
    h('td', null, when(act.at)), h('td', null, inline(act.by_name || act.by)), h('th', { scope: 'row' }, act.what.replace('.', ' ')),
    h('td', null, subject), h('td', null, inline(act.detail)));
}

// log shows what operators did, the newest first.
function log() {
  const body = h('tbody');
  const more = h('button', { type: 'button', hidden: true, 'data-key': 'more-acts' }, 'Show more');
  let next = '';
  const read = () => attempt(async () => {
    const page = await api.audit(pageSize, next);
    next = page.next;
    body.append(...page.acts.map(actRow));
    more.hidden = !next;
    if (!body.firstChild) body.append(h('tr', null, h('td', { colspan: 5, class: 'muted' }, 'Nothing yet.')));
  });
  more.addEventListener('click', read);
  read();
  return [h('table', { class: 'acts' }, h('caption', { class: 'hidden' }, 'What operators did'),
    h('thead', null, h('tr', null, ['When', 'Who', 'What', 'To', 'Detail'].map((text) => h('th', { scope: 'col' }, text)))), body), more];
}

// view shows the tokens of people and programs, and the log.
export function view() {
  const [tokens, reload] = tokenList((token) => token.role !== 'agent', 'There are none.');
  const made = h('div', { class: 'steps' });
  const role = h('select', { id: 'token-role', 'data-key': 'token-role' }, ['reader', 'operator'].map((value) => h('option', { value }, value)));
  const create = async ({ 'token-name': name, 'token-role': wanted }, element) => {
    const text = { reader: 'wmr_', operator: 'wmo_' }[wanted] + random(base64url, 43);
    await attempt(async () => {
      await api.createToken({ token_sha256: await hashOf(text), role: wanted, name });
      element.reset();
      show(made, h('p', { class: 'notice' }, `The ${wanted}’s token is shown only now. Keep it in a file that only you can read. `, copyButton(text, 'Copy the token')), h('pre', { class: 'text', tabindex: 0, role: 'group', 'aria-label': 'The token' }, text));
      reload();
    });
  };
  show($('operators'), h('h2', { tabindex: -1 }, 'Operators'),
    h('h3', null, 'What operators did'), log(),
    h('h3', null, 'Tokens of readers and operators'), tokens,
    makesSecrets ? form([field('token-name', 'Name', { required: true, maxlength: 100 }), h('label', { for: 'token-role' }, 'Role'), role], 'Make a token', create)
      : command(onDatabase('hub token create --role reader --out reader.token')), made);
}

