// A resource's facts and its content, in a dialog.

import { $, h, show, steady } from './dom.js';
import { inline, lineOf, size, hasInvisible } from './text.js';
import { copyButton } from './copy.js';
import { middle, relative } from './paths.js';
import * as api from './api.js';
import { unified } from './diff.js';
import { unifiedDiff } from './linediff.js';
import { severity } from './problems.js';
import { kinds, tones, reason, isIssue, title } from './resources.js';

// Beyond so many lines each would cost more than it helps.
const numbered = 5000;

const decode = (bytes) => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);

// difference is what the newest revision made of a resource's text.
async function difference(text, agentID, resource, revision) {
  const empty = (...words) => h('p', { class: 'empty' }, words);
  try {
    const before = (await api.history(agentID)).find((change) => change.revision < revision);
    if (!before) return empty('Nothing older is kept to compare this with.');
    const diff = unifiedDiff(decode(await api.resource(agentID, resource.id, before.revision)), text);
    if (diff === null) return empty('Too much is different to show it line by line.');
    if (diff === '') return empty(`The same as in revision ${before.revision}.`);
    return [h('p', { class: 'muted lead' }, `What revision ${revision} made of revision ${before.revision}.`), unified(diff)];
  } catch (error) {
    if (error.status === 404) return empty('The revision before had no such text.');
    return empty(error instanceof TypeError ? 'The revision before had no text.' : error.message);
  }
}

function content(bytes, agentID, resource, revision) {
  let text;
  try {
    text = decode(bytes);
  } catch {
    return h('p', { class: 'empty' }, `Not text: ${size(bytes.byteLength)} that are not UTF-8.`);
  }
  if (text === '') return h('p', { class: 'empty' }, 'The file is empty.');
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  if (lines.at(-1) === '') lines.pop();
  const warning = hasInvisible(text) && h('p', { class: 'notice warn' },
    'This text holds characters that can’t be seen or that change the order of others. They are shown as ', h('span', { class: 'invisible' }, 'U+…'), '.');
  const whole = lines.length > numbered
    ? h('pre', { class: 'text' }, lines.flatMap((line) => [lineOf(line), '\n']))
    : h('pre', { class: 'text numbered' }, lines.map((line) => h('span', { class: 'l' }, lineOf(line), '\n')));
  whole.tabIndex = 0;
  whole.setAttribute('role', 'group');
  whole.setAttribute('aria-label', 'Content');
  const body = h('div', null, whole);
  const compare = h('button', { type: 'button', 'data-key': 'viewer-compare', 'aria-pressed': 'false', onclick: async () => {
    const on = compare.getAttribute('aria-pressed') === 'false';
    compare.setAttribute('aria-pressed', String(on));
    const says = on ? await difference(text, agentID, resource, revision) : whole;
    if (on === (compare.getAttribute('aria-pressed') === 'true')) show(body, says);
  } }, 'Since last revision');
  return [warning, h('div', { class: 'actions' }, copyButton(text, 'Copy content'), compare), body];
}

function facts(resource, root) {
  const fact = (name, value, properties) => value && [h('dt', null, name), h('dd', properties, value)];
  const attributes = Object.entries(resource.attributes ?? {}).map(([key, value]) =>
    fact(inline(key), (Array.isArray(value) ? value : [value]).flatMap((v, i) => [i > 0 ? ', ' : '', inline(v)])));
  return h('dl', { class: 'facts' },
    fact('Kind', kinds[resource.kind] ?? inline(resource.kind)),
    fact('Source', [middle(relative(resource.source, root), resource.source), ' ', copyButton(resource.source, 'Copy path')], { class: 'source' }),
    resource.source_path && fact('Through', middle(relative(resource.source_path, root), resource.source_path)),
    resource.description && fact('Description', inline(resource.description)),
    fact('Size', size(resource.size_bytes), { class: 'num' }),
    fact('Found by', inline(resource.resolver || '–')),
    resource.content_hash && fact('SHA-256', h('span', { class: 'mono' }, resource.content_hash)),
    attributes,
    resource.readers?.length > 0 && fact('Read by', resource.readers.flatMap((reader, i) => [i > 0 ? ', ' : '', inline(reader)])),
    resource.scope && fact('Scope', inline(resource.scope)),
    resource.convention && fact('Convention', inline(resource.convention)));
}

// What there is to know about a resource that is there all the same.
function findings(resource) {
  if (!resource.findings?.length) return null;
  return h('ul', { class: 'findings' }, resource.findings.map((finding) =>
    h('li', null, h('span', { class: `state ${severity(finding)}` }, inline(finding.severity)), ' ', inline(finding.message))));
}

// What the dialog shows: the resource's id, and its hash, to know whether it
// changed meanwhile.
let shown = null;

async function fill(agentID, resource, revision) {
  const body = $('viewer').querySelector('.content');
  if (resource.kind === 'mcp_config') {
    body.replaceChildren(h('p', { class: 'empty' }, 'The content of MCP configurations stays in the workspace: they may hold tokens.'));
    return;
  }
  if (resource.status !== 'ok') {
    body.replaceChildren(h('p', { class: 'empty' }, 'Its content was not pushed.'));
    return;
  }
  const mine = shown;
  try {
    const bytes = await api.resource(agentID, resource.id, revision);
    if (shown === mine) body.replaceChildren(...[content(bytes, agentID, resource, revision)].flat().filter(Boolean));
  } catch (error) {
    const text = error.status === 404 ? 'It has no content.' : error.message;
    if (shown === mine) body.replaceChildren(h('p', { class: 'empty' }, text));
  }
}

export function open(agentID, resource, revision, root) {
  shown = { root, id: resource.id, hash: resource.content_hash, status: resource.status };
  const dialog = $('viewer');
  dialog.replaceChildren(
    h('header', null,
      h('h2', { id: 'viewer-title' }, inline(title(resource))),
      isIssue(resource) && h('span', { class: `state ${tones[resource.status] ?? 'info'}` }, resource.stale ? `${resource.status}, stale` : resource.status),
      h('button', { type: 'button', class: 'quiet', 'aria-label': 'Close', onclick: () => dialog.close() }, 'Close')),
    h('div', { class: 'scroll' },
      isIssue(resource) && h('p', { class: 'notice bad' }, inline(reason(resource))),
      findings(resource),
      facts(resource, root),
      h('div', { class: 'content', 'aria-live': 'polite' }, h('p', { class: 'empty' }, 'Loading'))));
  if (!dialog.open) dialog.showModal();
  return fill(agentID, resource, revision);
}

// update shows the resource anew when the snapshot has another one.
export const update = steady((agentID, snapshot) => {
  const dialog = $('viewer');
  if (!dialog.open || !shown) return;
  const now = snapshot.resources.find((resource) => resource.id === shown.id);
  if (!now) {
    dialog.querySelector('.content').replaceChildren(h('p', { class: 'notice warn' }, 'This resource is gone: the agent’s newest snapshot does not have it.'));
    shown = { ...shown, hash: '', status: 'gone' };
  } else if (now.content_hash !== shown.hash || now.status !== shown.status) {
    open(agentID, now, snapshot.revision, shown.root);
  }
});

export function close() {
  $('viewer').close();
}
