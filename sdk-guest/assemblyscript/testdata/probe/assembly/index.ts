// The module that the kit's tests run: each resolver shows one part of the kit.
import {
  Info, JsonWriter, Kind, Level, Listing, Meta, MetaKind, Module, Read, Request, Resolver, Resource, Response,
  decodeUTF8, exists, findFrontMatter, firstLine, list, log, parseFrontMatter, parseJSON, readFile, readHead, stat, truncate, utf8Length,
} from "../sdk/waymark";

const kinds = [Kind.InstructionFile, Kind.Command];

const mod = new Module("as-probe", "1.2.3")
  .add(new Resolver("request", kinds, ["**"], request).describedAs('what was asked, "quoted" – ünï').alsoReads(["names"]))
  .add(new Resolver("rows", kinds, ["**"], rows))
  .add(new Resolver("files", kinds, ["**"], files))
  .add(new Resolver("front-matter", kinds, ["**"], frontMatter))
  .add(new Resolver("texts", kinds, ["**"], texts))
  .add(new Resolver("vectors", kinds, ["**"], vectors))
  .add(new Resolver("endings", kinds, ["**"], endings));

export function describe(): i32 { return mod.describe(); }
export function resolve(): i32 { return mod.resolve(); }

function row(name: string): Resource {
  return new Resource(Kind.Command, name);
}

function shown(req: Request): Resource {
  return row("request")
    .attribute("resolver", req.resolver)
    .attribute("root", req.root.name + "|" + req.root.file + "|" + req.root.role)
    .attribute("limits", req.limits.maxResourceBytes.toString() + "|" + req.limits.maxResources.toString());
}

function request(req: Request): Response {
  const r = shown(req)
    .attribute("text", req.config.string("text", "none"))
    .attribute("flag", req.config.bool("flag", false).toString())
    .attribute("number", req.config.int("number", -1).toString())
    .attributes("names", req.config.strings("names", ["none"]));
  const nested = req.config.value("nested");
  if (nested !== null) r.attributes("keys", nested.keys);
  return new Response().add(r);
}

function rows(req: Request): Response {
  return new Response()
    .add(Resource.file(Kind.InstructionFile, "a.md"))
    .add(new Resource(Kind.Command, "a.md").withInline("quotes \" \\ \n\u0001 ünï 😀 \ud800!"))
    .add(Resource.file(Kind.InstructionFile, "b.md").invalid("it breaks a rule"))
    .add(
      new Resource(Kind.Command, "dir").withFile("dir/c.md").attribute("z", "last").attributes("m", ["a", ""])
        .attribute("a", "first").attributes("e", []).attribute("z", "again"))
    .warn("one")
    .warn("two");
}

function readShown(r: Read): string {
  return r.ok ? r.text : "errno " + r.errno;
}

function listShown(l: Listing): string {
  if (!l.ok) return "errno " + l.errno;
  let out = "";
  for (let i = 0; i < l.entries.length; i++) out += (i > 0 ? " " : "") + l.entries[i].name + ":" + l.entries[i].type;
  return out;
}

function statShown(i: Info): string {
  return i.ok ? i.type + " " + i.size.toString() : "errno " + i.errno;
}

function files(req: Request): Response {
  const resp = new Response();
  const paths = req.config.strings("paths", []);
  const n = <i32>req.config.int("head", 4);
  for (let i = 0; i < paths.length; i++) {
    const p = paths[i];
    const whole = readFile(p);
    const r = row("f" + i.toString())
      .attribute("head", readShown(readHead(p, n)))
      .attribute("size", whole.ok ? whole.bytes.length.toString() : whole.errno)
      .attribute("list", listShown(list(p)))
      .attribute("stat", statShown(stat(p)))
      .attribute("exists", exists(p).toString());
    const entry = list(p).find("a.md");
    if (entry !== null) r.attribute("entry", entry.type);
    resp.add(r);
  }
  return resp;
}

// metaShown makes the text of the vectors: JSON, in which {"=": "1.0"} is a value
// of kind Other, or the error.
function metaShown(v: Meta): string {
  return v.error != "" ? v.error : decodeUTF8(writeMeta(new JsonWriter(), v).bytes());
}

function writeMeta(w: JsonWriter, v: Meta): JsonWriter {
  if (v.kind == MetaKind.Bool) return w.bool(v.isTrue);
  if (v.kind == MetaKind.Other) return w.beginObject().key("=").string(v.text).endObject();
  if (v.kind == MetaKind.String) return w.string(v.text);
  if (v.kind == MetaKind.Null) return w.null();
  const isMap = v.kind == MetaKind.Map;
  isMap ? w.beginObject() : w.beginArray();
  for (let i = 0; i < v.items.length; i++) {
    if (isMap) w.key(v.items[i].key);
    writeMeta(w, v.items[i]);
  }
  return isMap ? w.endObject() : w.endArray();
}

function frontMatter(req: Request): Response {
  const resp = new Response();
  const names = list(".");
  for (let i = 0; i < names.entries.length; i++) {
    const name = names.entries[i].name;
    const text = readFile(name).text;
    const complete = !name.endsWith(".head");
    const fm = findFrontMatter(text, complete);
    const r = row(name).attribute("found", fm.found ? "found" : fm.open ? "open" : "none");
    if (fm.found) r.attribute("block", fm.block).attribute("rest", fm.rest);
    r.attribute("strict", metaShown(parseFrontMatter(text))).attribute("lenient", metaShown(parseFrontMatter(text, true)));
    r.attributes("globs", parseFrontMatter(text, true).get("globs").globs());
    resp.add(r);
  }
  return resp;
}

function texts(req: Request): Response {
  const text = readFile("text").text;
  const n = <i32>req.config.int("n", 0);
  return new Response().add(
    row("text")
      .attribute("text", text)
      .attribute("first", firstLine(text))
      .attribute("length", utf8Length(text).toString())
      .attribute("cut", truncate(text, n))
  );
}

// vectors reads each file as the input of a call.
function vectors(req: Request): Response {
  const resp = new Response();
  const names = list(".");
  for (let i = 0; i < names.entries.length; i++) {
    const text = decodeUTF8(readFile(names.entries[i].name).bytes);
    const r = Request.parse(text);
    resp.add((r.error == "" ? shown(r) : row("x").invalid(r.error)).attribute("json", parseJSON(text).error));
    resp.resources[i].path = names.entries[i].name;
  }
  return resp;
}

function endings(req: Request): Response {
  const how = req.config.string("how", "");
  if (how == "fail") return Response.fail("it can't go on: ünï");
  if (how == "abort") assert(false, "a reason");
  if (how == "index") return new Response().warn([0, 1][<i32>req.config.int("at", 2)].toString());
  if (how == "throw") throw new Error("thrown");
  if (how == "loop") while (true) {}
  if (how == "eat") {
    let all: Uint8Array[] = [];
    while (true) all.push(new Uint8Array(1 << 20));
  }
  if (how == "churn") { // more than the memory in all, never much at once
    let sum = 0;
    for (let i = 0; i < 400; i++) sum += new Uint8Array(1 << 20).length;
    return new Response().warn(sum.toString());
  }
  log(Level.Info, "a line – ünï");
  log(Level.Warn, "");
  log(Level.Error, "the last one");
  const w = new JsonWriter().beginObject().key("n").int(i64.MIN_VALUE).key("b").bool(true).key("l").beginArray().endArray().endObject();
  return new Response().warn(decodeUTF8(w.bytes()));
}
