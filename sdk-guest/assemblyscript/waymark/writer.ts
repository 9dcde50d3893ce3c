// A JSON writer without reflection: keys and values in the order in which they
// are written, commas in between.
import { isHigh, isLow } from "./text";

export class JsonWriter {
  private buf: Uint8Array = new Uint8Array(1024);
  private size: i32 = 0;
  private comma: bool = false;

  // bytes is what has been written.
  bytes(): Uint8Array {
    return this.buf.subarray(0, this.size);
  }

  beginObject(): this { return this.open(0x7b); }
  endObject(): this { return this.close(0x7d); }
  beginArray(): this { return this.open(0x5b); }
  endArray(): this { return this.close(0x5d); }

  key(name: string): this {
    this.string(name);
    this.byte(0x3a);
    this.comma = false;
    return this;
  }

  int(n: i64): this {
    this.follow();
    const digits = n.toString();
    for (let i = 0; i < digits.length; i++) this.byte(<u8>digits.charCodeAt(i));
    return this;
  }

  bool(b: bool): this {
    return this.word(b ? "true" : "false");
  }

  null(): this {
    return this.word("null");
  }

  private word(word: string): this {
    this.follow();
    for (let i = 0; i < word.length; i++) this.byte(<u8>word.charCodeAt(i));
    return this;
  }

  strings(list: string[]): this {
    this.beginArray();
    for (let i = 0; i < list.length; i++) this.string(list[i]);
    return this.endArray();
  }

  // string writes a text as valid JSON, whatever is in it.
  string(s: string): this {
    this.follow();
    this.byte(0x22);
    for (let i = 0; i < s.length; i++) {
      const c = s.charCodeAt(i);
      if (isHigh(c) && i + 1 < s.length && isLow(s.charCodeAt(i + 1))) {
        this.rune(0x10000 + ((c - 0xd800) << 10) + (s.charCodeAt(++i) - 0xdc00));
      } else {
        this.rune(isHigh(c) || isLow(c) ? 0xfffd : c);
      }
    }
    this.byte(0x22);
    return this;
  }

  private rune(r: i32): void {
    if (r < 0x20) {
      this.byte(0x5c); // \u00..
      this.byte(0x75);
      this.byte(0x30);
      this.byte(0x30);
      this.byte(r < 0x10 ? 0x30 : 0x31);
      this.byte(<u8>((r & 15) < 10 ? 0x30 + (r & 15) : 0x57 + (r & 15)));
    } else if (r < 0x80) {
      if (r == 0x22 || r == 0x5c) this.byte(0x5c);
      this.byte(<u8>r);
    } else if (r < 0x800) {
      this.byte(<u8>(0xc0 | (r >> 6)));
      this.tail(r);
    } else if (r < 0x10000) {
      this.byte(<u8>(0xe0 | (r >> 12)));
      this.tail(r >> 6);
      this.tail(r);
    } else {
      this.byte(<u8>(0xf0 | (r >> 18)));
      this.tail(r >> 12);
      this.tail(r >> 6);
      this.tail(r);
    }
  }

  private tail(r: i32): void {
    this.byte(<u8>(0x80 | (r & 0x3f)));
  }

  private open(c: u8): this {
    this.follow();
    this.byte(c);
    this.comma = false;
    return this;
  }

  private close(c: u8): this {
    this.byte(c);
    this.comma = true;
    return this;
  }

  private follow(): void {
    if (this.comma) this.byte(0x2c);
    this.comma = true;
  }

  private byte(c: u8): void {
    if (this.size == this.buf.length) {
      const more = new Uint8Array(this.buf.length * 2);
      more.set(this.buf);
      this.buf = more;
    }
    this.buf[this.size++] = c;
  }
}
