// The YAML block at the head of a Markdown file. Most are a few lines of
// "key: text", which scanFrontMatter reads; it is unsure rather than wrong about
// everything that a YAML library might read otherwise. The rules are those of
// the Go SDK's package frontmatter.
// FrontMatter is what findFrontMatter found: a block, or why there is none.
export class FrontMatter {
  found: bool = false;
  // open says that the block doesn't end in the text: in a head that was cut
  // off more text is needed; in a whole file it is a mistake.
  open: bool = false;
  block: string = ""; // the lines between the delimiters
  rest: string = ""; // what comes after the closing one
}

// findFrontMatter cuts a text. A delimiter is a line that is just ---, with or
// without blanks around it; a byte order mark before the first one is fine.
// complete says that the text is the whole file: in a head, a line counts only
// with its line end.
export function findFrontMatter(text: string, complete: bool): FrontMatter {
  const fm = new FrontMatter();
  const start = text.startsWith("\ufeff") ? 1 : 0;
  let end = lineEnd(text, start);
  if (end < 0 && !complete) {
    fm.open = true;
    return fm;
  }
  if (!isDelimiter(text, start, end)) return fm;
  const body = end < 0 ? text.length : end + 1;
  for (let at = body; at < text.length; at = end + 1) {
    end = lineEnd(text, at);
    if (isDelimiter(text, at, end) && (end >= 0 || complete)) {
      fm.found = true;
      fm.block = text.substring(body, at);
      fm.rest = end < 0 ? "" : text.substring(end + 1);
      return fm;
    }
    if (end < 0) break;
  }
  fm.open = true;
  return fm;
}

function lineEnd(text: string, from: i32): i32 {
  return text.indexOf("\n", from);
}

function isDelimiter(text: string, from: i32, end: i32): bool {
  if (end < 0) end = text.length;
  if (end > from && text.charCodeAt(end - 1) == 0x0d) end--;
  while (from < end && isBlank(text.charCodeAt(from))) from++;
  while (end > from && isBlank(text.charCodeAt(end - 1))) end--;
  return end - from == 3 && text.startsWith("---", from);
}

function isBlank(c: i32): bool {
  return c == 0x20 || c == 0x09;
}

// FieldType says what a value certainly is.
export enum FieldType {
  Other, // a number, a boolean, a date or, after all, a text
  String,
  Null,
}

export class Field {
  constructor(public key: string, public value: string, public type: FieldType) {}
}

// Fields are the lines of a block, or sure is false.
export class Fields {
  sure: bool = true;
  list: Field[] = [];

  get(key: string): Field | null {
    for (let i = 0; i < this.list.length; i++) {
      if (this.list[i].key == key) return this.list[i];
    }
    return null;
  }

  // text returns the value of a key that certainly is a text, else "".
  text(key: string): string {
    const f = this.get(key);
    return f === null || f.type != FieldType.String ? "" : f.value;
  }
}

const MAX_KEY: i32 = 128;
const MAX_FIELDS: i32 = 64;

// scanFrontMatter reads a block whose lines are all "key: text", with plain or
// simply quoted text, or blank, at most 64 of them.
export function scanFrontMatter(block: string): Fields {
  const fields = new Fields();
  const lines = block.split("\n");
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i].endsWith("\r") ? lines[i].substring(0, lines[i].length - 1) : lines[i];
    if (trimSpaces(line).length == 0) continue;
    const f = scanLine(line);
    if (f === null || fields.list.length == MAX_FIELDS || fields.get(f.key) !== null) {
      fields.sure = false;
      fields.list = [];
      return fields;
    }
    fields.list.push(f);
  }
  return fields;
}

function scanLine(line: string): Field | null {
  const n = keyLength(line);
  if (n == 0 || n > MAX_KEY || n == line.length || line.charCodeAt(n) != 0x3a || !isPrintable(line)) return null;
  const key = line.substring(0, n);
  if (isSpecial(key)) return null; // the key isn't a string
  if (n + 1 < line.length && line.charCodeAt(n + 1) != 0x20) return null; // "key:text" is one scalar
  return scanText(key, trimSpaces(line.substring(n + 1)));
}

function keyLength(line: string): i32 {
  for (let i = 0; i < line.length; i++) {
    const c = line.charCodeAt(i);
    if ((c >= 0x61 && c <= 0x7a) || (c >= 0x41 && c <= 0x5a) || c == 0x5f) continue;
    if (i > 0 && ((c >= 0x30 && c <= 0x39) || c == 0x2d)) continue;
    return i;
  }
  return line.length;
}

function scanText(key: string, s: string): Field | null {
  if (s.length == 0) return new Field(key, "", FieldType.Null);
  const first = s.charAt(0);
  if (first == '"' || first == "'") {
    if (s.length < 2 || !s.endsWith(first)) return null;
    const inner = s.substring(1, s.length - 1);
    if (inner.includes(first) || (first == '"' && inner.includes("\\"))) return null;
    return new Field(key, inner, FieldType.String);
  }
  if ("-?:,[]{}#&*!|>%@`".includes(first)) return null;
  if (s.includes(": ") || s.includes(" #") || s.endsWith(":")) return null;
  return new Field(key, s, plainType(s));
}

function plainType(s: string): FieldType {
  if (s == "~" || s == "null" || s == "Null" || s == "NULL") return FieldType.Null;
  if ("0123456789+.~<=".includes(s.charAt(0)) || isSpecial(s)) return FieldType.Other;
  return FieldType.String;
}

function isSpecial(s: string): bool {
  if (s.length > 5) return false;
  let lower = ""; // toLowerCase would bring the tables of all languages along
  for (let i = 0; i < s.length; i++) lower += String.fromCharCode(s.charCodeAt(i) | 0x20);
  const words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
  return words.includes(lower);
}

function trimSpaces(s: string): string {
  let from = 0;
  let to = s.length;
  while (from < to && s.charCodeAt(from) == 0x20) from++;
  while (to > from && s.charCodeAt(to - 1) == 0x20) to--;
  return s.substring(from, to);
}

// isPrintable is also false for U+FFFD, which may stand for bytes that aren't
// UTF-8.
function isPrintable(s: string): bool {
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff || c >= 0xfffd) return false;
  }
  return true;
}
