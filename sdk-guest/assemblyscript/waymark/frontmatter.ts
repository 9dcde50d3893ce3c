// The YAML block at the head of a Markdown file: where it is, here, and what is
// in it, in meta.ts.

// FrontMatter is what findFrontMatter found: a block, or why there is none.
export class FrontMatter {
  found: bool = false;
  // open says that the block doesn't end in the text: in a head that was cut
  // off more text is needed; in a whole file it is a mistake.
  open: bool = false;
  block: string = ""; // the lines between the delimiters
  rest: string = ""; // what comes after the closing one
}

// findFrontMatter cuts a text. A delimiter is a line that is just ---, with or
// without blanks around it; a byte order mark before the first one is fine.
// complete says that the text is the whole file: in a head, a line counts only
// with its line end.
export function findFrontMatter(text: string, complete: bool): FrontMatter {
  const fm = new FrontMatter();
  const start = text.startsWith("\ufeff") ? 1 : 0;
  let end = lineEnd(text, start);
  if (end < 0 && !complete) {
    fm.open = true;
    return fm;
  }
  if (!isDelimiter(text, start, end)) return fm;
  const body = end < 0 ? text.length : end + 1;
  for (let at = body; at < text.length; at = end + 1) {
    end = lineEnd(text, at);
    if (isDelimiter(text, at, end) && (end >= 0 || complete)) {
      fm.found = true;
      fm.block = text.substring(body, at);
      fm.rest = end < 0 ? "" : text.substring(end + 1);
      return fm;
    }
    if (end < 0) break;
  }
  fm.open = true;
  return fm;
}

function lineEnd(text: string, from: i32): i32 {
  return text.indexOf("\n", from);
}

function isDelimiter(text: string, from: i32, end: i32): bool {
  if (end < 0) end = text.length;
  if (end > from && text.charCodeAt(end - 1) == 0x0d) end--;
  while (from < end && isBlank(text.charCodeAt(from))) from++;
  while (end > from && isBlank(text.charCodeAt(end - 1))) end--;
  return end - from == 3 && text.startsWith("---", from);
}

function isBlank(c: i32): bool {
  return c == 0x20 || c == 0x09;
}
