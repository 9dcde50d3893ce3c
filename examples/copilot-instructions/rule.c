/* The row of one file. */
#include "rule.h"

#include <errno.h>
#include <string.h>

/* Front matter is nearly always in the first lines. */
#define HEAD ((size_t)4096)

/* An agent that picks rules by their description needs no more. */
#define MAX_TEXT 1024

/* split takes a file apart. False: the front matter has no end. */
static bool split(const wm_request *req, const char *path, wm_str head, wm_str *block, wm_str *body) {
  wm_str more;
  size_t limit = req->limits.max_resource_bytes > 0 ? (size_t)req->limits.max_resource_bytes : HEAD;
  wm_found found = wm_front_matter(head, head.len < HEAD, block, body);
  if (found == WM_NOT_CLOSED && head.len == HEAD && limit > HEAD && wm_read_head(path, limit + 1, &more) == 0) {
    head = more;
    found = wm_front_matter(head, head.len <= limit, block, body);
  }
  if (found == WM_NO_FRONT_MATTER) *body = head;
  return found != WM_NOT_CLOSED;
}

static void set_when(wm_attributes *a, const rule_meta *m, bool always) {
  if (always || is_everything(&m->apply_to)) {
    wm_set(a, "mode", "always");
  } else if (m->apply_to.len > 0) {
    wm_set(a, "mode", "glob");
    wm_set_list(a, "globs", &m->apply_to);
  } else {
    wm_set(a, "mode", "manual");
  }
  if (m->exclude.len > 0) wm_set_list(a, "exclude_agents", &m->exclude);
}

/* warn_about says what a rule can't mean. */
static void warn_about(wm_response *resp, const char *path, const rule_meta *m, bool always) {
  const char *what = NULL;
  if (m->too_many) what = ": its front matter is too long; what didn't fit was left out";
  if (!always && m->has_apply_to && m->apply_to.len == 0) {
    what = ": applyTo names no files, so the rule never applies by itself";
  }
  if (what != NULL) wm_warn(resp, wm_truncate(wm_text(wm_join(path, what, NULL)), WM_MAX_ERROR));
}

void add_rule(const wm_request *req, wm_response *resp, const char *path, wm_str name, bool always) {
  wm_attributes attributes = {0};
  wm_str head, block, body;
  rule_meta m = {0};
  wm_info info;
  wm_resource r = {.kind = WM_INSTRUCTION_FILE,
                   .path = path,
                   .content = wm_file(path),
                   .name = wm_truncate(name, WM_MAX_NAME)};
  int err = wm_read_head(path, HEAD, &head);
  if (err == EISDIR || (err != 0 && wm_stat(path, &info) == 0 && info.type == WM_DIR)) {
    r.status = WM_INVALID;
    r.error = "a link to a directory, where a file belongs";
  } else if (err == 0 && !split(req, path, head, &block, &body)) {
    r.status = WM_INVALID;
    r.error = "front matter is not closed: no line is just ---";
  } else if (err == 0) { /* else the host opens it, and knows the reason */
    m = read_meta(block);
    wm_str text = m.description.len > 0 ? m.description : first_line(body);
    r.description = wm_truncate(text, MAX_TEXT);
    if (m.name.len > 0) r.name = wm_truncate(m.name, WM_MAX_NAME);
    set_when(&attributes, &m, always);
    r.attributes = &attributes;
    warn_about(resp, path, &m, always);
  }
  wm_add(resp, &r);
}
