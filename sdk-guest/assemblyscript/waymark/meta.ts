// What stands in front matter. parseFrontMatter reads what agents' files hold of
// YAML: maps and lists of lines and in brackets, texts with and without quotes,
// over several lines, | and >, comments; and not anchors, aliases, tags, complex
// keys and several documents. What it reads, a YAML library reads as well. The
// functions are those of the Go SDK's package frontmatter, one by one; the
// reasons stand there.
import { utf8Length } from "./text";

export enum MetaKind {
  Null, // nothing, one of the words for it, or a key that isn't there
  Bool,
  Other, // a number, a date, or a word like yes that only some versions of YAML take for a boolean
  String, // in every version of YAML
  List,
  Map,
}

// Meta is a value of front matter.
export class Meta {
  text: string = ""; // what a String says, what an Other is written as, "true" or "false"
  key: string = ""; // in a map
  items: Meta[] = []; // of a list, and of a map, in the order of the file
  // error, of what parseFrontMatter returns, says which line is wrong, and what
  // is; "" when all is well.
  error: string = "";

  // line is where the value begins, counted as in the file.
  constructor(public kind: MetaKind, public line: i32) {}

  // get returns the value of a key of a map; Null when there is none.
  get(key: string): Meta {
    if (this.kind == MetaKind.Map) {
      for (let i = 0; i < this.items.length; i++) if (this.items[i].key == key) return this.items[i];
    }
    return new Meta(MetaKind.Null, 0);
  }

  // isTrue is false for "true", which is a text.
  get isTrue(): bool {
    return this.kind == MetaKind.Bool && this.text == "true";
  }

  // globs reads patterns as agents do: a list of texts, or one text with commas
  // between them. A comma in braces belongs to its pattern. What is more than
  // 8 KiB, which attributes have room for, is left out.
  globs(): string[] {
    const found: string[] = [];
    let room = MAX_GLOBS;
    if (this.kind == MetaKind.String || this.kind == MetaKind.Other) splitGlobs(this.text, found, room);
    for (let i = 0; this.kind == MetaKind.List && room >= 0 && i < this.items.length; i++) {
      room = splitGlobs(this.items[i].text, found, room);
    }
    return found;
  }
}

const MAX_GLOBS: i32 = 8 << 10;

// inJSON is what a text takes in JSON at most, with its quotes and a comma.
function inJSON(s: string): i32 {
  let n = utf8Length(s) + 3;
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    n += c < 0x20 ? 5 : c == 0x22 || c == 0x5c ? 1 : 0;
  }
  return n;
}

// splitGlobs returns the room that is left; less than 0 when there wasn't enough.
function splitGlobs(text: string, found: string[], room: i32): i32 {
  let start = 0;
  let braces = 0;
  for (let i = 0; i <= text.length; i++) {
    const c = i < text.length ? text.charCodeAt(i) : COMMA;
    if (c == 0x7b) braces++;
    if (c == 0x7d && braces > 0) braces--;
    if (c != COMMA || (braces > 0 && i < text.length)) continue;
    const glob = strip(text.substring(start, i), " \t\n");
    start = i + 1;
    if (glob == "") continue;
    room -= inJSON(glob);
    if (room < 0) return room;
    found.push(glob);
  }
  return room;
}

// parseFrontMatter reads a block that findFrontMatter has found: a map, which is
// empty when there are only blank lines and comments. lenient: what YAML refuses
// and people write all the same, on one line behind a key or a dash, is a text:
// patterns without quotes ("globs: *.ts") and texts with ": " in them.
export function parseFrontMatter(block: string, lenient: bool = false): Meta {
  const p = new Parser(lenient);
  p.cut(block);
  let v = new Meta(MetaKind.Map, FIRST_LINE);
  if (p.error == "" && p.next()) v = p.mapping(p.indents[p.at], 1);
  if (p.error == "" && p.next()) p.fail(p.at, LEVEL);
  if (p.error != "") v = new Meta(MetaKind.Null, 0);
  v.error = p.error;
  return v;
}

