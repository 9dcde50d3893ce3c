// The hub's API. Every call is to the page's own origin; the cookie goes with
// it by itself.

export class Refused extends Error {
  constructor(status, body) {
    super(body.detail ? `${body.message}: ${body.detail}` : body.message);
    this.status = status;
    // A proxy's words don't help; the hub's own say what is away.
    this.away = [0, 502, 503, 504].includes(status) && (/database/.test(body.message) ? 'The hub’s database does not answer' : 'The hub does not answer');
  }
}

async function ask(method, path, body) {
  let response;
  try {
    response = await fetch('/api/v0' + path, {
      method,
      headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Refused(0, { message: 'The hub does not answer' });
  }
  if (response.ok) return response;
  const text = await response.text();
  let error;
  try {
    error = JSON.parse(text);
  } catch {
    error = { message: `the hub answers ${response.status}` }; // a proxy's words, perhaps
  }
  throw new Refused(response.status, error);
}

const json = async (path) => (await ask('GET', path)).json();
const part = encodeURIComponent;

// nextIn is where the next page of a list begins; empty after the last.
function nextIn(response) {
  const link = response.headers.get('Link')?.match(/<([^>]*)>;\s*rel="next"/)?.[1];
  return link ? new URL(link, location.href).searchParams.get('after') : '';
}

// agents reads a page of agents: which, how many there are in all, where the next page
// begins, and where the events go on.
export async function agents(params) {
  const response = await ask('GET', `/agents?${params}`);
  const list = await response.json();
  return {
    agents: list,
    total: Number(response.headers.get('X-Total-Count') ?? list.length),
    events: response.headers.get('X-Events-After') ?? '0',
    next: nextIn(response),
  };
}

export const search = (text) => json(`/search?q=${part(text)}&limit=20`);
export const agent = (id) => json(`/agents/${part(id)}`);
export const context = (id) => json(`/agents/${part(id)}/context`);
export const client = (id, name) => json(`/agents/${part(id)}/clients/${part(name)}`);
export const coverage = (id) => json(`/agents/${part(id)}/coverage`);
export const history = (id) => json(`/agents/${part(id)}/history?limit=100`);
export const diff = (id, from, to) => json(`/agents/${part(id)}/diff?from=${from}&to=${to}`);
export const markdown = async (id, revision = 0) => (await ask('GET', `/agents/${part(id)}/context?format=markdown&revision=${revision}`)).text();
export const resource = async (id, resourceID, revision) =>
  (await ask('GET', `/agents/${part(id)}/context/resources/${part(resourceID)}?revision=${revision}`)).arrayBuffer();

export const pins = (agentID) => json(`/pins?agent_id=${part(agentID)}`);
export const pinDiff = (id) => json(`/pins/${part(id)}/diff`);
export const createPin = async (agentID, name) => (await ask('POST', '/pins', { agent_id: agentID, name })).json();
export const refreshPin = async (id) => (await ask('POST', `/pins/${part(id)}/refresh`)).json();
export const deletePin = (id) => ask('DELETE', `/pins/${part(id)}`);

// What operators do.
export const createEnrollment = (key) => ask('POST', '/enrollments', key);
export const renameAgent = (id, name) => ask('PATCH', `/agents/${part(id)}`, { name });
export const labelAgent = (id, change) => ask('PATCH', `/agents/${part(id)}/labels`, change);
export const removeAgent = (id) => ask('DELETE', `/agents/${part(id)}`);
export const tokens = () => json('/tokens');
export const createToken = (token) => ask('POST', '/tokens', token);
export const revokeToken = (id) => ask('DELETE', `/tokens/${part(id)}`);
export const addApproval = async (signed) => (await ask('POST', '/approvals', { signed })).json();
export async function audit(limit, after) {
  const response = await ask('GET', `/audit?limit=${limit}${after && `&after=${part(after)}`}`);
  return { acts: await response.json(), next: nextIn(response) };
}
