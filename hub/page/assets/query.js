// Which agents the overview shows, and in what order. It is in the page's address,
// in the words of the API.

export const columns = [
  // The API's name of the order, the head, and whether the first press has the last come first.
  { sort: 'name', label: 'Agent' },
  { sort: 'state', label: 'State' },
  { sort: 'attention', label: 'Needs attention', down: true },
  { sort: 'drifted_pins', label: 'Drifted pins', down: true, number: true },
  { sort: 'last_push_at', label: 'Last push', down: true },
  { sort: 'failing_plugins', label: 'Failing plugins', down: true, number: true },
  { sort: 'agent_version', label: 'Version' },
  { sort: 'labels', label: 'Labels' },
];

// attentions are the API's codes of what needs attention, and their words.
export const attentions = {
  away: 'away', never_connected: 'never connected', not_heard: 'token shared', snapshot_error: 'snapshot incomplete',
  invalid_resources: 'invalid resources', failing_servers: 'failing MCP servers', waiting_servers: 'waiting MCP servers',
  failing_plugins: 'failing plugins', drifted_pins: 'drifted pins',
};

export const states = ['connected', 'away', 'never_connected'];

// labelsIn are the labels in a text: NAME=VALUE, each name once, as the hub has them.
export function labelsIn(text) {
  const name = '[A-Za-z0-9][A-Za-z0-9._/-]{0,62}';
  const valid = new RegExp(`^${name}=(${name})?$`);
  const list = text.split(/[\s,]+/).filter((one) => valid.test(one));
  return list.filter((one, i) => list.findIndex((other) => other.split('=')[0] === one.split('=')[0]) === i);
}

export function read(search = location.search) {
  const p = new URLSearchParams(search);
  return {
    q: p.get('q') ?? '',
    labels: labelsIn(p.getAll('label').join(' ')),
    state: states.includes(p.get('state')) ? p.get('state') : '',
    attention: ['any', ...Object.keys(attentions)].find((code) => code === p.get('attention')) ?? '',
    sort: columns.some((c) => c.sort === p.get('sort')) ? p.get('sort') : 'name',
    down: p.get('order') === 'desc',
  };
}

// params are the query as the API has it, whose own order is that of ids.
export function params(query) {
  const p = new URLSearchParams();
  if (query.q.trim()) p.set('q', query.q.trim());
  for (const label of query.labels) p.append('label', label);
  if (query.state) p.set('state', query.state);
  if (query.attention) p.set('attention', query.attention);
  p.set('sort', query.sort);
  if (query.down) p.set('order', 'desc');
  return p;
}

// address is the page's own, with a query and a place in the page; what is as always is left out.
export function address(query, hash = location.hash) {
  const p = params(query);
  if (query.sort === 'name' && !query.down) p.delete('sort');
  const search = p.toString();
  return location.pathname + (search && `?${search}`) + hash;
}

export const filtered = (query) => Boolean(query.q.trim() || query.labels.length > 0 || query.state || query.attention);
