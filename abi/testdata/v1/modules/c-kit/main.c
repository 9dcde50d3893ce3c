/* A resolver that uses most of the C kit: configuration, listing, heads, front
 * matter, attributes, warnings, log lines and errors. */
#define WAYMARK_IMPLEMENTATION
#include "waymark.h"

static void note(const wm_request *req, wm_response *resp, const char *path) {
  wm_resource r = {.kind = WM_INSTRUCTION_FILE, .path = path, .content = wm_file(path)};
  wm_str head, block, rest;
  wm_fields fields;
  wm_attributes attributes = {0};
  wm_list tags = {0};
  (void)req;
  if (wm_read_head(path, 4096, &head) == 0) {
    switch (wm_front_matter(head, head.len < 4096, &block, &rest)) {
      case WM_FOUND:
        if (!wm_scan(block, &fields)) {
          r.status = WM_INVALID;
          r.error = "the front matter is not simple";
          break;
        }
        if (wm_lookup(&fields, "name")) r.name = wm_truncate(wm_lookup(&fields, "name")->value, WM_MAX_NAME);
        if (wm_lookup(&fields, "description"))
          r.description = wm_truncate(wm_lookup(&fields, "description")->value, WM_MAX_DESCRIPTION);
        if (wm_lookup(&fields, "tag")) {
          wm_push(&tags, wm_truncate(wm_lookup(&fields, "tag")->value, WM_MAX_NAME));
          wm_set_list(&attributes, "tags", &tags);
        }
        break;
      case WM_NOT_CLOSED:
        r.status = WM_INVALID;
        r.error = "the front matter is not closed";
        break;
      case WM_NO_FRONT_MATTER:
        r.description = wm_truncate(wm_trim(head, "# \n"), WM_MAX_DESCRIPTION);
    }
  }
  wm_set(&attributes, "mode", "scoped");
  r.attributes = &attributes;
  wm_add(resp, &r);
}

static bool resolve(const wm_request *req, wm_response *resp) {
  const char *extra;
  wm_entries entries;
  if (!wm_config_string(req, "extra", "", &extra)) return false;
  if (*req->root.role || *req->root.file) return true;
  if (wm_read_dir("notes", &entries) == 0) {
    for (size_t i = 0; i < entries.len; i++) {
      if ((int64_t)i == req->limits.max_resources) {
        wm_warn(resp, "there are more notes");
        break;
      }
      if (entries.items[i].type != WM_DIR && wm_has_suffix(wm_text(entries.items[i].name), ".md"))
        note(req, resp, wm_join("notes/", entries.items[i].name, NULL));
    }
  }
  if (*extra) {
    wm_info info;
    int err = wm_stat(extra, &info);
    if (err == 0)
      wm_add(resp, &(wm_resource){.kind = WM_COMMAND, .path = extra, .key = "extra", .content = wm_inline(wm_text("see the file\n"))});
    else
      wm_log(WM_WARNING, wm_join("no ", extra, NULL));
  }
  return true;
}

WM_SERVE(.name = "frozen-c-kit", .version = "1.0.0",
         .resolvers = WM_RESOLVERS({.name = "notes",
                                    .kinds = WM_LIST(WM_INSTRUCTION_FILE, WM_COMMAND),
                                    .summary = "notes/*.md, and the file that the configuration calls extra",
                                    .reads = WM_LIST("notes/*.md"),
                                    .reads_from_config = WM_LIST("extra"),
                                    .resolve = resolve}));