// MAX_FRONT_MATTER is how long a block may be, in bytes.
export const MAX_FRONT_MATTER: i32 = 64 << 10;
const MAX_DEPTH: i32 = 32;
const MAX_VALUES: i32 = 2048;
const MAX_KEYS: i32 = 256;
const MAX_KEY: i32 = 128;
const FIRST_LINE: i32 = 2;
const COMMA: i32 = 0x2c;
const TAB = "a tab in the indentation; use blanks";
const LEVEL = "the indentation fits no line above";
const COLON = 'a text with ": " in it needs quotes';
const DEEP = "more than 32 levels";

// Builder makes a text of many: a growing array of strings would be marked by the
// garbage collector again and again.
class Builder {
  private units: StaticArray<u16> = new StaticArray<u16>(64);
  private size: i32 = 0;

  add(s: string): void {
    if (this.size + s.length > this.units.length) {
      const more = new StaticArray<u16>(max(this.size + s.length, 2 * this.units.length));
      memory.copy(changetype<usize>(more), changetype<usize>(this.units), <usize>this.size << 1);
      this.units = more;
    }
    memory.copy(changetype<usize>(this.units) + (<usize>this.size << 1), changetype<usize>(s), <usize>s.length << 1);
    this.size += s.length;
  }

  toString(): string {
    return String.UTF16.decodeUnsafe(changetype<usize>(this.units), <usize>this.size << 1);
  }
}

// Parser goes through the lines of a block. After the first error nothing else
// counts.
class Parser {
  // A line is a part of the block. What is before indent in it doesn't count any
  // more: blanks, and the dash of a list that the rest of the line is an item of.
  source: string = "";
  starts: i32[] = [];
  ends: i32[] = [];
  indents: i32[] = [];
  at: i32 = 0;
  values: i32 = 0; // so far
  private lastAt: i32 = -1; // of the line that text has cut last
  private lastText: string = "";
  error: string = "";
  first: i32 = 0; // where the brackets that are read begin
  column: i32 = 0; // in them, of the next character
  keyEnd: i32 = 0; // of the key that was read last, with its colon
  keyText: string = "";

  constructor(public lenient: bool) {}

  fail(at: i32, reason: string): void {
    if (this.error == "") this.error = "front matter, line " + (at + FIRST_LINE).toString() + ": " + reason;
  }

  // count counts one more value.
  count(): void {
    if (++this.values > MAX_VALUES) this.fail(this.at, "more than 2048 values");
  }

  get lines(): i32 {
    return this.starts.length;
  }

  // text is a line without its end.
  text(at: i32): string {
    if (at != this.lastAt) {
      this.lastAt = at;
      this.lastText = this.source.substring(this.starts[at], this.ends[at]);
    }
    return this.lastText;
  }

  // content is what counts of the next line.
  content(): string {
    return this.text(this.at).substring(this.indents[this.at]);
  }

  cut(block: string): void {
    if (utf8Length(block) > MAX_FRONT_MATTER) {
      this.fail(0, "it has more than 64 KiB");
      return;
    }
    this.source = block;
    for (let start = 0; start < block.length; ) {
      let end = block.indexOf("\n", start);
      if (end < 0) end = block.length;
      const crlf = end > start && block.charCodeAt(end - 1) == 0x0d;
      const at = this.lines;
      this.starts.push(start);
      this.ends.push(crlf ? end - 1 : end);
      start = end + 1;
      const text = this.text(at);
      let indent = 0;
      while (indent < text.length && text.charCodeAt(indent) == 0x20) indent++;
      this.indents.push(indent);
      if (!isPrintable(text)) this.fail(at, "a character that is no text");
      if ((text.startsWith("---") || text.startsWith("...")) && (text.length == 3 || isBlank(text.charCodeAt(3)))) {
        this.fail(at, "a line like this ends YAML; only what is before it would count");
      }
    }
  }

  // next goes to the next line that is neither blank nor a comment.
  next(): bool {
    for (; this.at < this.lines; this.at++) {
      const text = trim(this.content());
      if (text != "" && text.charCodeAt(0) != 0x23) return true;
    }
    return false;
  }

  meta(kind: MetaKind): Meta {
    return new Meta(kind, this.at + FIRST_LINE);
  }

  // ---- Lists and maps ----

