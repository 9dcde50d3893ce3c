// Texts: files are bytes, strings are UTF-16, and sizes in the ABI count bytes
// of UTF-8.

const REPLACEMENT: i32 = 0xfffd;

// decodeUTF8 makes a string of bytes that may be anything: each byte that isn't
// part of valid UTF-8 becomes U+FFFD.
export function decodeUTF8(data: Uint8Array): string {
  const units = new StaticArray<u16>(data.length); // one byte never makes more than one
  let n = 0;
  for (let i = 0; i < data.length; ) {
    const size = sequence(data, i);
    if (size == 0) {
      units[n++] = <u16>REPLACEMENT;
      i++;
      continue;
    }
    let r = <i32>data[i];
    if (size > 1) r &= 0x7f >> size;
    for (let k = 1; k < size; k++) r = (r << 6) | (data[i + k] & 0x3f);
    i += size;
    if (r < 0x10000) {
      units[n++] = <u16>r;
    } else {
      r -= 0x10000;
      units[n++] = <u16>(0xd800 | (r >> 10));
      units[n++] = <u16>(0xdc00 | (r & 0x3ff));
    }
  }
  return String.UTF16.decodeUnsafe(changetype<usize>(units), n << 1);
}

// sequence returns the length of the character at i, 0 for what is none.
function sequence(data: Uint8Array, i: i32): i32 {
  const c = data[i];
  if (c < 0x80) return 1;
  const size = c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
  if (size == 0 || i + size > data.length) return 0;
  for (let k = 1; k < size; k++) if ((data[i + k] & 0xc0) != 0x80) return 0;
  const second = data[i + 1];
  if (c == 0xe0 && second < 0xa0) return 0; // longer than it need be
  if (c == 0xed && second >= 0xa0) return 0; // half of a pair
  if (c == 0xf0 && second < 0x90) return 0;
  if (c == 0xf4 && second >= 0x90) return 0; // beyond the last character
  return size;
}

// encodeUTF8 makes bytes of a string; a lone surrogate becomes U+FFFD.
export function encodeUTF8(s: string): Uint8Array {
  return Uint8Array.wrap(String.UTF8.encode(s, false, String.UTF8.ErrorMode.REPLACE));
}

// utf8Length is the number of bytes that encodeUTF8 makes.
export function utf8Length(s: string): i32 {
  let n = 0;
  for (let i = 0; i < s.length; i++) {
    n += unitLength(s, i);
  }
  return n;
}

// unitLength is what one unit adds: a pair counts with its first half.
function unitLength(s: string, i: i32): i32 {
  const c = s.charCodeAt(i);
  if (c < 0x80) return 1;
  if (c < 0x800) return 2;
  if (isLow(c) && i > 0 && isHigh(s.charCodeAt(i - 1))) return 0;
  return isHigh(c) && i + 1 < s.length && isLow(s.charCodeAt(i + 1)) ? 4 : 3;
}

export function isHigh(c: i32): bool {
  return c >= 0xd800 && c < 0xdc00;
}

export function isLow(c: i32): bool {
  return c >= 0xdc00 && c < 0xe000;
}

// truncate cuts s to at most n bytes of UTF-8 at the border of a character, and
// puts an ellipsis at the end when it did. The host drops rows that exceed
// MAX_NAME and the like.
export function truncate(s: string, n: i32): string {
  if (utf8Length(s) <= n) return s;
  if (n < 3) return "";
  let size = 0;
  let i = 0;
  for (; i < s.length; i++) {
    const more = unitLength(s, i);
    if (size + more > n - 3) break;
    size += more;
  }
  if (i > 0 && i < s.length && isHigh(s.charCodeAt(i - 1)) && isLow(s.charCodeAt(i))) i++; // the pair is counted
  return s.substring(0, i) + "…";
}

// firstLine returns the first line that isn't empty, without heading marks and
// control characters, at most 200 characters of it: a description for a file
// that has none.
export function firstLine(text: string): string {
  const lines = text.split("\n");
  for (let i = 0; i < lines.length; i++) {
    const line = printable(lines[i]);
    let at = 0;
    while (at < line.length && line.charCodeAt(at) == 0x23) at++;
    const rest = line.substring(at).trim();
    if (rest.length > 200) return rest.substring(0, isLow(rest.charCodeAt(200)) ? 199 : 200).trimEnd() + "…";
    if (rest.length > 0) return rest;
  }
  return "";
}

function printable(s: string): string {
  let out = "";
  let start = 0;
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == REPLACEMENT || c == 0xfeff) {
      out += s.substring(start, i) + " ";
      start = i + 1;
    }
  }
  return (out + s.substring(start)).trim();
}
