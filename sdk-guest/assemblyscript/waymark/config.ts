// The operator's table for a resolver.
import { Json, JsonKind } from "./json";

// Config gives the value of a key, or a default where the key is missing. A
// value of another type is a mistake that should be seen: the run fails with
// the first one, when the resolver returns.
export class Config {
  error: string = "";

  constructor(private table: Json) {}

  // value returns what stands under a key as it is.
  value(key: string): Json | null {
    return this.table.get(key);
  }

  private wrong(key: string, got: string, want: string): void {
    if (this.error == "") this.error = 'config key "' + key + '" is ' + got + ", not " + want;
  }

  string(key: string, def: string): string {
    const v = this.table.get(key);
    if (v === null) return def;
    if (v.kind == JsonKind.String) return v.text;
    this.wrong(key, v.kindName(), "a string");
    return def;
  }

  bool(key: string, def: bool): bool {
    const v = this.table.get(key);
    if (v === null) return def;
    if (v.kind == JsonKind.Bool) return v.flag;
    this.wrong(key, v.kindName(), "a boolean");
    return def;
  }

  int(key: string, def: i64): i64 {
    const v = this.table.get(key);
    if (v === null) return def;
    if (v.isInt()) return v.int();
    this.wrong(key, v.kindName(), "an integer");
    return def;
  }

  // strings returns a list of strings; a single one counts as a list of one.
  strings(key: string, def: string[]): string[] {
    const v = this.table.get(key);
    if (v === null) return def;
    if (v.kind == JsonKind.String) return [v.text];
    if (v.kind != JsonKind.Array) {
      this.wrong(key, v.kindName(), "a list of strings");
      return def;
    }
    const found: string[] = [];
    for (let i = 0; i < v.items.length; i++) {
      if (v.items[i].kind != JsonKind.String) {
        this.wrong(key, "a list with " + v.items[i].kindName(), "a list of strings");
        return def;
      }
      found.push(v.items[i].text);
    }
    return found;
  }
}
