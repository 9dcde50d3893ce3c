/*
 * copilot-instructions finds what GitHub Copilot and VS Code read:
 *
 *   .github/copilot-instructions.md                  for every conversation
 *   .github/instructions/<any>/<name>.instructions.md  for the files that applyTo names
 *
 * and, in a root that is called .copilot (the user's, added as a source), the
 * same without .github. A rule's attributes say when it applies: mode is
 * "always", "glob" (then globs says for which files) or "manual" (without
 * applyTo: only when somebody asks), and exclude_agents says for whom it doesn't.
 *
 * Links are followed, since many share their rules that way, but to directories
 * only once on a path: circles end there. Bounds: 8 levels of directories, 500
 * directories, 900 KiB of rows, and as many rows as the host keeps; what is left
 * out is said.
 */
#define WAYMARK_IMPLEMENTATION
#include "rule.h"

#define MAX_LEVELS 8
#define MAX_DIRS 500
#define MAX_ROWS ((size_t)900 * 1024) /* of the 1 MiB that a host takes */

typedef struct {
  const wm_request *req;
  wm_response *resp;
  const char *top; /* the directory of all rules, which names leave out */
  int dirs;        /* looked at so far */
  int64_t rows;    /* of all files */
  int64_t left;    /* rules without room */
} finder;

static void take(finder *f, const char *path) {
  wm_str name = wm_text(path + strlen(f->top) + 1);
  name.len -= strlen(SUFFIX);
  int64_t most = f->req->limits.max_resources;
  if (wm_size(f->resp) > MAX_ROWS || (most > 0 && f->rows >= most)) {
    f->left++;
    return;
  }
  f->rows++;
  add_rule(f->req, f->resp, path, name, false);
}

/* A link that is named like a file stands where a file belongs. */
static bool is_rule(const wm_entry *e) {
  wm_str name = wm_text(e->name);
  return e->type != WM_DIR && wm_has_suffix(name, SUFFIX) && name.len > strlen(SUFFIX);
}

static bool leads_to_dir(const char *path) {
  wm_info info;
  return wm_stat(path, &info) == 0 && info.type == WM_DIR;
}

/* walk takes the files of a directory before what is below it, and links last:
 * of two names of one file the shorter one stands. */
static void walk(finder *f, const char *dir, int level, bool linked) {
  wm_entries entries;
  if (level > MAX_LEVELS || f->dirs++ >= MAX_DIRS || wm_read_dir(dir, &entries) != 0) return;
  for (int pass = 0; pass < 3; pass++) {
    for (size_t i = 0; i < entries.len; i++) {
      const wm_entry *e = &entries.items[i];
      const char *path = wm_join(dir, "/", e->name, NULL);
      bool rule = is_rule(e);
      if (pass == 0 && rule) take(f, path);
      if (pass == 1 && e->type == WM_DIR) walk(f, path, level + 1, linked);
      if (pass == 2 && e->type == WM_LINK && !rule && !linked && leads_to_dir(path)) walk(f, path, level + 1, true);
    }
  }
}

/* has reports whether a directory has an entry that isn't a directory: reading
 * the file would tell less, since a file that can't be read is to be reported. */
static bool has(const char *dir, const char *name) {
  wm_entries entries;
  if (wm_read_dir(dir, &entries) != 0) return false;
  for (size_t i = 0; i < entries.len; i++) {
    if (strcmp(entries.items[i].name, name) == 0) return entries.items[i].type != WM_DIR;
  }
  return false;
}

static bool resolve(const wm_request *req, wm_response *resp) {
  static const char repository[] = "copilot-instructions.md";
  if (*req->root.role != '\0' || *req->root.file != '\0') return true; /* a place of somebody else's */
  bool home = strcmp(req->root.name, ".copilot") == 0;
  const char *prefix = home ? "" : ".github/";
  finder f = {.req = req, .resp = resp, .top = wm_join(prefix, "instructions", NULL)};
  if (has(home ? "." : ".github", repository)) {
    add_rule(req, resp, wm_join(prefix, repository, NULL), wm_text("copilot-instructions"), true);
    f.rows++;
  }
  walk(&f, f.top, 1, false);
  if (f.dirs > MAX_DIRS) wm_warn(resp, wm_join(f.top, ": more than 500 directories: some were not looked at", NULL));
  if (f.left > 0) {
    wm_writer count = {0};
    wm_write_int(&count, f.left);
    wm_warn(resp, wm_join(f.top, ": too many rules: ", wm_copy(wm_written(&count)).data, " were left out", NULL));
  }
  return true;
}

WM_SERVE(.name = "copilot-instructions", .version = "1.0.0",
         .resolvers = WM_RESOLVERS({
             .name = "copilot-instructions",
             .kinds = WM_LIST(WM_INSTRUCTION_FILE),
             .summary = ".github/copilot-instructions.md and .github/instructions/**/*.instructions.md",
             .reads = WM_LIST(".github/copilot-instructions.md", ".github/instructions/**/*.instructions.md",
                              "copilot-instructions.md", "instructions/**/*.instructions.md"),
             .resolve = resolve,
         }));