  node(parent: i32, depth: i32): Meta {
    const indent = this.indents[this.at];
    const text = this.content();
    if (depth > MAX_DEPTH) {
      this.fail(this.at, DEEP);
      return this.meta(MetaKind.Null);
    }
    if (text.charCodeAt(0) == 0x09) {
      this.fail(this.at, TAB);
      return this.meta(MetaKind.Null);
    }
    if (isItem(text)) return this.list(indent, depth);
    if (this.key(text, false)) return this.mapping(indent, depth);
    return this.scalar(parent, indent, depth);
  }

  mapping(indent: i32, depth: i32): Meta {
    const v = this.meta(MetaKind.Map);
    while (this.error == "" && this.next() && this.indents[this.at] == indent) {
      const text = this.content();
      this.count();
      if (!this.key(text, false)) {
        this.fail(this.at, notKey(text));
        break;
      }
      const key = this.keyText;
      this.checkKey(v, key);
      const value = this.value(indent, indent + this.keyEnd, depth, true);
      value.key = key;
      v.items.push(value);
    }
    this.level(indent);
    return v;
  }

  // level refuses a line that is indented more than what is above it.
  level(indent: i32): void {
    if (this.error == "" && this.next() && this.indents[this.at] > indent) this.fail(this.at, LEVEL);
  }

  checkKey(map: Meta, key: string): void {
    if (utf8Length(key) > MAX_KEY) this.fail(this.at, "a key of more than 128 bytes");
    if (map.items.length == MAX_KEYS) this.fail(this.at, "more than 256 keys");
    for (let i = 0; i < map.items.length; i++) {
      if (map.items[i].key == key) this.fail(this.at, "the key " + key + " stands twice");
    }
  }

  // key sets keyText and keyEnd to the key that a text begins with. A blank
  // follows its colon, except behind quotes in braces, as in JSON.
  key(text: string, braces: bool): bool {
    const c = text.charCodeAt(0);
    const quoted = c == 0x22 || c == 0x27;
    const n = quoted ? closing(text, 1, c) + 1 : plainKey(text);
    if (n == 0 || n >= text.length || text.charCodeAt(n) != 0x3a) return false;
    const key = quoted ? text.substring(1, n - 1) : text.substring(0, n);
    if (quoted && (key.includes(text.charAt(0)) || key.includes("\\"))) return false;
    if (n + 1 < text.length && !isBlank(text.charCodeAt(n + 1)) && !(quoted && braces)) return false;
    if (!quoted && plainKind(key) != MetaKind.String) {
      this.fail(this.at, "the key " + key + " needs quotes: it isn't a text to every version of YAML");
    }
    this.keyText = key;
    this.keyEnd = n + 1;
    return true;
  }

  list(indent: i32, depth: i32): Meta {
    const v = this.meta(MetaKind.List);
    if (depth > MAX_DEPTH) this.fail(this.at, DEEP);
    while (this.error == "" && this.next() && this.indents[this.at] == indent && isItem(this.content())) {
      this.count();
      v.items.push(this.item(indent, depth));
    }
    this.level(indent);
    return v;
  }

  // item reads an item. A map or a list may begin on its line, and goes on below
  // at that column.
  item(indent: i32, depth: i32): Meta {
    const text = this.text(this.at);
    const rest = stripStart(text.substring(indent + 1), " ");
    const c = rest == "" ? 0x23 : rest.charCodeAt(0);
    if (c == 0x09) {
      this.fail(this.at, TAB);
      return this.meta(MetaKind.Null);
    }
    if (c != 0x23 && (this.key(rest, false) || isItem(rest))) {
      this.indents[this.at] = text.length - rest.length;
      return this.node(indent, depth + 1);
    }
    return this.value(indent, indent + 1, depth, false);
  }

  // value reads what stands behind a key or a dash, from a column of the line
  // on, or below it.
  value(indent: i32, column: i32, depth: i32, ofKey: bool): Meta {
    const text = this.text(this.at);
    const rest = stripStart(text.substring(column), " \t");
    if (rest != "" && rest.charCodeAt(0) != 0x23) return this.scalar(indent, text.length - rest.length, depth);
    const nothing = this.meta(MetaKind.Null);
    this.at++;
    if (!this.next()) return nothing;
    const below = this.indents[this.at];
    if (below > indent) return this.node(indent, depth + 1);
    if (ofKey && below == indent && isItem(this.content())) return this.list(indent, depth + 1);
    return nothing;
  }

