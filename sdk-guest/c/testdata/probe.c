/* What the kit's functions make of bytes. As a program it answers questions on
 * standard input; as a module it answers the same ones from its configuration,
 * and reads files. */
#define WAYMARK_IMPLEMENTATION
#include "../waymark.h"

/* echo writes a parsed value again. */
static void echo(wm_writer *w, const wm_json *v) {
  int64_t n;
  switch (v->type) {
  case WM_OBJECT:
  case WM_ARRAY:
    wm_begin(w, v->type == WM_OBJECT ? '{' : '[');
    for (const wm_json *e = v->child; e != NULL; e = e->next) {
      if (v->type == WM_OBJECT) {
        wm__separate(w);
        wm__literal(w, e->key);
        wm__append(w, ":", 1);
        w->comma = false;
      }
      echo(w, e);
    }
    wm_end(w, v->type == WM_OBJECT ? '}' : ']');
    break;
  case WM_STRING: wm_write(w, v->text); break;
  case WM_BOOL: wm_write_bool(w, v->truth); break;
  case WM_NULL: wm__separate(w), wm__append(w, "null", 4); break;
  case WM_NUMBER:
    if (wm_integer(v, &n)) {
      wm_write_int(w, n);
    } else {
      wm__separate(w);
      wm__append(w, v->text.data, v->text.len);
    }
  }
}

/* shown writes a value of front matter; {"=": ...} is a scalar that may be
 * several things. */
static void shown(wm_writer *w, const wm_meta *v) {
  switch (v->type) {
  case WM_MEMBERS:
  case WM_ITEMS:
    wm_begin(w, v->type == WM_MEMBERS ? '{' : '[');
    for (const wm_meta *m = v->child; m != NULL; m = m->next) {
      if (v->type == WM_MEMBERS) {
        wm__separate(w);
        wm__literal(w, m->key);
        wm__append(w, ":", 1);
        w->comma = false;
      }
      shown(w, m);
    }
    wm_end(w, v->type == WM_MEMBERS ? '}' : ']');
    break;
  case WM_TEXT: wm_write(w, v->text); break;
  case WM_TRUTH: wm_write_bool(w, wm_meta_true(v)); break;
  case WM_NOTHING: wm__separate(w), wm__append(w, "null", 4); break;
  case WM_SCALAR:
    wm_begin(w, '{');
    wm_key(w, "=");
    wm_write(w, v->text);
    wm_end(w, '}');
  }
}

/* parsed is a block as a value, or as an error. */
static wm_str parsed(wm_str block, bool lenient) {
  const char *error;
  wm_writer w = {0};
  const wm_meta *v = wm_parse_meta(block, lenient, &error);
  if (v == NULL) return wm_text(error);
  shown(&w, v);
  return wm_written(&w);
}

/* globs is what "globs" of a block says, by lines. */
static wm_str globs(wm_str block) {
  const wm_meta *v = wm_parse_meta(block, true, NULL);
  const char *text = "";
  if (v == NULL) return (wm_str){"", 0};
  wm_list list = wm_meta_globs(wm_meta_get(v, "globs"));
  for (size_t i = 0; i < list.len; i++) text = wm_join(text, list.items[i], "\n", NULL);
  return wm_text(text);
}

/* answer does what the first byte of a question says with the rest. */
static wm_str answer(wm_str q) {
  wm_writer w = {0};
  wm_str block, rest, in = {q.data + 2, q.len - 2};
  unsigned char param = (unsigned char)q.data[1];
  switch (q.data[0]) {
  case 'j': { /* JSON, parsed and written */
    const wm_json *v = wm_parse(in);
    if (v != NULL) echo(&w, v);
    break;
  }
  case 'w': wm_write(&w, in); break;
  case 't': return wm_text(wm_truncate(in, param));
  case 'f': /* front matter; param says whether the text is the whole file */
    wm_begin(&w, '[');
    wm_write_int(&w, wm_front_matter(in, param != 0, &block, &rest));
    wm_write(&w, block);
    wm_write(&w, rest);
    wm_end(&w, ']');
    break;
  case 's': return parsed(in, param != 0); /* a block of front matter; param: lenient */
  case 'g': return globs(in);
  case 'l': { /* the line "key:" of a block */
    bool found = wm_line(in, "key", &block, &rest);
    wm_begin(&w, '[');
    wm_write_bool(&w, found);
    wm_write(&w, block);
    if (found) wm_write(&w, rest);
    wm_end(&w, ']');
    break;
  }
  case 'd': /* describe */
    (void)wm_handle_describe(&wm_served, &block);
    return block;
  case 'r': /* resolve: + or -, then the answer or the error */
    block.data = wm_handle_resolve(&wm_served, in, 0, &rest) ? "+" : "-";
    wm__append(&w, block.data, 1);
    wm__append(&w, rest.data, rest.len);
    break;
  }
  return wm_written(&w);
}

