// The official clients from npm: node sdk.mjs MODULES VERSION judge < TOOLS says of each
// tool whether a client takes a list with it; node sdk.mjs MODULES VERSION ask COMMAND…
// lists the tools of a server, calls those of the server "odd", and prints both.
import { text } from 'node:stream/consumers';

const [modules, version, what, ...command] = process.argv.slice(2);
const at = (path) => import(`${modules}/@modelcontextprotocol/${path}`);
const [{ Client }, { StdioClientTransport }] = version === 'sdk'
  ? [await at('sdk/dist/esm/client/index.js'), await at('sdk/dist/esm/client/stdio.js')]
  : [await at('client/dist/index.mjs'), await at('client/dist/stdio.mjs')];

// Fixed answers with a list of one tool, as it came over a wire.
class Fixed {
  constructor(tool) { this.tool = tool; }
  async start() {}
  async close() {}
  async send({ id, method }) {
    if (id === undefined) return;
    const result = method === 'initialize'
      ? { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'fixed', version: '1' } }
      : JSON.parse(`{"tools":[${this.tool}]}`);
    queueMicrotask(() => this.onmessage({ jsonrpc: '2.0', id, result }));
  }
}

const client = () => new Client({ name: 'test', version: '1' });
const tried = (f) => f().then(() => '', (e) => String(e?.message ?? e).slice(0, 300));

async function judge() {
  const verdicts = [];
  for (const tool of JSON.parse(await text(process.stdin))) {
    const c = client();
    await c.connect(new Fixed(tool));
    verdicts.push(await tried(() => c.listTools()));
    await c.close();
  }
  return verdicts;
}

async function ask() {
  const c = client();
  await c.connect(new StdioClientTransport({ command: command[0], args: command.slice(1), env: process.env }));
  const tools = {}, calls = {};
  let cursor;
  do {
    const page = await c.listTools(cursor ? { cursor } : {});
    for (const tool of page.tools) tools[tool.name] = tool.inputSchema;
    cursor = page.nextCursor;
  } while (cursor);
  for (const name of Object.keys(tools).filter((n) => n.startsWith('odd__result'))) {
    calls[name] = await tried(() => c.callTool({ name, arguments: {} }));
  }
  await c.close();
  return { tools, calls };
}

console.log(JSON.stringify(await (what === 'judge' ? judge() : ask())));
process.exit(0);