  // ---- Scalars ----

  scalar(indent: i32, column: i32, depth: i32): Meta {
    const text = this.text(this.at).substring(column);
    const c = text.charAt(0);
    const v = this.meta(MetaKind.String);
    if (c == "|" || c == ">") {
      v.text = this.block(indent, text);
      return v;
    }
    if (c == '"' || c == "'") {
      if (this.lenient && followed(text)) return this.plain(indent, column);
      v.text = this.quoted(indent, column);
      return v;
    }
    if ((c == "[" || c == "{") && !(this.lenient && bracketsInText(text))) return this.flow(column, depth + 1);
    return this.plain(indent, column);
  }

  plain(indent: i32, column: i32): Meta {
    const v = this.meta(MetaKind.String);
    const line = this.text(this.at).substring(column);
    let commented = comment(line) >= 0;
    const text = uncomment(line);
    let strange = this.beginning(text);
    if (!strange && hasColon(text)) {
      strange = true;
      if (!this.lenient) this.fail(this.at, COLON);
    }
    this.at++;
    const out = new Builder();
    out.add(text);
    let blanks = 0;
    for (; !commented && this.at < this.lines; this.at++) {
      const all = trim(this.text(this.at));
      if (all == "") {
        blanks++;
        continue;
      }
      if (this.indents[this.at] <= indent || all.charCodeAt(0) == 0x23) break;
      commented = comment(all) >= 0;
      const more = uncomment(all);
      if (hasColon(more)) {
        this.fail(this.at, "this belongs to the text above, but looks like a key; put the text into quotes");
      }
      out.add(fold(blanks));
      out.add(more);
      blanks = 0;
    }
    setPlain(v, out.toString(), strange);
    return v;
  }

  // beginning refuses the characters that mean something else at the beginning
  // of a text. Lenient, it reports those that are taken as they are.
  beginning(text: string): bool {
    const c = text.charAt(0);
    const second = text.length > 1 ? text.charCodeAt(1) : 0x20;
    if ((c == "-" && !isBlank(second)) || !"-?:,]}#&*!%@`[{\"'|>".includes(c)) return false;
    if (this.lenient && ("%@`[{\"'".includes(c) || (c == "!" && second != 0x21) || (c == "*" && !isAlias(text)))) return true;
    this.fail(this.at, "a text that begins with " + c + " needs quotes");
    return false;
  }

  quoted(indent: i32, column: i32): string {
    const first = this.at;
    let rest = this.text(this.at).substring(column + 1);
    const quote = this.text(this.at).charCodeAt(column);
    const out = new Builder();
    while (true) {
      const end = closing(rest, 0, quote);
      if (end < rest.length) {
        this.unquote(out, rest.substring(0, end), quote);
        if (!ends(rest.substring(end + 1))) this.fail(this.at, "something stands behind the closing quote");
        this.at++;
        return out.toString();
      }
      this.unquote(out, stripEnd(rest), quote);
      let blanks = 0;
      for (this.at++; this.at < this.lines && trim(this.text(this.at)) == ""; this.at++) blanks++;
      if (this.at == this.lines || this.indents[this.at] <= indent) {
        this.fail(first, "the quote isn't closed");
        return "";
      }
      out.add(fold(blanks));
      rest = stripStart(this.text(this.at), " \t");
    }
  }

  // unquote adds what stands between quotes to a text's parts.
  unquote(out: Builder, text: string, quote: i32): void {
    let start = 0;
    for (let i = 0; i < text.length; i++) {
      const c = text.charCodeAt(i);
      if (c == 0x27 && quote == 0x27) {
        i++; // of two
        out.add(text.substring(start, i));
        start = i + 1;
      } else if (c == 0x5c && quote == 0x22) {
        const n = escapeLength(text, i + 1);
        if (n == 0) {
          this.fail(this.at, "an escape that isn't known; in single quotes a backslash is just that");
          return;
        }
        out.add(text.substring(start, i));
        out.add(escaped(text, i + 1, n));
        i += n;
        start = i + 1;
      }
    }
    out.add(text.substring(start));
  }