/* request shows what a resolver is asked. */
static bool request(const wm_request *req, wm_response *resp) {
  wm_list names = {0}, none = {0};
  const char *text;
  bool flag;
  int64_t number;
  wm_attributes a = {0};
  wm_push(&names, "default");
  if (!wm_config_string(req, "text", "default", &text) || !wm_config_bool(req, "flag", true, &flag) ||
      !wm_config_int(req, "number", -7, &number) || !wm_config_list(req, "names", &names)) {
    return false;
  }
  wm_writer limits = {0}, digits = {0};
  wm_write_int(&limits, req->limits.max_resource_bytes);
  wm_write_int(&limits, req->limits.max_resources);
  wm_write_int(&digits, number);
  wm_set(&a, "text", "replaced below");
  wm_set(&a, "root", wm_join(req->root.name, "|", req->root.file, "|", req->root.role, NULL));
  wm_set(&a, "text", text);
  wm_set(&a, "number", wm_copy(wm_written(&digits)).data);
  wm_set(&a, "limits", wm_copy(wm_written(&limits)).data);
  wm_set_list(&a, "names", &names);
  wm_set_list(&a, "none", &none);
  wm_set(&a, "flag", flag ? "yes" : "no");
  wm_add(resp, &(wm_resource){.kind = WM_COMMAND, .path = "a", .key = "k", .name = "n", .description = "d", .attributes = &a, .content = wm_file("b")});
  wm_add(resp, &(wm_resource){.kind = WM_INSTRUCTION_FILE, .path = ".", .content = wm_inline(wm_text("")), .status = WM_INVALID, .error = "e"});
  wm_warn(resp, "careful");
  return true;
}

static const char *hex(wm_str s) {
  char *out = wm_alloc(s.len * 2 + 1);
  for (size_t i = 0; i < s.len; i++) {
    out[2 * i] = "0123456789abcdef"[(unsigned char)s.data[i] >> 4];
    out[2 * i + 1] = "0123456789abcdef"[s.data[i] & 15];
  }
  return out;
}

static wm_str unhex(const char *text) {
  size_t n = strlen(text) / 2;
  char *out = wm_alloc(n + 1);
  for (size_t i = 0; i < n; i++) {
    char pair[3] = {text[2 * i], text[2 * i + 1], 0};
    out[i] = (char)strtol(pair, NULL, 16);
  }
  return (wm_str){out, n};
}

/* ask answers a question, in hexadecimal. */
static bool ask(const wm_request *req, wm_response *resp) {
  const char *question;
  if (!wm_config_string(req, "question", "", &question)) return false;
  if (strlen(question) < 4) return wm_fail("no question");
  wm_add(resp, &(wm_resource){.kind = WM_COMMAND, .path = ".", .content = wm_inline(wm_text(hex(answer(unhex(question)))))});
  return true;
}

/* files says what is at some paths. */
static bool files(const wm_request *req, wm_response *resp) {
  static const char *const types[] = {"file", "dir", "link", "other"};
  wm_list paths = {0};
  int64_t n;
  if (!wm_config_list(req, "paths", &paths) || !wm_config_int(req, "head", 8, &n)) return false;
  for (size_t i = 0; i < paths.len; i++) {
    wm_attributes a = {0};
    wm_info info;
    wm_str head;
    wm_entries entries;
    wm_list names = {0};
    wm_writer size = {0};
    const char *path = paths.items[i];
    int err = wm_stat(path, &info);
    wm_write_int(&size, info.size);
    wm_set(&a, "stat", err != 0 ? strerror(err) : wm_join(types[info.type], " ", wm_copy(wm_written(&size)).data, NULL));
    err = wm_read_head(path, (size_t)n, &head);
    wm_set(&a, "head", err != 0 ? strerror(err) : wm_copy(head).data);
    err = wm_read_dir(path, &entries);
    for (size_t k = 0; k < entries.len; k++) wm_push(&names, wm_join(entries.items[k].name, " ", types[entries.items[k].type], NULL));
    if (err != 0) wm_push(&names, strerror(err));
    wm_set_list(&a, "dir", &names);
    wm_add(resp, &(wm_resource){.kind = WM_COMMAND, .path = ".", .key = path, .attributes = &a});
  }
  return true;
}

