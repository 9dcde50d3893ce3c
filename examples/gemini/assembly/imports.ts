// Imports of other files: @path, at the start of a line or after a blank, not in
// code.
import { Resource, readHead, stat } from "../sdk/waymark";

const MAX_DEPTH: i32 = 5;
// MAX_EDGES bounds what is read for one file, and keeps attributes small.
const MAX_EDGES: i32 = 100;
const MAX_PATH: i32 = 150;

// Imports gathers the edges of one file.
export class Imports {
  private inside: string[] = [];
  private missing: string[] = [];
  private outside: string[] = [];
  private edges: i32 = 0;

  constructor(private top: string) {}

  write(r: Resource): Resource {
    if (this.inside.length > 0) r.attributes("imports", this.inside.sort());
    if (this.missing.length > 0) r.attributes("imports_missing", this.missing.sort());
    if (this.outside.length > 0) r.attributes("imports_outside", this.outside.sort());
    return r;
  }

  // follow adds what the text of a file imports, and what that imports.
  follow(from: string, text: string, limit: i32, depth: i32 = 1): void {
    const targets = importsOf(text);
    for (let i = 0; i < targets.length && this.edges < MAX_EDGES; i++) {
      const path = resolvePath(from, targets[i]);
      if (path == "") {
        this.note(this.outside, targets[i]);
      } else if (path != this.top && path != from && !this.inside.includes(path)) {
        this.look(path, limit, depth);
      }
    }
  }

  private look(path: string, limit: i32, depth: i32): void {
    const info = stat(path);
    if (info.errno == "EACCES") return this.note(this.outside, path); // a link
    if (info.type != "file") return this.note(this.missing, path);
    this.note(this.inside, path);
    if (depth == MAX_DEPTH) return;
    const more = readHead(path, limit);
    if (more.ok) this.follow(path, more.text, limit, depth + 1);
  }

  private note(found: string[], path: string): void {
    if (found.includes(path)) return;
    found.push(path);
    this.edges++;
  }
}

// importsOf returns the paths that a text imports, as they are written.
function importsOf(text: string): string[] {
  const found: string[] = [];
  const lines = text.split("\n");
  let fence = "";
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i].trim();
    const mark = line.startsWith("```") ? "```" : line.startsWith("~~~") ? "~~~" : "";
    if (mark != "" && (fence == "" || fence == mark)) {
      fence = fence == "" ? mark : "";
    } else if (fence == "") {
      importsOfLine(line, found);
    }
  }
  return found;
}

function importsOfLine(line: string, found: string[]): void {
  const spans = line.split("`"); // every other one is code, where it is closed
  for (let s = 0; s < spans.length; s += s + 1 == spans.length - 1 ? 1 : 2) {
    const words = spans[s].split("\t").join(" ").split(" ");
    for (let i = 0; i < words.length; i++) {
      if (!words[i].startsWith("@")) continue;
      const path = trimEnd(words[i].substring(1));
      // Others than Markdown aren't imported, and @somebody is a person.
      if (path.endsWith(".md") && path.length <= MAX_PATH) found.push(path);
    }
  }
}

// trimEnd takes off what ends a sentence.
function trimEnd(word: string): string {
  let n = word.length;
  while (n > 0 && ".,;:!?)]}'\"*_".includes(word.charAt(n - 1))) n--;
  return word.substring(0, n);
}

// resolvePath returns the path of a target relative to the root, "" for what
// isn't below it.
function resolvePath(from: string, target: string): string {
  if (target.startsWith("/") || target.startsWith("~") || target.includes("\\") || target.includes("\0")) return "";
  const parts = from.split("/");
  parts.pop(); // relative to the directory of the file
  const steps = target.split("/");
  for (let i = 0; i < steps.length; i++) {
    if (steps[i] == "" || steps[i] == ".") continue;
    if (steps[i] != "..") {
      parts.push(steps[i]);
    } else if (parts.length == 0) {
      return "";
    } else {
      parts.pop();
    }
  }
  return parts.join("/");
}
