// The AssemblyScript kit for Waymark resolvers: the vocabulary of the Go SDK,
// over @extism/as-pdk and the host functions fs_read, fs_list, fs_stat and front_matter.
//
// A resolver is a function from a Request to a Response:
//
//   const mod = new Module("acme-rules", "1.0.0").add(
//     new Resolver("acme-rules", [Kind.InstructionFile], ["ACME.md"], (req) => {
//       const resp = new Response();
//       if (!exists("ACME.md")) return resp;
//       return resp.add(Resource.file(Kind.InstructionFile, "ACME.md"));
//     })
//   );
//   export function describe(): i32 { return mod.describe(); }
//   export function resolve(): i32 { return mod.resolve(); }
//
// Everything of the ABI but units (remembered parts of a run) is here. Nothing
// is thrown: what may fail says so in its result, since an exception of
// AssemblyScript ends the run.
import "./abort"; // asconfig.json names it
export { Module, Resolver } from "./module";
export { Request, Root, Limits, Role } from "./request";
export { Config } from "./config";
export { Finding, Kind, Resource, Response, Status, MAX_NAME, MAX_DESCRIPTION, MAX_ERROR, MAX_ATTRIBUTES } from "./resource";
export { exists, list, readFile, readHead, stat, Entry, Info, Listing, Read } from "./files";
export { findFrontMatter, FrontMatter } from "./frontmatter";
export { parseFrontMatter, MAX_FRONT_MATTER, Meta, MetaKind } from "./meta";
export { log, Level } from "./log";
export { parseJSON, Json, JsonKind, JsonResult } from "./json";
export { JsonWriter } from "./writer";
export { decodeUTF8, encodeUTF8, firstLine, truncate, utf8Length } from "./text";