/* odd does what its configuration says. */
static bool odd(const wm_request *req, wm_response *resp) {
  const char *how;
  int64_t n;
  if (!wm_config_string(req, "how", "", &how) || !wm_config_int(req, "rows", 0, &n)) return false;
  if (strcmp(how, "log") == 0) {
    for (int level = WM_TRACE; level <= WM_ERROR; level++) wm_log((wm_level)level, "a line with \xff in it");
    wm_log(WM_INFO, "");
  }
  if (strcmp(how, "fail") == 0) return wm_fail("it can't be done");
  if (strcmp(how, "silent") == 0) return false;
  if (strcmp(how, "hungry") == 0) {
    for (;;) (void)wm_alloc((size_t)1 << 20);
  }
  for (int64_t i = 0; i < n; i++) {
    wm_writer key = {0};
    wm_write_int(&key, i);
    wm_add(resp, &(wm_resource){.kind = WM_COMMAND, .path = ".", .key = wm_copy(wm_written(&key)).data, .name = "row"});
  }
  return true;
}

#define KINDS WM_LIST(WM_INSTRUCTION_FILE, WM_COMMAND)
WM_SERVE(.name = "c-probe", .version = "1.2.3",
         .resolvers = WM_RESOLVERS({.name = "request",
                                    .kinds = KINDS,
                                    .summary = "what was asked, \"quoted\" \xe2\x80\x93 \xc3\xbc",
                                    .reads = WM_LIST("**"),
                                    .reads_from_config = WM_LIST("names"),
                                    .resolve = request},
                                   {.name = "ask", .kinds = KINDS, .resolve = ask},
                                   {.name = "files", .kinds = KINDS, .reads = WM_LIST("**"), .resolve = files},
                                   {.name = "odd", .kinds = KINDS, .resolve = odd}));

#ifndef __wasm__

/* Descriptions that a host would reject, one after the other. */
static const wm_module bad[] = {
    {.name = "Bad", .version = "1", .resolvers = WM_RESOLVERS({.name = "r", .kinds = KINDS, .resolve = odd})},
    {.name = "a--b", .version = "1", .resolvers = WM_RESOLVERS({.name = "r", .kinds = KINDS, .resolve = odd})},
    {.name = "a", .version = "", .resolvers = WM_RESOLVERS({.name = "r", .kinds = KINDS, .resolve = odd})},
    {.name = "a", .version = "1"},
    {.name = "a", .version = "1", .resolvers = WM_RESOLVERS({.name = "-r", .kinds = KINDS, .resolve = odd})},
    {.name = "a", .version = "1", .resolvers = WM_RESOLVERS({.name = "r", .kinds = KINDS, .resolve = odd}, {.name = "r", .kinds = KINDS, .resolve = odd})},
    {.name = "a", .version = "1", .resolvers = WM_RESOLVERS({.name = "r", .resolve = odd})},
    {.name = "a", .version = "1", .resolvers = WM_RESOLVERS({.name = "r", .kinds = WM_LIST("mcp_server"), .resolve = odd})},
    {.name = "a", .version = "1", .resolvers = WM_RESOLVERS({.name = "r", .kinds = KINDS})},
};

static bool read_all(void *to, size_t n) {
  for (size_t done = 0; done < n;) {
    ssize_t got = read(0, (char *)to + done, n - done);
    if (got <= 0) return false;
    done += (size_t)got;
  }
  return true;
}

static void write_all(const char *from, size_t n) {
  for (size_t done = 0; done < n;) {
    ssize_t got = write(1, from + done, n - done);
    if (got <= 0) exit(1);
    done += (size_t)got;
  }
}

/* Questions and answers are preceded by their length, four bytes each. */
int main(void) {
  uint32_t n;
  while (read_all(&n, sizeof n)) {
    char *q = malloc(n); /* of that very size, for the sanitizer to see what is read beyond */
    if (q == NULL || !read_all(q, n)) return 1;
    wm__reset();
    wm_str a = {0};
    if (q[0] != 'v') {
      a = answer((wm_str){q, n});
    } else if (wm_handle_describe(&bad[(unsigned char)q[1] % (sizeof bad / sizeof *bad)], &a)) {
      a = wm_text("accepted");
    }
    uint32_t len = (uint32_t)a.len;
    write_all((const char *)&len, sizeof len);
    write_all(a.data, a.len);
    free(q);
  }
  wm__reset();
  return 0;
}

#endif
