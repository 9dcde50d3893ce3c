// What became different from one text to another, line by line: the shortest way that
// Myers' algorithm finds, as a unified diff.

const context = 3; // unchanged lines around what changed
const farthest = 1000; // changed lines; beyond, comparing takes long and shows nothing

// script lists lines with what became of them: ' ', '-' or '+'; null if too many changed.
function script(a, b) {
  const trace = [];
  let reach = new Map([[1, 0]]); // of each diagonal: the farthest line of a
  for (let d = 0; d <= Math.min(a.length + b.length, farthest); d++) {
    const next = new Map();
    for (let k = -d; k <= d; k += 2) {
      let x = k === -d || (k !== d && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1)) ? reach.get(k + 1) : reach.get(k - 1) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      next.set(k, x);
      if (x >= a.length && x - k >= b.length) {
        trace.push(reach);
        return backward(a, b, trace, d);
      }
    }
    trace.push(reach);
    reach = next;
  }
  return null;
}

function backward(a, b, trace, distance) {
  const out = [];
  let x = a.length;
  let y = b.length;
  for (let d = distance; d > 0; d--) {
    const reach = trace[d];
    const k = x - y;
    const down = k === -d || (k !== d && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
    const from = down ? k + 1 : k - 1;
    const beforeX = reach.get(from);
    const beforeY = beforeX - from;
    while (x > beforeX && y > beforeY) { out.push([' ', a[--x]]); y--; }
    if (down) out.push(['+', b[--y]]);
    else out.push(['-', a[--x]]);
  }
  while (x > 0) out.push([' ', a[--x]]);
  return out.reverse();
}

// unifiedDiff compares two texts: '' if they are the same, null if they are too different.
export function unifiedDiff(before, after) {
  if (before === after) return '';
  const a = before.split('\n');
  const b = after.split('\n');
  let same = 0; // at the beginning
  while (same < a.length && same < b.length && a[same] === b[same]) same++;
  let end = 0; // the same at the end
  while (end < a.length - same && end < b.length - same && a.at(-1 - end) === b.at(-1 - end)) end++;
  const changed = script(a.slice(same, a.length - end), b.slice(same, b.length - end));
  if (!changed) return null;
  const keep = (lines) => lines.map((line) => [' ', line]);
  const all = [...keep(a.slice(Math.max(0, same - context), same)), ...changed, ...keep(a.slice(a.length - end, a.length - end + context))];
  const near = all.map(([sign]) => sign !== ' ');
  const shown = all.map((_, i) => near.slice(Math.max(0, i - context), i + context + 1).some(Boolean));
  const out = [];
  let line = Math.max(0, same - context); // of the text before
  all.forEach(([sign, text], i) => {
    if (shown[i]) {
      if (!shown[i - 1]) out.push(`@@ line ${line + 1} @@`);
      out.push(sign + text);
    }
    if (sign !== '+') line++;
  });
  return out.join('\n');
}
