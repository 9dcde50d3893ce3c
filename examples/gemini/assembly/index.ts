// A resolver for Gemini CLI's context files: GEMINI.md at the top level of a
// root, or what the configuration names, as context.fileName does in Gemini's
// own settings (which no resolver may read: they hold MCP servers and tokens).
//
//   config.gemini = { file_names = ["GEMINI.md", "AGENTS.md"] }
//
// Files that such a file imports (@docs/style.md) stay where they are, and the
// text stays as it is. They are shown as edges instead, in attributes with paths
// relative to the root, also those that an imported file imports:
//
//   imports          files that exist in the root
//   imports_missing  what isn't there
//   imports_outside  what leads out of the root, as it is written
//
// Gemini CLI follows imports five deep; so does this.
import {
  Kind, Module, Request, Resolver, Resource, Response, Role,
  firstLine, list, readHead, stat,
} from "../sdk/waymark";
import { Imports } from "./imports";

const FILE_NAMES = "file_names";

const mod = new Module("gemini", "1.0.0").add(
  new Resolver("gemini", [Kind.InstructionFile], ["GEMINI.md", "**/*.md"], find)
    .describedAs("GEMINI.md at the top level, and what it imports")
    .alsoReads([FILE_NAMES]));

export function describe(): i32 { return mod.describe(); }
export function resolve(): i32 { return mod.resolve(); }

function find(req: Request): Response {
  const resp = new Response();
  if (req.root.role != Role.None && req.root.role != Role.Instructions) return resp;
  const names = req.config.strings(FILE_NAMES, ["GEMINI.md"]);
  const limit = <i32>min<i64>(req.limits.maxResourceBytes, 1 << 20);
  const top = list(".");
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    if (names.indexOf(name) < i) continue;
    if (name == "" || name == "." || name == ".." || name.includes("/")) {
      resp.warn(FILE_NAMES + ': "' + name + '" is not the name of a file at the top level; ignored');
      continue;
    }
    const entry = top.find(name); // names are compared exactly, also where the disk is less strict
    if (entry !== null && entry.type != "dir") resp.add(file(name, limit));
  }
  return resp;
}

// file makes the row of one file. The host reads the file itself, and says so
// when it can't.
function file(name: string, limit: i32): Resource {
  const r = Resource.file(Kind.InstructionFile, name);
  if (stat(name).type == "dir") return r.invalid("a link to a directory, where a file belongs");
  const head = readHead(name, limit);
  if (!head.ok) return r;
  const text = head.text;
  r.description = firstLine(text);
  const imports = new Imports(name);
  imports.follow(name, text, limit);
  return imports.write(r);
}
