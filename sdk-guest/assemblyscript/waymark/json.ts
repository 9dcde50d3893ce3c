// A strict JSON reader: what the ABI calls malformed is an error here, too.
import { isHigh, isLow } from "./text";

export enum JsonKind { Null, Bool, Number, String, Array, Object }

// Json is one value. Only what belongs to its kind means anything.
export class Json {
  flag: bool = false;
  text: string = ""; // of a string; of a number, as it is written
  items: Json[] = []; // elements, or the values of an object
  keys: string[] = [];

  constructor(public kind: JsonKind) {}

  get(key: string): Json | null {
    const i = this.keys.indexOf(key);
    return i < 0 ? null : this.items[i];
  }

  // kindName is for messages.
  kindName(): string {
    switch (this.kind) {
      case JsonKind.Null: return "null";
      case JsonKind.Bool: return "a boolean";
      case JsonKind.Number: return "a number";
      case JsonKind.String: return "a string";
      case JsonKind.Array: return "a list";
      default: return "an object";
    }
  }

  // isInt reports whether it is a number without fraction that an i64 holds.
  isInt(): bool {
    if (this.kind != JsonKind.Number) return false;
    const digits = this.text.startsWith("-") ? this.text.substring(1) : this.text;
    if (digits.length > 18) return false;
    for (let i = 0; i < digits.length; i++) {
      const c = digits.charCodeAt(i);
      if (c < 0x30 || c > 0x39) return false;
    }
    return true;
  }

  int(): i64 {
    return I64.parseInt(this.text);
  }
}

// JsonResult is a value or what is wrong.
export class JsonResult {
  constructor(public value: Json, public error: string) {}
}

export function parseJSON(text: string): JsonResult {
  const p = new Parser(text);
  const v = p.value(0);
  p.blanks();
  if (p.error == "" && p.at < text.length) p.fail("more than one value");
  return new JsonResult(v, p.error);
}

// MAX_DEPTH bounds nesting, as the ABI does for guests.
const MAX_DEPTH: i32 = 512;

// Builder makes a text of many parts: putting them together one by one would copy what
// there is each time.
class Builder {
  private units: StaticArray<u16> = new StaticArray<u16>(32);
  private size: i32 = 0;

  add(s: string, from: i32, to: i32): void {
    this.grow(to - from);
    memory.copy(changetype<usize>(this.units) + (<usize>this.size << 1), changetype<usize>(s) + (<usize>from << 1), <usize>(to - from) << 1);
    this.size += to - from;
  }

  unit(c: u16): void {
    this.grow(1);
    this.units[this.size++] = c;
  }

  private grow(n: i32): void {
    if (this.size + n <= this.units.length) return;
    const more = new StaticArray<u16>(max(this.size + n, 2 * this.units.length));
    memory.copy(changetype<usize>(more), changetype<usize>(this.units), <usize>this.size << 1);
    this.units = more;
  }

  toString(): string {
    return String.UTF16.decodeUnsafe(changetype<usize>(this.units), <usize>this.size << 1);
  }
}

class Parser {
  at: i32 = 0;
  error: string = "";

  constructor(private text: string) {}

  fail(what: string): Json {
    if (this.error == "") this.error = "malformed JSON at " + this.at.toString() + ": " + what;
    this.at = this.text.length; // so that every loop ends
    return new Json(JsonKind.Null);
  }

  blanks(): void {
    for (; this.at < this.text.length; this.at++) {
      const c = this.text.charCodeAt(this.at);
      if (c != 0x20 && c != 0x09 && c != 0x0a && c != 0x0d) return;
    }
  }

  // next is the unit to come, -1 at the end.
  private next(): i32 {
    return this.at < this.text.length ? this.text.charCodeAt(this.at) : -1;
  }

  private take(c: i32): bool {
    if (this.next() != c) return false;
    this.at++;
    return true;
  }

