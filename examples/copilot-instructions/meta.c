/* What stands in the front matter of a rule. */
#include "rule.h"

#include <string.h>

/* A rule's globs, in bytes: rows of many such rules still fit into an answer. */
#define MAX_LIST ((size_t)4096)

wm_str clean(wm_str text) {
  wm_str copy = wm_copy(text);
  char *at = (char *)copy.data; /* the copy is ours */
  for (size_t i = 0; i < copy.len; i++) {
    unsigned char c = (unsigned char)at[i];
    if (c < ' ' || c == 0x7f) at[i] = ' ';
  }
  return wm_trim(copy, " ");
}

wm_str first_line(wm_str text) {
  wm_str line;
  if (wm_has_prefix(text, "\xef\xbb\xbf")) text.data += 3, text.len -= 3;
  while (text.len > 0) {
    (void)wm_cut(text, &line, &text);
    line = wm_trim(line, " \t");
    while (line.len > 0 && line.data[0] == '#') line.data++, line.len--;
    line = clean(line);
    if (line.len > 0) return line;
  }
  return (wm_str){"", 0};
}

/* uncomment leaves out what follows " #", but not within quotes. */
static wm_str uncomment(wm_str s) {
  char quote = '\0';
  for (size_t i = 0; i < s.len; i++) {
    char c = s.data[i];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '#' && (i == 0 || s.data[i - 1] == ' ' || s.data[i - 1] == '\t')) {
      s.len = i;
    } else if ((c == '"' || c == '\'') && (i == 0 || strchr(" ,[", s.data[i - 1]) != NULL)) {
      quote = c;
    }
  }
  return wm_trim(s, " \t");
}

static wm_str unquote(wm_str s) {
  bool quoted = s.len >= 2 && (s.data[0] == '"' || s.data[0] == '\'') && s.data[s.len - 1] == s.data[0];
  return quoted ? (wm_str){s.data + 1, s.len - 2} : s;
}

static bool is_null(wm_str s) { return s.len == 0 || wm_equal(s, "~") || wm_equal(s, "null"); }

/* item adds one of a list, unless it is empty or there. */
static void item(wm_list *list, wm_str s, size_t *size, bool *too_many) {
  s = clean(unquote(wm_trim(s, " \t")));
  if (s.len == 0) return;
  if (*size + s.len > MAX_LIST) {
    *too_many = true;
    return;
  }
  *size += s.len;
  wm_push(list, wm_copy(s).data);
}

/* items cuts a text at its commas, but not within braces, where they separate
 * alternatives. */
static void items(wm_list *list, wm_str s, size_t *size, bool *too_many) {
  size_t start = 0;
  int braces = 0;
  for (size_t i = 0; i < s.len; i++) {
    char c = s.data[i];
    if (c == '{') braces++;
    if (c == '}' && braces > 0) braces--;
    if (c != ',' || braces > 0) continue;
    item(list, (wm_str){s.data + start, i - start}, size, too_many);
    start = i + 1;
  }
  item(list, (wm_str){s.data + start, s.len - start}, size, too_many);
}

/* read_list reads a text with commas, a list in brackets, or one item a line.
 * The result says whether the key is there. */
static bool read_list(wm_str block, const char *key, wm_list *list, bool *too_many) {
  wm_str value, after, line;
  size_t size = 0;
  if (!wm_line(block, key, &value, &after)) return false;
  value = uncomment(value);
  if (!is_null(value)) {
    if (value.data[0] == '[' && value.data[value.len - 1] == ']') {
      value = (wm_str){value.data + 1, value.len - 2};
    } else {
      value = unquote(value);
    }
    items(list, value, &size, too_many);
    return true;
  }
  while (after.len > 0) {
    (void)wm_cut(after, &line, &after);
    line = uncomment(line);
    if (line.len == 0) continue;
    if (line.data[0] != '-' || (line.len > 1 && line.data[1] != ' ')) break;
    line = wm_trim((wm_str){line.data + 1, line.len - 1}, " \t");
    if (!is_null(line)) items(list, unquote(line), &size, too_many);
  }
  return true;
}

/* read_text reads a text on one line, or folded over the lines below. */
static wm_str read_text(wm_str block, const char *key) {
  wm_str value, after, line;
  if (!wm_line(block, key, &value, &after)) return (wm_str){"", 0};
  value = uncomment(value);
  if (is_null(value)) return (wm_str){"", 0};
  if (value.data[0] != '>' && value.data[0] != '|') return clean(unquote(value));
  const char *text = "";
  while (after.len > 0) {
    (void)wm_cut(after, &line, &after);
    if (line.len > 0 && line.data[0] != ' ' && line.data[0] != '\t') break;
    text = wm_join(text, " ", clean(line).len > 0 ? wm_copy(clean(line)).data : "", NULL);
    if (strlen(text) > MAX_LIST) break;
  }
  return clean(wm_text(text));
}

rule_meta read_meta(wm_str block) {
  rule_meta m = {0};
  m.name = read_text(block, "name");
  m.description = read_text(block, "description");
  m.has_apply_to = read_list(block, "applyTo", &m.apply_to, &m.too_many);
  (void)read_list(block, "excludeAgent", &m.exclude, &m.too_many);
  return m;
}

bool is_everything(const wm_list *globs) {
  for (size_t i = 0; i < globs->len; i++) {
    if (strcmp(globs->items[i], "**") == 0 || strcmp(globs->items[i], "**/*") == 0) return true;
  }
  return false;
}