  block(indent: i32, header: string): string {
    let rest = header.substring(1);
    const chomp = rest.startsWith("+") || rest.startsWith("-") ? rest.charAt(0) : "";
    rest = rest.substring(chomp.length);
    if (!ends(rest)) this.fail(this.at, "behind " + header.charAt(0) + " nothing but + or - is read");
    this.at++;
    const folded = header.startsWith(">");
    const margin = this.margin(indent);
    const out = new Builder();
    let blanks = 0;
    let started = false;
    let above = false;
    for (; this.at < this.lines; this.at++) {
      const line = this.text(this.at);
      const lineIndent = this.indents[this.at];
      if (lineIndent == line.length && (margin == 0 || lineIndent <= margin)) {
        blanks++;
        continue;
      }
      if (margin == 0 || lineIndent < margin) break;
      const text = line.substring(margin);
      const indented = isBlank(text.charCodeAt(0));
      out.add(started && folded && !above && !indented ? fold(blanks) : "\n".repeat(blanks + (started ? 1 : 0)));
      out.add(text);
      started = true;
      above = indented;
      blanks = 0;
    }
    if (started && chomp != "-") out.add("\n");
    if (chomp == "+") out.add("\n".repeat(blanks));
    return out.toString();
  }

  // margin returns the indentation of a text below | or >; 0 when there is none.
  margin(indent: i32): i32 {
    let longest = 0;
    for (let at = this.at; at < this.lines; at++) {
      const own = this.indents[at];
      const text = this.text(at);
      if (own == text.length) {
        longest = max(longest, own);
        continue;
      }
      if (own <= indent) return 0;
      if (own < longest) {
        this.fail(at, "a blank line above is indented more than this");
        return 0;
      }
      if (text.charCodeAt(own) == 0x09) {
        this.fail(at, TAB);
        return 0;
      }
      return own;
    }
    return 0;
  }

  // ---- Brackets ----

  flow(column: i32, depth: i32): Meta {
    this.first = this.at;
    this.column = column;
    const v = this.flowValue(depth);
    if (this.error == "" && !ends(this.rest())) this.fail(this.at, "something stands behind the closing bracket");
    this.at++;
    return v;
  }

  rest(): string {
    return this.text(this.at).substring(this.column);
  }

  // flowNext goes to the next character that is neither blank nor of a comment;
  // 0 after an error.
  flowNext(): i32 {
    while (this.error == "") {
      const line = this.text(this.at);
      while (this.column < line.length && isBlank(line.charCodeAt(this.column))) this.column++;
      if (this.column < line.length) {
        const c = line.charCodeAt(this.column);
        if (c != 0x23 || (this.column > 0 && !isBlank(line.charCodeAt(this.column - 1)))) return c;
      }
      if (this.at + 1 == this.lines) {
        this.fail(this.first, "the bracket isn't closed");
        break;
      }
      this.at++;
      this.column = 0;
    }
    return 0;
  }

  flowValue(depth: i32): Meta {
    if (depth > MAX_DEPTH) this.fail(this.at, DEEP);
    let c = this.flowNext();
    if (c == 0) return this.meta(MetaKind.Null);
    if (c == 0x22 || c == 0x27) return this.flowQuoted(c);
    if (c != 0x5b && c != 0x7b) return this.flowPlain();
    const isList = c == 0x5b;
    const end = isList ? 0x5d : 0x7d;
    const v = this.meta(isList ? MetaKind.List : MetaKind.Map);
    this.column++;
    for (c = this.flowNext(); c != 0 && c != end; c = this.flowNext()) {
      this.count();
      v.items.push(isList ? this.flowValue(depth + 1) : this.flowMember(v, depth));
      c = this.flowNext();
      if (c == COMMA) {
        this.column++;
      } else if (c != end) {
        this.fail(this.at, "a comma or " + (isList ? "]" : "}") + " is missing");
      }
    }
    if (this.error == "") this.column++;
    return v;
  }