  value(depth: i32): Json {
    if (depth > MAX_DEPTH) return this.fail("it is nested too deeply");
    this.blanks();
    const c = this.next();
    switch (c) {
      case 0x7b: return this.object(depth);
      case 0x5b: return this.array(depth);
      case 0x22: {
        const v = new Json(JsonKind.String);
        v.text = this.string();
        return v;
      }
      case 0x74: return this.word("true", JsonKind.Bool);
      case 0x66: return this.word("false", JsonKind.Bool);
      case 0x6e: return this.word("null", JsonKind.Null);
    }
    return c == 0x2d || isDigit(c) ? this.number() : this.fail("no value");
  }

  private word(word: string, kind: JsonKind): Json {
    if (!this.text.startsWith(word, this.at)) return this.fail("no value");
    this.at += word.length;
    const v = new Json(kind);
    v.flag = word == "true";
    return v;
  }

  private digits(): bool {
    const start = this.at;
    while (isDigit(this.next())) this.at++;
    return this.at > start;
  }

  private number(): Json {
    const start = this.at;
    this.take(0x2d);
    if (!this.take(0x30) && !this.digits()) return this.fail("no number");
    if (this.take(0x2e) && !this.digits()) return this.fail("no number");
    if (this.next() == 0x65 || this.next() == 0x45) {
      this.at++;
      if (this.next() == 0x2b || this.next() == 0x2d) this.at++;
      if (!this.digits()) return this.fail("no number");
    }
    const v = new Json(JsonKind.Number);
    v.text = this.text.substring(start, this.at);
    return v;
  }

  private array(depth: i32): Json {
    const v = new Json(JsonKind.Array);
    this.at++;
    this.blanks();
    if (this.take(0x5d)) return v;
    while (this.error == "") {
      v.items.push(this.value(depth + 1));
      this.blanks();
      if (this.take(0x5d)) return v;
      if (!this.take(0x2c)) return this.fail("a list that doesn't go on");
    }
    return v;
  }

  private object(depth: i32): Json {
    const v = new Json(JsonKind.Object);
    this.at++;
    this.blanks();
    if (this.take(0x7d)) return v;
    while (this.error == "") {
      this.blanks();
      if (this.next() != 0x22) return this.fail("no key");
      const key = this.string();
      if (v.keys.includes(key)) return this.fail("a key stands twice");
      this.blanks();
      if (!this.take(0x3a)) return this.fail("no colon");
      v.keys.push(key);
      v.items.push(this.value(depth + 1));
      this.blanks();
      if (this.take(0x7d)) return v;
      if (!this.take(0x2c)) return this.fail("an object that doesn't go on");
    }
    return v;
  }

  private string(): string {
    this.at++;
    const out = new Builder();
    let start = this.at;
    for (let c = this.next(); c != 0x22; c = this.next()) {
      if (c < 0x20) return this.bad("a string that doesn't end, or a control character in it");
      if (c != 0x5c) {
        this.at++;
        continue;
      }
      out.add(this.text, start, this.at);
      this.at++;
      const unit = this.escape();
      if (unit < 0) return this.bad("an unknown escape");
      out.unit(<u16>unit);
      start = this.at;
    }
    out.add(this.text, start, this.at);
    this.at++;
    const text = out.toString();
    return paired(text) ? text : this.bad("half of a surrogate pair");
  }

  private bad(what: string): string {
    this.fail(what);
    return "";
  }

  private escape(): i32 {
    const c = this.next();
    this.at++;
    switch (c) {
      case 0x22: case 0x5c: case 0x2f: return c;
      case 0x62: return 8;
      case 0x66: return 12;
      case 0x6e: return 10;
      case 0x72: return 13;
      case 0x74: return 9;
      case 0x75: return this.hex4();
    }
    return -1;
  }

  private hex4(): i32 {
    let unit = 0;
    for (let i = 0; i < 4; i++, this.at++) {
      const c = this.next() | 0x20;
      if (isDigit(this.next())) unit = (unit << 4) | (this.next() - 0x30);
      else if (c >= 0x61 && c <= 0x66) unit = (unit << 4) | (c - 0x57);
      else return -1;
    }
    return unit;
  }
}

function isDigit(c: i32): bool {
  return c >= 0x30 && c <= 0x39;
}

function paired(s: string): bool {
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (isLow(c)) return false;
    if (isHigh(c) && (++i == s.length || !isLow(s.charCodeAt(i)))) return false;
  }
  return true;
}
