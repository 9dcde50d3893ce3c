// Making text of what comes from workspaces, which nobody trusts: it may hold
// characters that can't be seen, or that change the order of others.

import { h } from './dom.js';

// What has no shape of its own, or changes that of others. Line feeds and tabs
// are left alone in blocks.
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}]/u;
const runs = /(?:[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}])+/gu;
const pictograph = /\p{Extended_Pictographic}$/u;

const names = {
  0x00ad: 'soft hyphen', 0x061c: 'Arabic letter mark', 0x200b: 'zero width space', 0x200c: 'zero width non-joiner',
  0x200d: 'zero width joiner', 0x200e: 'left-to-right mark', 0x200f: 'right-to-left mark', 0x2028: 'line separator',
  0x202a: 'left-to-right embedding', 0x202b: 'right-to-left embedding', 0x202c: 'pop directional formatting',
  0x202d: 'left-to-right override', 0x202e: 'right-to-left override', 0x2060: 'word joiner',
  0x2066: 'left-to-right isolate', 0x2067: 'right-to-left isolate', 0x2068: 'first strong isolate',
  0x2069: 'pop directional isolate', 0xfeff: 'byte order mark', 0x09: 'tab', 0x0a: 'line feed', 0x0d: 'carriage return',
};

const codeOf = (point) => 'U+' + point.toString(16).toUpperCase().padStart(4, '0');

function marker(label, title) {
  return h('span', { class: 'invisible', title }, label);
}

const isTag = (point) => point >= 0xe0020 && point <= 0xe007e;

// markers shows a run of invisible characters: equal ones with their number,
// and the text that tag characters spell.
function markers(run) {
  const points = Array.from(run, (c) => c.codePointAt(0));
  const list = [];
  for (let i = 0; i < points.length;) {
    let end = i + 1;
    if (isTag(points[i])) {
      while (end < points.length && isTag(points[end])) end++;
      const spelled = points.slice(i, end).map((p) => String.fromCharCode(p - 0xe0000)).join('');
      list.push(marker(`tags “${spelled}”`, `${end - i} invisible tag characters, which spell “${spelled}”`));
    } else {
      while (end < points.length && points[end] === points[i]) end++;
      const times = end - i > 1 ? ` ×${end - i}` : '';
      list.push(marker(codeOf(points[i]) + times, `${names[points[i]] ?? 'invisible character'}, ${codeOf(points[i])}`));
    }
    i = end;
  }
  return list;
}

// pieces cuts text into strings and markers.
function pieces(text, plain) {
  if (!invisible.test(text)) return [text];
  const out = [];
  let done = 0;
  const put = (end) => { if (end > done) out.push(text.slice(done, end)); };
  for (const match of text.matchAll(runs)) {
    const run = match[0];
    const end = match.index + run.length;
    // Within an emoji these do what they are made for.
    const emoji = /^[\u200d\ufe0f]+$/.test(run) && pictograph.test(text.slice(Math.max(0, match.index - 2), match.index));
    if (emoji || plain?.test(run)) continue;
    put(match.index);
    out.push(...markers(run));
    done = end;
  }
  put(text.length);
  return out;
}

// inline shows text on one line, apart from its neighbours' direction.
export function inline(text) {
  return h('bdi', null, pieces(String(text ?? '')));
}

// lineOf shows one line of a block of text, to whose tabs nothing happens.
export function lineOf(text) {
  return pieces(text, /^\t+$/);
}

// has reports whether there is anything invisible in the text.
export const hasInvisible = (text) => invisible.test(text.replaceAll(/[\n\t]|\r\n/g, ''));

// printable is text for where only strings go, such as titles.
export const printable = (text) => text.replaceAll(runs, (run) => Array.from(run, (c) => codeOf(c.codePointAt(0))).join(' '));

export function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

const numbers = new Intl.NumberFormat('en');

export const number = (n) => numbers.format(n);

export function count(n, what) {
  return `${number(n)} ${what}${n === 1 ? '' : 's'}`;
}

const units = [['day', 86400], ['h', 3600], ['min', 60]];

// span is a time in its largest unit, empty if it is less than a minute.
function span(seconds) {
  for (const [name, length] of units) {
    if (seconds >= length) {
      const n = Math.floor(seconds / length);
      return name === 'day' ? count(n, 'day') : `${n} ${name}`;
    }
  }
  return '';
}

function distance(time, since) {
  const text = span((Date.now() - Date.parse(time)) / 1000);
  if (since) return text;
  return text ? `${text} ago` : 'just now';
}

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

function moment(time, since) {
  const element = h('time', { datetime: time, title: exact.format(new Date(time)), 'data-since': since });
  element.textContent = distance(time, since);
  return element;
}

// when shows a time by its distance from now, and since how long something has been
// so; refreshTimes keeps both right.
export const when = (time) => moment(time, false);
export const since = (time) => moment(time, true);

export function refreshTimes() {
  for (const element of document.querySelectorAll('time[datetime]:not([data-clock])')) {
    element.textContent = distance(element.dateTime, element.dataset.since !== undefined);
  }
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric' });

// clockTime shows the time of day, or the day if it is another one.
export function clockTime(date) {
  const today = date.toDateString() === new Date().toDateString();
  return h('time', { datetime: date.toISOString(), title: exact.format(date), 'data-clock': '' }, (today ? clock : day).format(date));
}