  flowMember(map: Meta, depth: i32): Meta {
    const line = this.text(this.at);
    const c0 = line.charCodeAt(this.column);
    const end = c0 == 0x22 || c0 == 0x27 ? closing(line, this.column + 1, c0) + 1 : this.column + plainKey(line, this.column);
    if (!this.key(line.substring(this.column, end + 2), true)) { // not all of the line, which may hold thousands
      this.fail(this.at, 'in braces "key: value" is needed');
      return this.meta(MetaKind.Null);
    }
    const key = this.keyText;
    this.checkKey(map, key);
    this.column += this.keyEnd;
    let v = this.meta(MetaKind.Null);
    const c = this.flowNext();
    if (c != 0 && c != COMMA && c != 0x7d) v = this.flowValue(depth + 1);
    v.key = key;
    return v;
  }

  flowQuoted(quote: i32): Meta {
    const v = this.meta(MetaKind.String);
    const text = this.text(this.at);
    const end = closing(text, this.column + 1, quote);
    if (end >= text.length) {
      this.fail(this.at, "the quote isn't closed on its line");
      return v;
    }
    const out = new Builder();
    this.unquote(out, text.substring(this.column + 1, end), quote);
    v.text = out.toString();
    this.column = end + 1;
    return v;
  }

  flowPlain(): Meta {
    const v = this.meta(MetaKind.String);
    const line = this.text(this.at);
    let end = this.column;
    while (end < line.length && !",[]{}".includes(line.charAt(end))) end++;
    if (end == this.column) {
      this.fail(this.at, "a value is missing");
      return v;
    }
    const text = line.substring(this.column, end);
    const plain = uncomment(text);
    this.column = comment(text) >= 0 ? line.length : end;
    const strange = this.beginning(plain);
    if (hasColon(plain)) this.fail(this.at, COLON);
    setPlain(v, plain, strange);
    return v;
  }
}

function isBlank(c: i32): bool {
  return c == 0x20 || c == 0x09;
}

function stripStart(s: string, what: string): string {
  let from = 0;
  while (from < s.length && what.includes(s.charAt(from))) from++;
  return s.substring(from);
}

function stripEnd(s: string): string {
  let to = s.length;
  while (to > 0 && isBlank(s.charCodeAt(to - 1))) to--;
  return s.substring(0, to);
}

function strip(s: string, what: string): string {
  let to = s.length;
  while (to > 0 && what.includes(s.charAt(to - 1))) to--;
  return stripStart(s.substring(0, to), what);
}

function trim(s: string): string {
  return strip(s, " \t");
}

function isItem(s: string): bool {
  return s.startsWith("-") && (s.length == 1 || isBlank(s.charCodeAt(1)));
}

function isWord(c: i32): bool {
  return (c >= 0x61 && c <= 0x7a) || (c >= 0x41 && c <= 0x5a) || (c >= 0x30 && c <= 0x39) || c == 0x5f;
}

// plainKey returns the length of the key at a place of a text.
function plainKey(s: string, from: i32 = 0): i32 {
  for (let i = from; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (!isWord(c) && c != 0x24 && c != 0x2e && c != 0x2f && (c != 0x2d || i == from)) return i - from;
  }
  return s.length - from;
}

// notKey says what is wrong with a line that should begin with a key.
function notKey(text: string): string {
  const n = plainKey(text);
  if (text.charCodeAt(0) == 0x09) return TAB;
  if (isItem(text)) return "an item of a list where a key should be";
  if (n > 0 && n < text.length && text.charCodeAt(n) == 0x3a) return "a blank is missing behind the colon";
  return 'this is neither "key: value" nor "- item"';
}

function isAlias(s: string): bool {
  for (let i = 1; i < s.length; i++) if (!isWord(s.charCodeAt(i)) && s.charCodeAt(i) != 0x2d) return false;
  return true;
}

// comment returns where a comment begins, or -1.
function comment(s: string): i32 {
  for (let i = 1; i < s.length; i++) if (s.charCodeAt(i) == 0x23 && isBlank(s.charCodeAt(i - 1))) return i;
  return -1;
}

function uncomment(s: string): string {
  const at = comment(s);
  return trim(at < 0 ? s : s.substring(0, at));
}

// hasColon reports whether YAML would take a part of a text for a key.
function hasColon(s: string): bool {
  for (let i = 0; i < s.length; i++) {
    if (s.charCodeAt(i) == 0x3a && (i + 1 == s.length || isBlank(s.charCodeAt(i + 1)))) return true;
  }
  return false;
}

