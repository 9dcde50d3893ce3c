// The root's files, read-only, through the host. Paths are relative to the root
// and separated by "/"; "." is the root itself. A resolver sees what its reads
// match, and the directories on the way.
import { bytesOf, blockOf, error_get, fs_list, fs_read, fs_stat, setError } from "./host";
import { Json, JsonKind, parseJSON } from "./json";
import { decodeUTF8, encodeUTF8 } from "./text";

// Read is what reading gave, or an errno such as "ENOENT"; see abi/ABI.md.
export class Read {
  constructor(public bytes: Uint8Array, public errno: string = "") {}

  get ok(): bool { return this.errno == ""; }

  // text is the bytes as a string; those that aren't UTF-8 become U+FFFD.
  get text(): string { return decodeUTF8(this.bytes); }
}

// Entry is one name in a directory. Its type is that of the entry itself:
// "file", "dir", "link" or "other".
export class Entry {
  constructor(public name: string, public type: string) {}
}

// Listing is a directory's entries, in byte order of their names, or an errno.
export class Listing {
  entries: Entry[] = [];

  constructor(public errno: string = "") {}

  get ok(): bool { return this.errno == ""; }

  // find returns the entry of a name: a way to look for a name in exact case.
  find(name: string): Entry | null {
    for (let i = 0; i < this.entries.length; i++) {
      if (this.entries[i].name == name) return this.entries[i];
    }
    return null;
  }
}

// Info is what a path leads to, links followed, or an errno. size is 0 for what
// isn't a file.
export class Info {
  constructor(public type: string, public size: i64, public errno: string = "") {}

  get ok(): bool { return this.errno == ""; }
}

const MAX_FILE: i32 = 16 << 20;

// readFile reads a whole file, of which it takes the first 16 MiB. Most files
// say what they are in their first lines: readHead is cheaper, and the host
// reads what a resource names by itself.
export function readFile(path: string): Read {
  return readHead(path, MAX_FILE);
}

// readHead reads the first n bytes of a file, or all of a shorter one: a result
// shorter than n is the whole file.
export function readHead(path: string, n: i32): Read {
  if (path.length == 0) return new Read(new Uint8Array(0), "EINVAL");
  const name = blockOf(encodeUTF8(path));
  const parts: Uint8Array[] = [];
  let size = 0;
  while (size < n) {
    const handle = fs_read(name.offset, size, n - size);
    if (handle == 0) {
      const errno = takeErrno();
      if (errno != "") return new Read(new Uint8Array(0), errno);
      break; // the end of the file
    }
    const part = bytesOf(handle);
    parts.push(part);
    size += part.length;
  }
  return new Read(parts.length == 1 ? parts[0] : join(parts, size));
}

function join(parts: Uint8Array[], size: i32): Uint8Array {
  const all = new Uint8Array(size);
  let at = 0;
  for (let i = 0; i < parts.length; i++) {
    all.set(parts[i], at);
    at += parts[i].length;
  }
  return all;
}

// takeErrno returns why fs_read returned 0, "" for the end of the file, and
// clears it: an error that is still set at the end would be the call's own.
function takeErrno(): string {
  const text = bytesOf(error_get());
  if (text.length == 0) return "";
  setError(new Uint8Array(0));
  return errnoOf(parseJSON(decodeUTF8(text)).value);
}

// errnoOf returns the errno of a failure text, "" for what is none.
function errnoOf(v: Json): string {
  const errno = v.get("errno");
  if (errno !== null) return errno.text;
  return v.kind == JsonKind.Null ? "EIO" : "";
}

function ask(handle: u64): Json {
  return parseJSON(decodeUTF8(bytesOf(handle))).value;
}

// list returns the entries of a directory.
export function list(path: string): Listing {
  if (path.length == 0) return new Listing("EINVAL");
  const v = ask(fs_list(blockOf(encodeUTF8(path)).offset));
  const listing = new Listing(errnoOf(v));
  for (let i = 0; i < v.items.length && listing.ok; i++) {
    listing.entries.push(new Entry(textOf(v.items[i], "name"), textOf(v.items[i], "type")));
  }
  return listing;
}

// stat says what a path leads to.
export function stat(path: string): Info {
  if (path.length == 0) return new Info("", 0, "EINVAL");
  const v = ask(fs_stat(blockOf(encodeUTF8(path)).offset));
  const size = v.get("size");
  return new Info(textOf(v, "type"), size === null || !size.isInt() ? 0 : size.int(), errnoOf(v));
}

// exists reports whether there is something at a path; what can't be looked at
// counts, for the host to say what is wrong with it.
export function exists(path: string): bool {
  const errno = stat(path).errno;
  return errno != "ENOENT" && errno != "ENOTDIR" && errno != "EINVAL";
}

function textOf(v: Json, key: string): string {
  const field = v.get(key);
  return field === null ? "" : field.text;
}
