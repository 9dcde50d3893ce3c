// What stands in front matter: the host reads it, as it does for all languages that
// have no reader of their own. What is read of YAML stands in abi/ABI.md, "Front matter".
import { bytesOf, blockOf, front_matter } from "./host";
import { Json, parseJSON } from "./json";
import { decodeUTF8, encodeUTF8, utf8Length } from "./text";

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
  const asked = block == "" ? <u64>0 : blockOf(encodeUTF8(block)).offset;
  const said = parseJSON(decodeUTF8(bytesOf(front_matter(asked, lenient ? 1 : 0)))).value;
  const error = said.get("error");
  if (error === null) return metaOf(said);
  const wrong = new Meta(MetaKind.Null, 0);
  wrong.error = error.text;
  return wrong;
}

function metaOf(said: Json): Meta {
  const line = said.get("line");
  const v = new Meta(kindOf(textOf(said, "kind")), line === null ? 0 : <i32>line.int());
  v.text = textOf(said, "text");
  v.key = textOf(said, "key");
  const items = said.get("items");
  if (items !== null) for (let i = 0; i < items.items.length; i++) v.items.push(metaOf(items.items[i]));
  return v;
}

function kindOf(word: string): MetaKind {
  if (word == "bool") return MetaKind.Bool;
  if (word == "other") return MetaKind.Other;
  if (word == "string") return MetaKind.String;
  if (word == "list") return MetaKind.List;
  return word == "map" ? MetaKind.Map : MetaKind.Null;
}

function textOf(v: Json, key: string): string {
  const field = v.get(key);
  return field === null ? "" : field.text;
}

// MAX_FRONT_MATTER is how long a block may be, in bytes.
export const MAX_FRONT_MATTER: i32 = 64 << 10;
const COMMA: i32 = 0x2c;

function strip(s: string, what: string): string {
  let from = 0;
  let to = s.length;
  while (from < to && what.includes(s.charAt(from))) from++;
  while (to > from && what.includes(s.charAt(to - 1))) to--;
  return s.substring(from, to);
}
