// What the official client of MCP gets of a server: node relay.mjs MODULES VERSION stdio
// COMMAND… for one that it starts, node relay.mjs MODULES VERSION http URL READER CAPABILITY
// for a pin of a hub. VERSION is sdk, which speaks 2025-11-25, or client, which speaks
// 2026-07-28 and has only what differs by that: what a server asks and logs.
const [modules, version, kind, ...rest] = process.argv.slice(2);
const at = (path) => import(`${modules}/@modelcontextprotocol/${version}/dist/${path}`);
const parts = version === 'sdk'
  ? [await at('esm/client/index.js'), await at('esm/client/stdio.js'), await at('esm/client/streamableHttp.js'), await at('esm/types.js')]
  : [await at('index.mjs'), await at('stdio.mjs')];
const { Client, StdioClientTransport, StreamableHTTPClientTransport, ...types } = Object.assign({}, ...parts);

const transport = kind === 'stdio'
  ? new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env })
  : new StreamableHTTPClientTransport(new URL(rest[0]), { requestInit: { headers: { Authorization: `Bearer ${rest[1]}`, 'Waymark-Capability': rest[2] } } });
const c = new Client({ name: 'test', version: '1' }, {
  capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
  ...(version === 'client' && { versionNegotiation: { mode: { pin: '2026-07-28' } } }),
});
// What the server asks is answered, and noted.
const asked = [];
let logged = 0;
const answers = {
  'elicitation/create': [types.ElicitRequestSchema, (p) => p.mode === 'url' ? { action: 'decline' } : { action: 'accept', content: { name: 'Alice', check: true } }],
  'sampling/createMessage': [types.CreateMessageRequestSchema, () => ({ model: 'm', role: 'assistant', content: { type: 'text', text: 'sampled' } })],
  'roots/list': [types.ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///of/the/caller', name: 'caller' }] })],
};
for (const [method, [schema, answer]] of Object.entries(answers)) {
  c.setRequestHandler(version === 'sdk' ? schema : method, async ({ params }) => {
    asked.push({ method, params: { ...params, _meta: undefined } });
    return answer(params ?? {});
  });
}
c.setNotificationHandler(version === 'sdk' ? types.LoggingMessageNotificationSchema : 'notifications/message', () => { logged++; });
await c.connect(transport);

const seen = {};
const tried = async (name, f) => {
  try { seen[name] = await f(); } catch (e) { seen[name] = { error: String(e?.message ?? e).slice(0, 400) }; }
};
const all = async (f, member) => {
  const list = [];
  let cursor;
  do {
    const page = await f(cursor ? { cursor } : {});
    list.push(...page[member]);
    cursor = page.nextCursor;
  } while (cursor);
  return list;
};
// Ours are beside those of the server.
const prefix = 'mcp.everything+';
const ofServer = (list, key) => kind === 'stdio' && rest[0] === 'node' ? list : list.filter((x) => x[key].startsWith(prefix) || x[key].startsWith('everything__'));
const byName = (list, key) => ofServer(list, key).sort((a, b) => (a[key] < b[key] ? -1 : 1));

const caps = c.getServerCapabilities();
if (version === 'sdk') seen.capabilities = ['resources', 'prompts', 'completions', 'tools', 'logging'].filter((n) => caps[n]).concat(caps.resources?.subscribe ? ['resources.subscribe'] : []);
let resources = [], templates = [], prompts = [], tools = [];
if (version === 'sdk') await tried('resources', async () => (resources = byName(await all((p) => c.listResources(p), 'resources'), 'uri')));
if (version === 'sdk') await tried('templates', async () => (templates = byName(await all((p) => c.listResourceTemplates(p), 'resourceTemplates'), 'uriTemplate')));
if (version === 'sdk') await tried('prompts', async () => (prompts = byName(await all((p) => c.listPrompts(p), 'prompts'), 'name')));
if (version === 'client') tools = byName(await all((p) => c.listTools(p), 'tools'), 'name');
else await tried('tools', async () => (tools = byName(await all((p) => c.listTools(p), 'tools'), 'name')).map((t) => t.name));
for (const r of resources) await tried(`read ${r.uri}`, () => c.readResource({ uri: r.uri }));
for (const t of templates) {
  const uri = t.uriTemplate.replace(/\{[^}]+\}/g, '1');
  await tried(`read ${uri}`, async () => JSON.parse(JSON.stringify(await c.readResource({ uri })).replace(/\d+:\d+:\d+[^"]*/g, 'TIME')));
  await tried(`complete ${t.uriTemplate}`, () => c.complete({ ref: { type: 'ref/resource', uri: t.uriTemplate }, argument: { name: t.uriTemplate.match(/\{([^}]+)\}/)[1], value: '1' } }));
}
if (version === 'sdk') await tried('read what is not there', () => c.readResource({ uri: `${kind === 'stdio' && rest[0] === 'node' ? '' : prefix}demo://none` }));
for (const p of prompts) {
  const args = Object.fromEntries((p.arguments ?? []).map((a) => [a.name, { resourceType: 'Text', resourceId: '1', department: 'Engineering', name: 'Alice' }[a.name] ?? 'Paris']));
  await tried(`prompt ${p.name}`, async () => JSON.parse(JSON.stringify(await c.getPrompt({ name: p.name, arguments: args })).replace(/\d+:\d+:\d+[^"]*/g, 'TIME')));
  for (const a of p.arguments ?? []) {
    await tried(`complete ${p.name} ${a.name}`, () => c.complete({ ref: { type: 'ref/prompt', name: p.name }, argument: { name: a.name, value: 'E' } }));
  }
}
const call = async (name, args, options) => {
  const tool = tools.find((t) => t.name === name || t.name === `everything__${name}`);
  if (!tool) return 'no such tool';
  const call = { name: tool.name, arguments: args, ...(version === 'client' && { _meta: { 'io.modelcontextprotocol/logLevel': 'debug' } }) };
  return version === 'sdk' ? c.callTool(call, undefined, options) : c.callTool(call, options);
};
const asking = async (name, args) => {
  asked.length = 0;
  const { content } = await call(name, args);
  // The whole text has the time, or ids.
  return { asked: [...asked], answer: content.map((part) => part.text?.split('\n')[0].replace(/\b[0-9a-f-]{36}\b/g, 'ID')) };
};
await tried('asks by a form', () => asking('trigger-elicitation-request', {}));
await tried('asks by an address', () => asking('trigger-url-elicitation', { url: 'https://example.com/sign-in', message: 'Sign in.', elicitationId: 'e1' }));
await tried('asks a model', () => asking('trigger-sampling-request', { prompt: 'Hello', maxTokens: 9 }));
await tried('asks for roots', async () => (await call('get-roots-list', {})).content[0].text.includes('file:///of/the/caller'));
await tried('logs', async () => {
  if (version === 'sdk') await c.setLoggingLevel('debug').catch(() => {});
  logged = 0;
  await call('toggle-simulated-logging', {}); // it logs when this is switched on, and the server may be that of another session, too
  await call('toggle-simulated-logging', {});
  return logged > 0;
});
if (version === 'sdk') await tried('links', () => call('get-resource-links', { count: 2 }));
if (version === 'sdk') await tried('reference', async () => JSON.parse(JSON.stringify(await call('get-resource-reference', { resourceType: 'Text', resourceId: 1 })).replace(/\d+:\d+:\d+[^"]*/g, 'TIME')));
let steps = 0;
await tried('progress', async () => { await call('trigger-long-running-operation', { duration: 0.4, steps: 4 }, { onprogress: () => { steps++; } }); return steps > 0; });
await c.close();

// Without what only says the default, what each hop says of itself, and the time in a blob.
const says = (k, v) => !['resultType', 'ttlMs', 'cacheScope'].includes(k) && !(['hasMore', 'required'].includes(k) && v === false) && !(k === 'total' && v === 0) && !(k === 'mode' && v === 'form');
const plain = (v) => JSON.parse(JSON.stringify(v).replaceAll(prefix, '').replaceAll('everything__', '').replaceAll('[The MCP server everything asks this.] ', ''), (k, v) => {
  if (k === 'blob') return Buffer.from(v, 'base64').toString().replace(/\d+:\d+:\d+.*/, 'TIME');
  return says(k, v) ? v : undefined;
});
console.log(JSON.stringify(plain(seen)));
process.exit(0);
