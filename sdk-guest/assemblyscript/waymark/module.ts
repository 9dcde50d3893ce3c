// What one .wasm file holds, and the two calls that it answers.
import { Host } from "@extism/as-pdk";
import { blockOf, setError } from "./host";
import { Request, VERSION } from "./request";
import { Response } from "./resource";
import { decodeUTF8, encodeUTF8 } from "./text";
import { JsonWriter } from "./writer";

// Resolver finds resources of certain kinds in one root.
export class Resolver {
  // summary is one line for a person.
  summary: string = "";
  // readsFromConfig names config keys that hold literal relative paths, which
  // count as reads.
  readsFromConfig: string[] = [];
  ignored: string[] = [];

  // name is lower-case words joined by hyphens. kinds lists what it may emit.
  // reads holds doublestar patterns, relative to the root: what matches none of
  // them doesn't exist for the resolver, except the directories on the way.
  // A function can't use variables of the function around it.
  constructor(public name: string, public kinds: string[], public reads: string[], public find: (req: Request) => Response) {}

  describedAs(summary: string): this {
    this.summary = summary;
    return this;
  }

  alsoReads(configKeys: string[]): this {
    this.readsFromConfig = configKeys;
    return this;
  }

  // ignores names fields of the request that make no difference to the answer, such as
  // "root.name".
  ignores(fields: string[]): this {
    this.ignored = fields;
    return this;
  }

  write(w: JsonWriter): void {
    w.beginObject().key("name").string(this.name).key("kinds").strings(this.kinds);
    if (this.summary != "") w.key("summary").string(this.summary);
    w.key("reads").strings(this.reads);
    if (this.readsFromConfig.length > 0) w.key("reads_from_config").strings(this.readsFromConfig);
    if (this.ignored.length > 0) w.key("ignores").strings(this.ignored);
    w.endObject();
  }
}

// Module is made once, as a global of the entry file, whose exported functions
// describe and resolve return what its methods of these names return.
export class Module {
  private resolvers: Resolver[] = [];

  constructor(private name: string, private version: string) {}

  add(r: Resolver): this {
    this.resolvers.push(r);
    return this;
  }

  describe(): i32 {
    const wrong = this.check();
    if (wrong != "") return failed(wrong);
    const w = new JsonWriter();
    w.beginObject().key("abi").int(VERSION).key("name").string(this.name).key("version").string(this.version);
    w.key("resolvers").beginArray();
    for (let i = 0; i < this.resolvers.length; i++) this.resolvers[i].write(w);
    w.endArray().endObject();
    return answered(w);
  }

  resolve(): i32 {
    const req = Request.parse(decodeUTF8(Host.input()));
    if (req.error != "") return failed(req.error);
    for (let i = 0; i < this.resolvers.length; i++) {
      if (this.resolvers[i].name != req.resolver) continue;
      const resp = this.resolvers[i].find(req);
      if (req.config.error != "") return failed(req.config.error);
      if (resp.failure != "") return failed(resp.failure);
      const w = new JsonWriter();
      resp.write(w);
      return answered(w);
    }
    return failed("module " + this.name + ' has no resolver "' + req.resolver + '"');
  }

  // check returns the first mistake that would make a host reject the module
  // with less to say about it.
  private check(): string {
    if (!isName(this.name)) return 'module name "' + this.name + '" is not lower-case words joined by hyphens';
    if (this.resolvers.length == 0) return "module " + this.name + " has no resolvers";
    for (let i = 0; i < this.resolvers.length; i++) {
      const r = this.resolvers[i];
      if (!isName(r.name)) return 'resolver name "' + r.name + '" is not lower-case words joined by hyphens';
      if (r.kinds.length == 0) return "resolver " + r.name + " declares no kinds";
      for (let k = 0; k < i; k++) if (this.resolvers[k].name == r.name) return "two resolvers are named " + r.name;
    }
    return "";
  }
}

function answered(w: JsonWriter): i32 {
  Host.outputMemory(blockOf(w.bytes()));
  return 0;
}

function failed(why: string): i32 {
  setError(encodeUTF8(why));
  return 1;
}

function isName(s: string): bool {
  let hyphen = true; // where one may not stand
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if ((c >= 0x61 && c <= 0x7a) || (c >= 0x30 && c <= 0x39)) hyphen = false;
    else if (c == 0x2d && !hyphen) hyphen = true;
    else return false;
  }
  return !hyphen && s.length <= 64;
}
