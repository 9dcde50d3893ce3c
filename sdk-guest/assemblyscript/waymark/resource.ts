// What a resolver answers.
import { JsonWriter } from "./writer";

// Sizes that the ABI fixes, in bytes of UTF-8. The host drops a row that
// exceeds one of them; truncate helps. MAX_ATTRIBUTES is for the sum of all keys
// and values of one resource.
export const MAX_NAME: i32 = 256;
export const MAX_DESCRIPTION: i32 = 4 << 10;
export const MAX_ERROR: i32 = 4 << 10;
export const MAX_ATTRIBUTES: i32 = 16 << 10;

export namespace Kind {
  export const InstructionFile: string = "instruction_file";
  export const Skill: string = "skill";
  export const MCPConfig: string = "mcp_config";
  export const Plugin: string = "plugin";
  export const Hook: string = "hook";
  export const Subagent: string = "subagent";
  export const Command: string = "command";
}

export namespace Status {
  export const OK: string = "ok";
  export const Invalid: string = "invalid";
}

// Finding is something to know about a find that is there all the same. The code
// is lower-case words joined by hyphens, the severity "info", "warning" or "error".
export class Finding {
  constructor(public code: string, public severity: string, public message: string) {}
}

// Resource is one find. Its payload is a file that the host reads (file), a text
// of the resolver's own (inline), or nothing.
export class Resource {
  key: string = ""; // tells several resources of one path apart
  name: string = "";
  description: string = "";
  status: string = "";
  error: string = "";
  convention: string = ""; // the id of the convention that it was found by
  readers: string[] = []; // ids of the agents that read it, if no convention says so
  findings: Finding[] = []; // what there is to know about it
  withheld: bool = false; // of a file: the host hashes it and keeps nothing of its text
  private contentFile: string = "";
  private contentInline: string | null = null;
  private names: string[] = []; // of attributes, sorted
  private values: string[][] = []; // a text is a list of one
  private lists: bool[] = [];

  constructor(public kind: string, public path: string) {}

  // file is a resource whose payload is the file that it is about.
  static file(kind: string, path: string): Resource {
    return new Resource(kind, path).withFile(path);
  }

  withFile(path: string): this {
    this.contentFile = path;
    this.contentInline = null;
    return this;
  }

  withInline(text: string): this {
    this.contentInline = text;
    return this;
  }

  // invalid says that what was found breaks a rule, and which one.
  invalid(why: string): this {
    this.status = Status.Invalid;
    this.error = why;
    return this;
  }

  attribute(name: string, text: string): this {
    return this.put(name, [text], false);
  }

  attributes(name: string, list: string[]): this {
    return this.put(name, list, true);
  }

  private put(name: string, values: string[], isList: bool): this {
    let i = 0;
    while (i < this.names.length && this.names[i] < name) i++;
    if (i == this.names.length || this.names[i] != name) {
      this.names.push("");
      this.values.push([]);
      this.lists.push(false);
      for (let k = this.names.length - 1; k > i; k--) {
        this.names[k] = this.names[k - 1];
        this.values[k] = this.values[k - 1];
        this.lists[k] = this.lists[k - 1];
      }
    }
    this.names[i] = name;
    this.values[i] = values;
    this.lists[i] = isList;
    return this;
  }

  write(w: JsonWriter): void {
    w.beginObject().key("kind").string(this.kind).key("path").string(this.path);
    optional(w, "key", this.key);
    const inline = this.contentInline;
    if (inline !== null) {
      w.key("content").beginObject().key("inline").string(inline).endObject();
    } else if (this.contentFile != "") {
      w.key("content").beginObject().key("file").string(this.contentFile);
      if (this.withheld) w.key("withheld").bool(true);
      w.endObject();
    }
    optional(w, "name", this.name);
    optional(w, "description", this.description);
    optional(w, "status", this.status);
    optional(w, "error", this.error);
    if (this.names.length > 0) {
      w.key("attributes").beginObject();
      for (let i = 0; i < this.names.length; i++) {
        w.key(this.names[i]);
        if (this.lists[i]) w.strings(this.values[i]);
        else w.string(this.values[i][0]);
      }
      w.endObject();
    }
    optional(w, "convention", this.convention);
    if (this.readers.length > 0) w.key("readers").strings(this.readers);
    if (this.findings.length > 0) {
      w.key("findings").beginArray();
      for (let i = 0; i < this.findings.length; i++) {
        const f = this.findings[i];
        w.beginObject().key("code").string(f.code).key("severity").string(f.severity).key("message").string(f.message).endObject();
      }
      w.endArray();
    }
    w.endObject();
  }
}

function optional(w: JsonWriter, key: string, value: string): void {
  if (value != "") w.key(key).string(value);
}

// Response is what a resolver found, in order of preference.
export class Response {
  resources: Resource[] = [];
  warnings: string[] = [];
  // failure, when it isn't empty, fails the run: the host then keeps the last
  // good result. What is wrong with one file belongs into its resource.
  failure: string = "";

  static fail(why: string): Response {
    const resp = new Response();
    resp.failure = why;
    return resp;
  }

  add(r: Resource): this {
    this.resources.push(r);
    return this;
  }

  // warn adds a line for a person; it changes no status.
  warn(line: string): this {
    this.warnings.push(line);
    return this;
  }

  write(w: JsonWriter): void {
    w.beginObject().key("resources").beginArray();
    for (let i = 0; i < this.resources.length; i++) this.resources[i].write(w);
    w.endArray();
    if (this.warnings.length > 0) w.key("warnings").strings(this.warnings);
    w.endObject();
  }
}