// fold is what stands for the line ends between two lines of a text.
function fold(blanks: i32): string {
  return blanks == 0 ? " " : "\n".repeat(blanks);
}

function setPlain(v: Meta, text: string, strange: bool): void {
  v.kind = strange ? MetaKind.String : plainKind(text);
  v.text = v.kind == MetaKind.Null ? "" : text;
  if (v.kind == MetaKind.Bool) v.text = text.length == 4 ? "true" : "false";
}

const NULLS = ["", "~", "null", "Null", "NULL"];
const BOOLS = ["true", "True", "TRUE", "false", "False", "FALSE"];
const SPECIAL = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

function plainKind(s: string): MetaKind {
  if (NULLS.includes(s)) return MetaKind.Null;
  if (BOOLS.includes(s)) return MetaKind.Bool;
  if (s == "<<" || s == "=" || isSpecial(s)) return MetaKind.Other;
  if (!"0123456789+-.".includes(s.charAt(0))) return MetaKind.String;
  for (let i = 0; i < s.length; i++) {
    if (!"0123456789abcdefABCDEFxXoOtTzZiInN_.:+- ".includes(s.charAt(i))) return MetaKind.String;
  }
  return MetaKind.Other;
}

function isSpecial(s: string): bool {
  if (s.length > 5) return false;
  let lower = ""; // toLowerCase would bring the tables of all languages along
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    lower += String.fromCharCode(c >= 0x41 && c <= 0x5a ? c | 0x20 : c);
  }
  return SPECIAL.includes(lower);
}

// closing returns where the quote is that closes a text, or its length.
function closing(s: string, from: i32, quote: i32): i32 {
  for (let i = from; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c == 0x5c && quote == 0x22) {
      i++;
    } else if (c == quote && quote == 0x27 && i + 1 < s.length && s.charCodeAt(i + 1) == 0x27) {
      i++;
    } else if (c == quote) {
      return i;
    }
  }
  return s.length;
}

// ends reports whether only a comment stands in what is left of a line.
function ends(rest: string): bool {
  const text = trim(rest);
  return text == "" || (text.charCodeAt(0) == 0x23 && isBlank(rest.charCodeAt(0)));
}

// followed reports whether something stands behind the quotes that a text begins
// with.
function followed(text: string): bool {
  const end = closing(text, 1, text.charCodeAt(0)) + 1;
  return end < text.length && !ends(text.substring(end));
}

// bracketsInText reports whether a text goes on behind the bracket that closes
// its first one, as in "[ab]*.ts": it is no list then.
function bracketsInText(text: string): bool {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c == 0x5b || c == 0x7b) depth++;
    if ((c == 0x5d || c == 0x7d) && --depth == 0) return !ends(text.substring(i + 1));
  }
  return false;
}

// escapeLength returns the length of what stands behind a backslash; 0 for what
// isn't read.
function escapeLength(text: string, at: i32): i32 {
  const c = text.charAt(at);
  if (c == "") return 0;
  if ('"\\/ntr'.includes(c)) return 1;
  const digits = c == "x" ? 2 : c == "u" ? 4 : c == "U" ? 8 : 0;
  if (digits == 0 || at + digits >= text.length) return 0;
  const code = hex(text, at + 1, digits);
  return code <= 0 || code == 0xfffd || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : digits + 1;
}

function escaped(text: string, at: i32, n: i32): string {
  const c = text.charAt(at);
  if (n > 1) return String.fromCodePoint(<i32>hex(text, at + 1, n - 1));
  return c == "n" ? "\n" : c == "t" ? "\t" : c == "r" ? "\r" : c;
}

// hex reads digits; -1 when one is none.
function hex(text: string, at: i32, n: i32): i64 {
  let code: i64 = 0;
  for (let i = at; i < at + n; i++) {
    const c = text.charCodeAt(i);
    const lower = c | 0x20;
    const digit = c >= 0x30 && c <= 0x39 ? c - 0x30 : lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : -1;
    if (digit < 0) return -1;
    code = (code << 4) | digit;
  }
  return code;
}

// isPrintable is also false for U+FFFD, which may stand for bytes that aren't
// UTF-8.
function isPrintable(s: string): bool {
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if ((c < 0x20 && c != 0x09) || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff || c >= 0xfffd) return false;
  }
  return true;
}
