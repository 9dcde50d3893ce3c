// asr is a Waymark resolver: it finds the rules in .asr/*.md.
import {
  FieldType, Kind, MAX_DESCRIPTION, Module, Request, Resolver, Resource, Response, Role,
  findFrontMatter, list, readHead, scanFrontMatter, truncate,
} from "../sdk/waymark";

const RULES = ".asr";

// How much of a file is read: front matter is in its first lines.
const HEAD = 4 << 10;

// What isn't listed in the third argument doesn't exist for the resolver.
const mod = new Module("asr", "0.1.0").add(
  new Resolver("asr", [Kind.InstructionFile], [RULES + "/*.md"], find).describedAs(RULES + "/*.md"));

export function describe(): i32 { return mod.describe(); }
export function resolve(): i32 { return mod.resolve(); }

// find finds the rules of one root. Response.fail would fail the whole run; what
// is wrong with one file belongs into that resource.
function find(req: Request): Response {
  const resp = new Response();
  if (req.root.role != Role.None || req.root.file != "") return resp; // named for another purpose
  const entries = list(RULES).entries; // most roots have no such directory
  for (let i = 0; i < entries.length; i++) {
    const e = entries[i];
    if (e.type != "dir" && e.name.endsWith(".md")) resp.add(rule(e.name));
  }
  return resp;
}

// rule makes the row of one file. The host reads the file itself, and says so
// when it can't.
function rule(name: string): Resource {
  const path = RULES + "/" + name;
  const r = Resource.file(Kind.InstructionFile, path);
  r.name = name.substring(0, name.length - ".md".length);
  const head = readHead(path, HEAD);
  if (!head.ok) return r;
  const fm = findFrontMatter(head.text, head.bytes.length < HEAD);
  if (!fm.found && !fm.open) return r; // a rule without conditions
  const fields = scanFrontMatter(fm.block);
  if (fm.open || !fields.sure) {
    return r.invalid('the front matter isn\'t lines of "key: value" between two lines of ---');
  }
  r.description = truncate(fields.text("description"), MAX_DESCRIPTION);
  const globs = fields.get("globs");
  if (globs !== null && globs.type != FieldType.Null) {
    // Not for every conversation: only when one of these files is in it.
    r.attribute("mode", "glob").attributes("globs", split(globs.value));
  }
  return r;
}

function split(text: string): string[] {
  const found: string[] = [];
  const parts = text.split(",");
  for (let i = 0; i < parts.length; i++) {
    const glob = parts[i].trim();
    if (glob != "") found.push(glob);
  }
  return found;
}
