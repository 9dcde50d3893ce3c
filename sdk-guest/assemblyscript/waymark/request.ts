// What a resolver is asked.
import { Config } from "./config";
import { Json, JsonKind, parseJSON } from "./json";

// VERSION of the ABI that this kit speaks.
export const VERSION: i64 = 1;

// Role says why the host looks at a root; in one with a role the directory, or
// the one file, is itself where to look.
export namespace Role {
  export const None: string = "";
  export const Instructions: string = "instructions";
  export const Skills: string = "skills";
  export const MCP: string = "mcp";
}

export class Root {
  name: string = ""; // base name of the root directory
  file: string = ""; // set when the root is one file: its base name
  role: string = Role.None;
}

export class Limits {
  maxResourceBytes: i64 = 64 << 10; // the largest content that is kept
  maxResources: i64 = 500;
}

export class Request {
  resolver: string = "";
  root: Root = new Root();
  limits: Limits = new Limits();
  config: Config = new Config(new Json(JsonKind.Object));

  // error says why an input isn't a request of this version.
  error: string = "";

  static parse(text: string): Request {
    const req = new Request();
    const doc = parseJSON(text);
    if (doc.error != "") return req.fail(doc.error);
    const v = doc.value;
    if (v.kind != JsonKind.Object) return req.fail("not an object");
    req.resolver = req.text(v, "resolver");
    const config = req.field(v, "config", JsonKind.Object, "an object");
    if (config !== null) req.config = new Config(config);
    const root = req.field(v, "root", JsonKind.Object, "an object");
    if (root !== null) {
      req.root.name = req.text(root, "name");
      req.root.file = req.text(root, "file");
      req.root.role = req.text(root, "role");
    }
    const limits = req.field(v, "limits", JsonKind.Object, "an object");
    if (limits !== null) {
      req.limits.maxResourceBytes = req.int(limits, "max_resource_bytes", req.limits.maxResourceBytes);
      req.limits.maxResources = req.int(limits, "max_resources", req.limits.maxResources);
    }
    const version = req.int(v, "abi", 0);
    if (version == VERSION) return req;
    return req.fail("it is of ABI version " + version.toString() + ", this module speaks version " + VERSION.toString());
  }

  private fail(detail: string): Request {
    if (this.error == "") this.error = "bad request: " + detail;
    return this;
  }

  private field(v: Json, key: string, kind: JsonKind, want: string): Json | null {
    const f = v.get(key);
    if (f === null || f.kind == kind) return f;
    this.fail(key + " is " + f.kindName() + ", not " + want);
    return null;
  }

  private text(v: Json, key: string): string {
    const f = this.field(v, key, JsonKind.String, "a string");
    return f === null ? "" : f.text;
  }

  private int(v: Json, key: string, def: i64): i64 {
    const f = this.field(v, key, JsonKind.Number, "an integer");
    if (f === null) return def;
    if (f.isInt()) return f.int();
    this.fail(key + " is " + f.text + ", not an integer");
    return def;
  }
}
