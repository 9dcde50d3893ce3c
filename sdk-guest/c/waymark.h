/*
 * waymark.h: the C kit for Waymark resolvers, in one header.
 *
 * A resolver is a function that looks at one scan root and says what it found:
 *
 *     #define WAYMARK_IMPLEMENTATION
 *     #include "waymark.h"
 *
 *     static bool resolve(const wm_request *req, wm_response *resp) {
 *       wm_info info;
 *       (void)req;
 *       if (wm_stat("ACME.md", &info) != 0) return true;  // nothing found
 *       wm_add(resp, &(wm_resource){.kind = WM_INSTRUCTION_FILE, .path = "ACME.md",
 *                                   .content = wm_file("ACME.md")});
 *       return true;
 *     }
 *
 *     WM_SERVE(.name = "acme-rules", .version = "1.0.0",
 *              .resolvers = WM_RESOLVERS({.name = "acme-rules",
 *                                         .kinds = WM_LIST(WM_INSTRUCTION_FILE),
 *                                         .summary = "ACME.md at the top level",
 *                                         .reads = WM_LIST("ACME.md"),
 *                                         .resolve = resolve}));
 *
 * WAYMARK_IMPLEMENTATION goes into exactly one source file, before all other
 * headers. `harness build`
 * makes the module; without the harness it is
 *
 *     clang-19 --target=wasm32-wasi -mexec-model=reactor -O2 -o acme-rules.wasm acme-rules.c
 *
 * GUARANTEES
 *
 *   - The answers to describe and resolve are valid JSON of ABI version 1,
 *     whatever bytes they are made of: what isn't UTF-8 becomes U+FFFD.
 *   - Resources keep their order and attributes are written sorted: equal
 *     results are equal bytes.
 *   - A request that isn't one, a resolver that the module doesn't have and a
 *     module that a host would reject are errors with a reason.
 *   - Directory listings are in byte order.
 *   - Every function takes every input: lengths are checked, nesting is bounded,
 *     and memory that isn't to be had ends the run with a text for the host.
 *   - wm_parse_meta reads as a YAML library does, or says what it doesn't read.
 *
 * MEMORY
 *
 * There is nothing to free. All that the kit hands out, and what wm_alloc
 * gives, lives in one arena until the next call of the module; in a sandbox
 * there is no next call, since the host discards the instance. Texts in it end
 * with a NUL byte that isn't counted, so that `.data` of a wm_str from the kit
 * can be used as a C string (if it holds no NUL of its own).
 *
 * CONCURRENCY
 *
 * None: one thread, one call at a time.
 *
 * LIMITS
 *
 * C11, for clang's wasm32-wasi target and, for tests, any POSIX system. The
 * sizes of the ABI (WM_MAX_…) are the resolver's business: the host drops a row
 * that exceeds them; wm_truncate helps. Paths are C strings, relative to the
 * root, "." for the root itself. There are no units (memo_begin) here.
 */
#ifndef WAYMARK_H
#define WAYMARK_H

/* What a strict C compiler hides of POSIX otherwise. It works when no header of
 * the system was included before. */
#if defined(WAYMARK_IMPLEMENTATION) && !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE 1
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WAYMARK_KIT_VERSION "1.0.0"
#define WM_ABI 1

/* What the host accepts, in bytes of UTF-8. */
#define WM_MAX_NAME 256
#define WM_MAX_DESCRIPTION 4096
#define WM_MAX_ERROR 4096
#define WM_MAX_ATTRIBUTES (16 * 1024)

/* The kinds a resolver may declare. */
#define WM_INSTRUCTION_FILE "instruction_file"
#define WM_SKILL "skill"
#define WM_MCP_CONFIG "mcp_config"
#define WM_PLUGIN "plugin"
#define WM_HOOK "hook"
#define WM_SUBAGENT "subagent"
#define WM_COMMAND "command"

/* ---- Texts, lists, memory ---- */

/* A text with its length; it may hold any byte. {0} is the empty one. */
typedef struct {
  const char *data;
  size_t len;
} wm_str;

/* A list of texts that grows. {0} is the empty one. */
typedef struct {
  const char **items;
  size_t len, cap;
} wm_list;

/* wm_alloc gives zeroed memory until the next call of the module. */
void *wm_alloc(size_t size);
wm_str wm_text(const char *s);                  /* of a C string; NULL is empty */
wm_str wm_copy(wm_str s);                       /* a copy, with a NUL after it */
wm_str wm_trim(wm_str s, const char *what);     /* without these bytes at both ends */
bool wm_equal(wm_str s, const char *text);
bool wm_has_prefix(wm_str s, const char *prefix);
bool wm_has_suffix(wm_str s, const char *suffix);
/* wm_join puts texts together; the last argument is NULL. */
const char *wm_join(const char *first, ...);
void wm_push(wm_list *list, const char *item); /* keeps the pointer */
/* wm_truncate returns s as UTF-8 of at most n bytes, with an ellipsis at the
 * end when something was cut. */
const char *wm_truncate(wm_str s, size_t n);
/* wm_cut takes the first line off a text: *rest is what follows. The line has
 * no line end; the result is false when there was none to cut off. */
bool wm_cut(wm_str text, wm_str *line, wm_str *rest);

/* ---- Requests ---- */

typedef enum { WM_NULL, WM_BOOL, WM_NUMBER, WM_STRING, WM_ARRAY, WM_OBJECT } wm_type;

/* A JSON value. Elements and members are a chain: child, then next. */
typedef struct wm_json {
  wm_type type;
  bool truth;                   /* of WM_BOOL */
  wm_str text;                  /* of WM_STRING, and the digits of WM_NUMBER */
  wm_str key;                   /* in an object */
  const struct wm_json *child;  /* of WM_ARRAY and WM_OBJECT */
  const struct wm_json *next;
} wm_json;

/* wm_parse reads one JSON document: strictly RFC 8259, valid UTF-8, no lone
 * surrogates, no key twice, at most 512 levels. NULL for anything else. */
const wm_json *wm_parse(wm_str text);
/* wm_get returns a member of an object, NULL when there is none. */
const wm_json *wm_get(const wm_json *object, const char *key);
/* wm_integer reads a number without fraction and exponent. */
bool wm_integer(const wm_json *v, int64_t *out);

typedef struct {
  const char *resolver; /* the name under which the resolver was called */
  struct {
    const char *name; /* base name of the root directory */
    const char *file; /* "" or the one file that the root is */
    const char *role; /* "", "instructions", "skills" or "mcp" */
  } root;
  const wm_json *config; /* the operator's table for this resolver, an object */
  struct {
    int64_t max_resource_bytes;
    int64_t max_resources;
  } limits;
} wm_request;

/* The configuration. Each sets *out to the default when the key is missing. A
 * value of another type is a mistake that should be seen, not skipped: they
 * return false with the error set, and the resolver should, too. */
bool wm_config_string(const wm_request *req, const char *key, const char *def, const char **out);
bool wm_config_bool(const wm_request *req, const char *key, bool def, bool *out);
bool wm_config_int(const wm_request *req, const char *key, int64_t def, int64_t *out);
/* A single string counts as a list of one. *out stays as it is when the key is
 * missing, and is replaced otherwise. */
bool wm_config_list(const wm_request *req, const char *key, wm_list *out);

/* ---- Responses ---- */

/* Where a payload is: by reference (the host reads, checks and hashes the
 * file) or in the response. {0} is no payload. */
typedef struct {
  const char *file;
  const char *text;
  size_t len;
  bool withheld; /* of a file: the host hashes it and keeps nothing of its text */
} wm_content;

wm_content wm_file(const char *path);
wm_content wm_inline(wm_str text);

/* Attributes: each a text or a list of texts. Setting one again replaces it. */
typedef struct {
  struct wm_attribute {
    const char *key;
    const char *text;
    const wm_list *list;
  } *items;
  size_t len, cap;
} wm_attributes;

void wm_set(wm_attributes *a, const char *key, const char *text);
void wm_set_list(wm_attributes *a, const char *key, const wm_list *list); /* keeps the pointer */

#define WM_INVALID "invalid"

/* Something to know about a find that is there all the same. */
typedef struct {
  const char *code;     /* for machines: lower-case words joined by hyphens */
  const char *severity; /* "info", "warning" or "error" */
  const char *message;  /* one line for a person */
} wm_finding;

/* One find. NULL and "" are both absent. */
typedef struct {
  const char *kind;          /* required: one that the resolver declared */
  const char *path;          /* required: what it is about; "." is the root */
  const char *key;           /* tells several resources of one path apart */
  wm_content content;
  const char *name;
  const char *description;
  const char *status;        /* WM_INVALID, or absent */
  const char *error;         /* with WM_INVALID: what is wrong, for a person */
  const wm_attributes *attributes;
  const char *convention;    /* the id of the convention that it was found by */
  const wm_list *readers;    /* ids of the agents that read it, if no convention says so */
  const wm_finding *findings; /* what there is to know about it; findings_len of them */
  size_t findings_len;
} wm_resource;

typedef struct wm_response wm_response;

void wm_add(wm_response *resp, const wm_resource *r);
/* wm_size is how many bytes the rows take so far: a host takes 1 MiB in all. */
size_t wm_size(const wm_response *resp);
/* wm_warn adds a line for a person; it changes no status. */
void wm_warn(wm_response *resp, const char *line);
/* wm_fail sets the error of the call and returns false: the run fails, and the
 * host keeps the last good result. What is wrong with one file belongs into
 * that resource's status and error instead. */
bool wm_fail(const char *text);

/* ---- Logging ---- */

typedef enum { WM_TRACE, WM_DEBUG, WM_INFO, WM_WARNING, WM_ERROR } wm_level;

/* wm_log hands one line to the host's log, up to a number of bytes per run. */
void wm_log(wm_level level, const char *line);

/* ---- Files ---- */

/* All of these return 0 or an errno value: ENOENT for what isn't there or isn't
 * visible, EACCES for a link out of the root, EISDIR, ELOOP, EIO and so on, see
 * ABI.md. The functions of stdio and POSIX work, too. */

typedef enum { WM_FILE, WM_DIR, WM_LINK, WM_OTHER } wm_filetype;

typedef struct {
  wm_filetype type;
  int64_t size; /* of a file */
} wm_info;

typedef struct {
  const char *name;
  wm_filetype type; /* of the entry itself: a link is WM_LINK */
} wm_entry;

typedef struct {
  wm_entry *items;
  size_t len, cap;
} wm_entries;

/* wm_stat follows links. */
int wm_stat(const char *path, wm_info *out);
/* wm_read_head reads the first n bytes of a file, or all of a shorter one: a
 * result shorter than n is the whole file. Most files say what they are in
 * their first lines. */
int wm_read_head(const char *path, size_t n, wm_str *out);
/* wm_read_dir lists a directory in byte order. */
int wm_read_dir(const char *path, wm_entries *out);

/* ---- Front matter ---- */

typedef enum {
  WM_FOUND,
  WM_NO_FRONT_MATTER, /* the first line is not --- */
  WM_NOT_CLOSED       /* no line is just --- */
} wm_found;

/* wm_front_matter finds the lines between the delimiters, and what comes after
 * them. A delimiter is a line that is just ---, with or without blanks around
 * it; a byte order mark and CRLF are fine. complete says that text is the whole
 * file: when it isn't, WM_NOT_CLOSED means that more text is needed. */
wm_found wm_front_matter(wm_str text, bool complete, wm_str *block, wm_str *rest);

typedef enum {
  WM_NOTHING, /* null, one of the words for it, or not there */
  WM_TRUTH,   /* true or false */
  WM_SCALAR,  /* a number, a date, or a word like yes that only some versions of YAML take for a boolean */
  WM_TEXT,    /* a string in every version of YAML */
  WM_ITEMS,   /* a list */
  WM_MEMBERS  /* a map */
} wm_metatype;

/* A value of front matter. Items and members are a chain: child, then next. */
typedef struct wm_meta {
  wm_metatype type;
  wm_str text; /* what a text says, what another scalar is written as, "true" or "false"; else empty */
  wm_str key;  /* in a map */
  int line;    /* where it begins, counted as in the file */
  const struct wm_meta *child;
  const struct wm_meta *next;
} wm_meta;

/* The bytes that a block may have. */
#define WM_MAX_FRONT_MATTER ((size_t)64 * 1024)

/* wm_parse_meta has the host read a block that wm_front_matter has found: a map, which is
 * empty when there are only blank lines and comments. It reads what agents'
 * files hold of YAML: maps and lists of lines and in brackets, texts with and
 * without quotes, over several lines, | and >, comments; and not anchors,
 * aliases, tags, complex keys and several documents. NULL: *error, if error isn't
 * NULL, says which line of the file is wrong, and what is. Outside of a sandbox there
 * is no host, and nothing is read.
 *
 * lenient: what YAML refuses and people write all the same, on one line behind a
 * key or a dash, is a text: patterns without quotes ("globs: *.ts") and texts with ": " in them. */
const wm_meta *wm_parse_meta(wm_str block, bool lenient, const char **error);
/* wm_meta_get returns the value of a key of a map; one that isn't there, or of
 * what is no map, is WM_NOTHING, and never NULL. */
const wm_meta *wm_meta_get(const wm_meta *map, const char *key);
/* wm_meta_true reports whether a value is true: not "true", which is a text. */
bool wm_meta_true(const wm_meta *v);
/* wm_meta_globs reads patterns as agents do: a list of texts, or one text with
 * commas between them. A comma in braces belongs to its pattern. What is more
 * than 8 KiB, which attributes have room for, is left out. */
wm_list wm_meta_globs(const wm_meta *v);

/* wm_line finds the first line "key:" at the left edge of a block and returns
 * what follows it on that line, without blanks around it. It is for formats
 * that look like YAML and aren't ("globs: *.ts, *.js"), and knows nothing of
 * quotes and comments. after, if not NULL, is set to the lines below. */
bool wm_line(wm_str block, const char *key, wm_str *value, wm_str *after);

/* ---- Writing JSON ---- */

/* A writer builds one value. {0} is ready for use. A key before each member's
 * value and an end for each begin are the caller's business. */
typedef struct {
  char *data;
  size_t len, cap;
  bool comma;
} wm_writer;

void wm_begin(wm_writer *w, char bracket); /* '{' or '[' */
void wm_end(wm_writer *w, char bracket);   /* '}' or ']' */
void wm_key(wm_writer *w, const char *key);
void wm_write(wm_writer *w, wm_str s); /* a string */
void wm_write_int(wm_writer *w, int64_t n);
void wm_write_bool(wm_writer *w, bool b);
wm_str wm_written(const wm_writer *w);

/* ---- The module ---- */

/* Lists end with NULL. */
typedef struct {
  const char *name;
  const char *const *kinds;
  const char *summary; /* one line for a person */
  /* Doublestar patterns, relative to the root. What matches none of them doesn't
   * exist for the resolver, except the directories on the way. */
  const char *const *reads;
  /* Config keys that hold literal paths which count as reads. */
  const char *const *reads_from_config;
  bool (*resolve)(const wm_request *req, wm_response *resp);
  /* Fields of the request that make no difference to the answer, such as "root.name". */
  const char *const *ignores;
} wm_resolver;

typedef struct {
  const char *name;    /* lower-case words joined by hyphens, at most 64 bytes */
  const char *version; /* yours, for example "1.0.0" */
  const wm_resolver *resolvers; /* ends with one that has no name */
} wm_module;

#define WM_LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define WM_RESOLVERS(...) ((const wm_resolver[]){__VA_ARGS__, {.name = NULL}})
/* WM_SERVE makes a module what the .wasm file is. Once, in any source file. */
#define WM_SERVE(...) const wm_module wm_served = {__VA_ARGS__}
extern const wm_module wm_served;

/* What the exports of the module do, for tests outside of a sandbox: root is a
 * descriptor of the directory that stands for the root. False: *out is the
 * error text. */
bool wm_handle_describe(const wm_module *m, wm_str *out);
bool wm_handle_resolve(const wm_module *m, wm_str input, int root, wm_str *out);

#endif /* WAYMARK_H */

#ifdef WAYMARK_IMPLEMENTATION
#undef WAYMARK_IMPLEMENTATION

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- State ---- */

struct wm__chunk {
  struct wm__chunk *next;
};

struct wm__arena {
  struct wm__chunk *chunks; /* the newest first */
  char *free;               /* what is left of the newest */
  size_t left;
};

static struct {
  struct wm__arena memory;  /* all of this call */
  struct wm__arena scratch; /* of one answer of the host, while it is read */
  const char *error;
  int root; /* descriptor of the root directory; in a sandbox it is always 3 */
} wm__state = {.root = 3};

/* ---- Memory ---- */

#define WM__CHUNK ((size_t)64 * 1024)
#define WM__ALIGN ((size_t)16)

_Noreturn static void wm__die(const char *text) {
  (void)!write(2, text, strlen(text));
  abort(); /* a trap: the host shows what stands on standard error */
}

static size_t wm__sum(size_t a, size_t b) {
  if (a > SIZE_MAX - b) wm__die("waymark.h: a size is out of range\n");
  return a + b;
}

void *wm_alloc(size_t size) {
  size = wm__sum(size, WM__ALIGN) & ~(WM__ALIGN - 1);
  struct wm__arena *a = &wm__state.memory;
  if (size > a->left) {
    size_t room = size > WM__CHUNK ? size : WM__CHUNK;
    struct wm__chunk *c = calloc(1, wm__sum(room, WM__ALIGN));
    if (c == NULL) wm__die("waymark.h: out of memory\n");
    c->next = a->chunks;
    a->chunks = c;
    a->free = (char *)c + WM__ALIGN;
    a->left = room;
  }
  void *p = a->free;
  a->free += size;
  a->left -= size;
  return p;
}

static void wm__forget(struct wm__arena *a) {
  while (a->chunks != NULL) {
    struct wm__chunk *next = a->chunks->next;
    free(a->chunks);
    a->chunks = next;
  }
  *a = (struct wm__arena){0};
}

/* wm__rewind forgets what there is, and keeps a chunk of the usual size for what comes. */
static void wm__rewind(struct wm__arena *a) {
  char *start = (char *)a->chunks + WM__ALIGN;
  if (a->chunks == NULL || a->chunks->next != NULL || (size_t)(a->free - start) + a->left != WM__CHUNK) {
    wm__forget(a);
    return;
  }
  memset(start, 0, (size_t)(a->free - start));
  a->free = start;
  a->left = WM__CHUNK;
}

/* wm__swap has what follows use the other arena. */
static void wm__swap(void) {
  struct wm__arena memory = wm__state.memory;
  wm__state.memory = wm__state.scratch;
  wm__state.scratch = memory;
}

/* wm__reset begins a call. */
static void wm__reset(void) {
  wm__forget(&wm__state.memory);
  wm__forget(&wm__state.scratch);
  wm__state.error = NULL;
}

/* wm__grow makes room for one more element. */
static void *wm__grow(void *items, size_t len, size_t *cap, size_t size) {
  if (len < *cap) return items;
  size_t more = *cap == 0 ? 8 : *cap * 2;
  if (more > SIZE_MAX / 2 / size) wm__die("waymark.h: a list is too long\n");
  void *grown = wm_alloc(more * size);
  if (len > 0) memcpy(grown, items, len * size);
  *cap = more;
  return grown;
}

/* ---- Texts ---- */

wm_str wm_text(const char *s) { return (wm_str){s == NULL ? "" : s, s == NULL ? 0 : strlen(s)}; }

wm_str wm_copy(wm_str s) {
  char *p = wm_alloc(wm__sum(s.len, 1));
  if (s.len > 0) memcpy(p, s.data, s.len);
  return (wm_str){p, s.len};
}

static bool wm__among(char c, const char *what) { return c != '\0' && strchr(what, c) != NULL; }

wm_str wm_trim(wm_str s, const char *what) {
  while (s.len > 0 && wm__among(s.data[0], what)) s.data++, s.len--;
  while (s.len > 0 && wm__among(s.data[s.len - 1], what)) s.len--;
  return s;
}

bool wm_has_prefix(wm_str s, const char *prefix) {
  size_t n = strlen(prefix);
  return s.len >= n && (n == 0 || memcmp(s.data, prefix, n) == 0);
}

bool wm_has_suffix(wm_str s, const char *suffix) {
  size_t n = strlen(suffix);
  return s.len >= n && (n == 0 || memcmp(s.data + s.len - n, suffix, n) == 0);
}

bool wm_equal(wm_str s, const char *text) { return s.len == strlen(text) && wm_has_prefix(s, text); }

static bool wm__same(wm_str a, wm_str b) {
  return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

const char *wm_join(const char *first, ...) {
  va_list args;
  size_t n = 0;
  va_start(args, first);
  for (const char *s = first; s != NULL; s = va_arg(args, const char *)) n = wm__sum(n, strlen(s));
  va_end(args);
  char *text = wm_alloc(wm__sum(n, 1)), *at = text;
  va_start(args, first);
  for (const char *s = first; s != NULL; s = va_arg(args, const char *)) {
    size_t len = strlen(s);
    memcpy(at, s, len);
    at += len;
  }
  va_end(args);
  return text;
}

void wm_push(wm_list *list, const char *item) {
  list->items = wm__grow(list->items, list->len, &list->cap, sizeof *list->items);
  list->items[list->len++] = item;
}

bool wm_cut(wm_str text, wm_str *line, wm_str *rest) {
  const char *end = text.len > 0 ? memchr(text.data, '\n', text.len) : NULL;
  size_t n = end != NULL ? (size_t)(end - text.data) : text.len;
  *line = (wm_str){text.data, n};
  if (end != NULL) n++;
  *rest = (wm_str){n > 0 ? text.data + n : text.data, text.len - n};
  if (line->len > 0 && line->data[line->len - 1] == '\r') line->len--;
  return end != NULL;
}

/* wm__rune decodes a character of UTF-8; its length is *size. -1, of length 1,
 * is a byte that begins none. s is not empty. */
static int32_t wm__rune(wm_str s, size_t *size) {
  static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  unsigned char first = (unsigned char)s.data[0];
  size_t n = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf8 ? 4 : 0;
  *size = 1;
  if (n == 1) return first;
  if (n == 0 || n > s.len) return -1;
  int32_t r = first & (0x7f >> n);
  for (size_t i = 1; i < n; i++) {
    unsigned char c = (unsigned char)s.data[i];
    if ((c & 0xc0) != 0x80) return -1;
    r = r << 6 | (c & 0x3f);
  }
  if (r < least[n] || r > 0x10ffff || (r >= 0xd800 && r < 0xe000)) return -1;
  *size = n;
  return r;
}

static size_t wm__encode(int32_t r, char out[4]) {
  if (r < 0x80) {
    out[0] = (char)r;
    return 1;
  }
  if (r < 0x800) {
    out[0] = (char)(0xc0 | r >> 6);
    out[1] = (char)(0x80 | (r & 0x3f));
    return 2;
  }
  if (r < 0x10000) {
    out[0] = (char)(0xe0 | r >> 12);
    out[1] = (char)(0x80 | (r >> 6 & 0x3f));
    out[2] = (char)(0x80 | (r & 0x3f));
    return 3;
  }
  out[0] = (char)(0xf0 | r >> 18);
  out[1] = (char)(0x80 | (r >> 12 & 0x3f));
  out[2] = (char)(0x80 | (r >> 6 & 0x3f));
  out[3] = (char)(0x80 | (r & 0x3f));
  return 4;
}

static const char wm__replacement[] = "\xef\xbf\xbd", wm__ellipsis[] = "\xe2\x80\xa6";

const char *wm_truncate(wm_str s, size_t n) {
  const size_t dots = sizeof wm__ellipsis - 1;
  char *out = wm_alloc(wm__sum(n < s.len ? n : wm__sum(s.len, wm__sum(s.len, s.len)), dots + 1));
  size_t len = 0, cut = 0; /* cut is where an ellipsis would still fit */
  while (s.len > 0) {
    size_t size;
    bool bad = wm__rune(s, &size) < 0;
    const char *from = bad ? wm__replacement : s.data;
    size_t width = bad ? sizeof wm__replacement - 1 : size;
    if (len + width > n) {
      if (n < dots) return "";
      memcpy(out + cut, wm__ellipsis, dots + 1);
      return out;
    }
    memcpy(out + len, from, width);
    len += width;
    if (len + dots <= n) cut = len;
    s.data += size;
    s.len -= size;
  }
  out[len] = '\0';
  return out;
}

/* ---- Writing JSON ---- */

static void wm__append(wm_writer *w, const char *data, size_t n) {
  size_t need = wm__sum(w->len, n);
  if (need > w->cap) {
    size_t cap = wm__sum(need, need > WM__CHUNK ? need : WM__CHUNK / 16);
    char *grown = wm_alloc(cap);
    if (w->len > 0) memcpy(grown, w->data, w->len);
    w->data = grown;
    w->cap = cap;
  }
  if (n > 0) memcpy(w->data + w->len, data, n);
  w->len += n;
}

static void wm__separate(wm_writer *w) {
  if (w->comma) wm__append(w, ",", 1);
  w->comma = true;
}

void wm_begin(wm_writer *w, char bracket) {
  wm__separate(w);
  wm__append(w, &bracket, 1);
  w->comma = false;
}

void wm_end(wm_writer *w, char bracket) {
  wm__append(w, &bracket, 1);
  w->comma = true;
}

static void wm__escape(wm_writer *w, unsigned char c) {
  static const char hex[] = "0123456789abcdef";
  char text[6] = {'\\', (char)c, '0', '0', hex[c >> 4], hex[c & 15]};
  switch (c) {
  case '\n': text[1] = 'n'; break;
  case '\r': text[1] = 'r'; break;
  case '\t': text[1] = 't'; break;
  case '"': case '\\': break;
  default:
    text[1] = 'u';
    wm__append(w, text, 6);
    return;
  }
  wm__append(w, text, 2);
}

static void wm__literal(wm_writer *w, wm_str s) {
  size_t plain = 0; /* bytes that stand for themselves and wait to be copied */
  wm__append(w, "\"", 1);
  while (s.len > plain) {
    wm_str rest = {s.data + plain, s.len - plain};
    unsigned char c = (unsigned char)rest.data[0];
    size_t size;
    bool bad = wm__rune(rest, &size) < 0;
    if (!bad && c >= ' ' && c != '"' && c != '\\') {
      plain += size;
      continue;
    }
    wm__append(w, s.data, plain);
    if (bad) {
      wm__append(w, wm__replacement, sizeof wm__replacement - 1);
    } else {
      wm__escape(w, c);
    }
    s = (wm_str){rest.data + 1, rest.len - 1};
    plain = 0;
  }
  wm__append(w, s.data, plain);
  wm__append(w, "\"", 1);
}

void wm_key(wm_writer *w, const char *key) {
  wm__separate(w);
  wm__literal(w, wm_text(key));
  wm__append(w, ":", 1);
  w->comma = false;
}

void wm_write(wm_writer *w, wm_str s) {
  wm__separate(w);
  wm__literal(w, s);
}

void wm_write_int(wm_writer *w, int64_t n) {
  char digits[21];
  size_t at = sizeof digits;
  uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
  do {
    digits[--at] = (char)('0' + rest % 10);
  } while ((rest /= 10) != 0);
  if (n < 0) digits[--at] = '-';
  wm__separate(w);
  wm__append(w, digits + at, sizeof digits - at);
}

void wm_write_bool(wm_writer *w, bool b) {
  wm__separate(w);
  wm__append(w, b ? "true" : "false", b ? 4 : 5);
}

wm_str wm_written(const wm_writer *w) { return (wm_str){w->data, w->len}; }

/* wm__field writes an optional text: absent when empty. */
static void wm__field(wm_writer *w, const char *key, const char *text) {
  if (text == NULL || *text == '\0') return;
  wm_key(w, key);
  wm_write(w, wm_text(text));
}

static void wm__strings(wm_writer *w, const char *key, const char *const *items, size_t len) {
  wm_key(w, key);
  wm_begin(w, '[');
  for (size_t i = 0; i < len; i++) wm_write(w, wm_text(items[i]));
  wm_end(w, ']');
}

/* ---- Reading JSON ---- */

#define WM__LEVELS 512

struct wm__parser {
  const char *at, *end;
  int level;
};

static void wm__blanks(struct wm__parser *p) {
  while (p->at < p->end && wm__among(*p->at, " \t\n\r")) p->at++;
}

static bool wm__take(struct wm__parser *p, char c) {
  wm__blanks(p);
  if (p->at == p->end || *p->at != c) return false;
  p->at++;
  return true;
}

static bool wm__word(struct wm__parser *p, const char *word) {
  if (!wm_has_prefix((wm_str){p->at, (size_t)(p->end - p->at)}, word)) return false;
  p->at += strlen(word);
  return true;
}

static int32_t wm__hex4(struct wm__parser *p) {
  int32_t n = 0;
  if (p->end - p->at < 4) return -1;
  for (int i = 0; i < 4; i++) {
    char c = *p->at++;
    if (c >= '0' && c <= '9') {
      n = n << 4 | (c - '0');
    } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
      n = n << 4 | ((c | 0x20) - 'a' + 10);
    } else {
      return -1;
    }
  }
  return n;
}

/* wm__unescape reads what follows a backslash. */
static bool wm__unescape(struct wm__parser *p, wm_writer *out) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  if (p->at == p->end) return false;
  char c = *p->at++, utf8[4];
  if (c != 'u') {
    if (!wm__among(c, from)) return false;
    wm__append(out, &to[strchr(from, c) - from], 1);
    return true;
  }
  int32_t r = wm__hex4(p);
  if (r >= 0xd800 && r < 0xdc00) {
    if (!wm__word(p, "\\u")) return false;
    int32_t low = wm__hex4(p);
    if (low < 0xdc00 || low >= 0xe000) return false;
    r = 0x10000 + ((r - 0xd800) << 10) + (low - 0xdc00);
  } else if (r < 0 || (r >= 0xdc00 && r < 0xe000)) {
    return false;
  }
  wm__append(out, utf8, wm__encode(r, utf8));
  return true;
}

static bool wm__string(struct wm__parser *p, wm_str *out) {
  wm_writer w = {0};
  if (!wm__take(p, '"')) return false;
  for (;;) {
    size_t size;
    if (p->at == p->end) return false;
    wm_str rest = {p->at, (size_t)(p->end - p->at)};
    int32_t r = wm__rune(rest, &size);
    p->at += size;
    if (r < ' ') return false;
    if (r == '"') break;
    if (r != '\\') {
      wm__append(&w, rest.data, size);
    } else if (!wm__unescape(p, &w)) {
      return false;
    }
  }
  wm__append(&w, "", 1);
  *out = (wm_str){w.data, w.len - 1};
  return true;
}

static bool wm__digits(struct wm__parser *p) {
  const char *start = p->at;
  while (p->at < p->end && *p->at >= '0' && *p->at <= '9') p->at++;
  return p->at > start;
}

static bool wm__number(struct wm__parser *p, wm_str *out) {
  const char *start = p->at;
  if (p->at < p->end && *p->at == '-') p->at++;
  if (p->at < p->end && *p->at == '0') {
    p->at++;
  } else if (!wm__digits(p)) {
    return false;
  }
  if (p->at < p->end && *p->at == '.' && (p->at++, !wm__digits(p))) return false;
  if (p->at < p->end && (*p->at == 'e' || *p->at == 'E')) {
    p->at++;
    if (p->at < p->end && (*p->at == '+' || *p->at == '-')) p->at++;
    if (!wm__digits(p)) return false;
  }
  *out = wm_copy((wm_str){start, (size_t)(p->at - start)});
  return true;
}

static wm_json *wm__value(struct wm__parser *p);

/* wm__known reports whether an object has a key already. */
static bool wm__known(const wm_json *object, wm_str key) {
  for (const wm_json *m = object->child; m != NULL; m = m->next) {
    if (wm__same(m->key, key)) return true;
  }
  return false;
}

/* wm__chain reads members or elements up to the closing bracket. */
static bool wm__chain(struct wm__parser *p, wm_json *v, char close) {
  const wm_json **tail = &v->child;
  if (++p->level > WM__LEVELS) return false;
  if (wm__take(p, close)) return p->level--, true;
  do {
    wm_str key = {0};
    if (v->type == WM_OBJECT && (!wm__string(p, &key) || wm__known(v, key) || !wm__take(p, ':'))) return false;
    wm_json *item = wm__value(p);
    if (item == NULL) return false;
    item->key = key;
    *tail = item;
    tail = &item->next;
  } while (wm__take(p, ','));
  p->level--;
  return wm__take(p, close);
}

static wm_json *wm__value(struct wm__parser *p) {
  wm_json *v = wm_alloc(sizeof *v);
  bool ok;
  wm__blanks(p);
  switch (p->at < p->end ? *p->at : '\0') {
  case '{': p->at++; v->type = WM_OBJECT; ok = wm__chain(p, v, '}'); break;
  case '[': p->at++; v->type = WM_ARRAY; ok = wm__chain(p, v, ']'); break;
  case '"': v->type = WM_STRING; ok = wm__string(p, &v->text); break;
  case 't': v->type = WM_BOOL; v->truth = true; ok = wm__word(p, "true"); break;
  case 'f': v->type = WM_BOOL; ok = wm__word(p, "false"); break;
  case 'n': ok = wm__word(p, "null"); break;
  default: v->type = WM_NUMBER; ok = wm__number(p, &v->text);
  }
  return ok ? v : NULL;
}

const wm_json *wm_parse(wm_str text) {
  struct wm__parser p = {text.data, text.len > 0 ? text.data + text.len : text.data, 0};
  wm_json *v = wm__value(&p);
  wm__blanks(&p);
  return p.at == p.end ? v : NULL;
}

const wm_json *wm_get(const wm_json *object, const char *key) {
  if (object == NULL || object->type != WM_OBJECT) return NULL;
  for (const wm_json *m = object->child; m != NULL; m = m->next) {
    if (wm_equal(m->key, key)) return m;
  }
  return NULL;
}

bool wm_integer(const wm_json *v, int64_t *out) {
  if (v == NULL || v->type != WM_NUMBER) return false;
  bool negative = wm_has_prefix(v->text, "-");
  const uint64_t most = (uint64_t)INT64_MAX + (negative ? 1 : 0);
  uint64_t n = 0;
  for (size_t i = negative ? 1 : 0; i < v->text.len; i++) {
    char c = v->text.data[i];
    if (c < '0' || c > '9') return false;
    unsigned d = (unsigned)(c - '0');
    if (n > (most - d) / 10) return false;
    n = n * 10 + d;
  }
  *out = (int64_t)(negative ? 0 - n : n);
  return true;
}

/* ---- Requests ---- */

bool wm_fail(const char *text) {
  wm__state.error = text;
  return false;
}

static const char *wm__type(const wm_json *v) {
  static const char *const names[] = {"null", "a boolean", "a number", "a string", "a list", "an object"};
  return names[v->type];
}

static bool wm__bad_config(const char *key, const char *got, const char *want) {
  return wm_fail(wm_join("config key \"", key, "\" is ", got, ", not ", want, NULL));
}

bool wm_config_string(const wm_request *req, const char *key, const char *def, const char **out) {
  const wm_json *v = wm_get(req->config, key);
  *out = def;
  if (v == NULL) return true;
  if (v->type != WM_STRING) return wm__bad_config(key, wm__type(v), "a string");
  *out = v->text.data;
  return true;
}

bool wm_config_bool(const wm_request *req, const char *key, bool def, bool *out) {
  const wm_json *v = wm_get(req->config, key);
  *out = def;
  if (v == NULL) return true;
  if (v->type != WM_BOOL) return wm__bad_config(key, wm__type(v), "a boolean");
  *out = v->truth;
  return true;
}

bool wm_config_int(const wm_request *req, const char *key, int64_t def, int64_t *out) {
  const wm_json *v = wm_get(req->config, key);
  *out = def;
  return v == NULL || wm_integer(v, out) || wm__bad_config(key, wm__type(v), "an integer");
}

bool wm_config_list(const wm_request *req, const char *key, wm_list *out) {
  const wm_json *v = wm_get(req->config, key);
  wm_list list = {0};
  if (v == NULL) return true;
  if (v->type == WM_STRING) {
    wm_push(&list, v->text.data);
  } else if (v->type != WM_ARRAY) {
    return wm__bad_config(key, wm__type(v), "a list of strings");
  }
  for (const wm_json *e = v->child; e != NULL; e = e->next) {
    if (e->type != WM_STRING) {
      return wm__bad_config(key, wm_join("a list with ", wm__type(e), NULL), "a list of strings");
    }
    wm_push(&list, e->text.data);
  }
  *out = list;
  return true;
}

static bool wm__bad_request(const char *field, const wm_json *v, const char *want) {
  return wm_fail(wm_join("bad request: ", field, " is ", wm__type(v), ", not ", want, NULL));
}

static bool wm__get_text(const wm_json *object, const char *key, const char *field, const char **out) {
  const wm_json *v = wm_get(object, key);
  *out = "";
  if (v == NULL) return true;
  if (v->type != WM_STRING) return wm__bad_request(field, v, "a string");
  *out = v->text.data;
  return true;
}

static bool wm__get_int(const wm_json *object, const char *key, const char *field, int64_t *out) {
  const wm_json *v = wm_get(object, key);
  *out = 0;
  return v == NULL || wm_integer(v, out) || wm__bad_request(field, v, "an integer");
}

/* wm__get_object gives an empty object for one that is missing. */
static bool wm__get_object(const wm_json *object, const char *key, const wm_json **out) {
  static const wm_json empty = {.type = WM_OBJECT};
  const wm_json *v = wm_get(object, key);
  *out = v != NULL ? v : &empty;
  return (*out)->type == WM_OBJECT || wm__bad_request(key, v, "an object");
}

static bool wm__decode(wm_str input, wm_request *req) {
  const wm_json *doc = wm_parse(input), *root, *limits;
  int64_t version;
  if (doc == NULL) return wm_fail("bad request: not JSON");
  if (doc->type != WM_OBJECT) return wm_fail("bad request: not an object");
  if (!wm__get_int(doc, "abi", "abi", &version)) return false;
  if (version != WM_ABI) return wm_fail("bad request: it is of another ABI version, this module speaks version 1");
  return wm__get_text(doc, "resolver", "resolver", &req->resolver) && wm__get_object(doc, "root", &root) &&
         wm__get_text(root, "name", "root.name", &req->root.name) &&
         wm__get_text(root, "file", "root.file", &req->root.file) &&
         wm__get_text(root, "role", "root.role", &req->root.role) && wm__get_object(doc, "config", &req->config) &&
         wm__get_object(doc, "limits", &limits) &&
         wm__get_int(limits, "max_resource_bytes", "limits.max_resource_bytes", &req->limits.max_resource_bytes) &&
         wm__get_int(limits, "max_resources", "limits.max_resources", &req->limits.max_resources);
}

/* ---- Responses ---- */

struct wm_response {
  wm_writer rows;
  wm_list warnings;
};

wm_content wm_file(const char *path) { return (wm_content){.file = path}; }

wm_content wm_inline(wm_str text) {
  return (wm_content){.text = text.data != NULL ? text.data : "", .len = text.len};
}

static struct wm_attribute *wm__attribute(wm_attributes *a, const char *key) {
  size_t i = 0;
  while (i < a->len && strcmp(a->items[i].key, key) < 0) i++;
  if (i < a->len && strcmp(a->items[i].key, key) == 0) return &a->items[i];
  a->items = wm__grow(a->items, a->len, &a->cap, sizeof *a->items);
  memmove(a->items + i + 1, a->items + i, (a->len - i) * sizeof *a->items);
  a->len++;
  a->items[i] = (struct wm_attribute){.key = key};
  return &a->items[i];
}

void wm_set(wm_attributes *a, const char *key, const char *text) {
  *wm__attribute(a, key) = (struct wm_attribute){key, text, NULL};
}

void wm_set_list(wm_attributes *a, const char *key, const wm_list *list) {
  *wm__attribute(a, key) = (struct wm_attribute){key, NULL, list};
}

static void wm__write_attributes(wm_writer *w, const wm_attributes *a) {
  if (a == NULL || a->len == 0) return;
  wm_key(w, "attributes");
  wm_begin(w, '{');
  for (size_t i = 0; i < a->len; i++) {
    const struct wm_attribute *item = &a->items[i];
    if (item->list != NULL) {
      wm__strings(w, item->key, item->list->items, item->list->len);
    } else {
      wm_key(w, item->key);
      wm_write(w, wm_text(item->text));
    }
  }
  wm_end(w, '}');
}

void wm_add(wm_response *resp, const wm_resource *r) {
  wm_writer *w = &resp->rows;
  wm_begin(w, '{');
  wm_key(w, "kind");
  wm_write(w, wm_text(r->kind));
  wm_key(w, "path");
  wm_write(w, wm_text(r->path));
  wm__field(w, "key", r->key);
  if (r->content.file != NULL || r->content.text != NULL) {
    bool by_file = r->content.file != NULL;
    wm_key(w, "content");
    wm_begin(w, '{');
    wm_key(w, by_file ? "file" : "inline");
    wm_write(w, by_file ? wm_text(r->content.file) : (wm_str){r->content.text, r->content.len});
    if (by_file && r->content.withheld) {
      wm_key(w, "withheld");
      wm_write_bool(w, true);
    }
    wm_end(w, '}');
  }
  wm__field(w, "name", r->name);
  wm__field(w, "description", r->description);
  wm__field(w, "status", r->status);
  wm__field(w, "error", r->error);
  wm__write_attributes(w, r->attributes);
  wm__field(w, "convention", r->convention);
  if (r->readers != NULL && r->readers->len > 0) wm__strings(w, "readers", r->readers->items, r->readers->len);
  if (r->findings_len > 0) {
    wm_key(w, "findings");
    wm_begin(w, '[');
    for (size_t i = 0; i < r->findings_len; i++) {
      wm_begin(w, '{');
      wm__field(w, "code", r->findings[i].code);
      wm__field(w, "severity", r->findings[i].severity);
      wm__field(w, "message", r->findings[i].message);
      wm_end(w, '}');
    }
    wm_end(w, ']');
  }
  wm_end(w, '}');
}

size_t wm_size(const wm_response *resp) { return resp->rows.len; }

void wm_warn(wm_response *resp, const char *line) { wm_push(&resp->warnings, line); }

static wm_str wm__encode_response(const wm_response *resp) {
  wm_writer w = {0};
  wm_begin(&w, '{');
  wm_key(&w, "resources");
  wm_begin(&w, '[');
  wm__append(&w, resp->rows.data, resp->rows.len);
  wm_end(&w, ']');
  if (resp->warnings.len > 0) wm__strings(&w, "warnings", resp->warnings.items, resp->warnings.len);
  wm_end(&w, '}');
  return wm_written(&w);
}

/* ---- Files ---- */

static wm_filetype wm__filetype(mode_t mode) {
  return S_ISREG(mode) ? WM_FILE : S_ISDIR(mode) ? WM_DIR : S_ISLNK(mode) ? WM_LINK : WM_OTHER;
}

int wm_stat(const char *path, wm_info *out) {
  struct stat st;
  *out = (wm_info){.type = WM_OTHER};
  if (fstatat(wm__state.root, path, &st, 0) != 0) return errno;
  out->type = wm__filetype(st.st_mode);
  out->size = out->type == WM_FILE ? (int64_t)st.st_size : 0;
  return 0;
}

int wm_read_head(const char *path, size_t n, wm_str *out) {
  *out = (wm_str){"", 0};
  /* Without waiting for somebody at the other end of a FIFO, in a test. */
  int fd = openat(wm__state.root, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), err = 0;
  if (fd < 0) return errno;
  char *data = NULL;
  size_t len = 0, room = 0;
  while (len < n) {
    if (len == room) { /* n may be far more than there is */
      size_t more = room == 0 ? 4096 : room * 2;
      room = more < n ? more : n;
      char *grown = wm_alloc(room + 1);
      if (len > 0) memcpy(grown, data, len);
      data = grown;
    }
    ssize_t got = read(fd, data + len, room - len);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) err = errno;
    if (got <= 0) break;
    len += (size_t)got;
  }
  (void)close(fd);
  if (err != 0) return err;
  if (data != NULL) {
    data[len] = '\0';
    *out = (wm_str){data, len};
  }
  return 0;
}

static int wm__by_name(const void *a, const void *b) {
  return strcmp(((const wm_entry *)a)->name, ((const wm_entry *)b)->name);
}

static wm_filetype wm__entrytype(unsigned char type) {
  return type == DT_REG ? WM_FILE : type == DT_DIR ? WM_DIR : type == DT_LNK ? WM_LINK : WM_OTHER;
}

int wm_read_dir(const char *path, wm_entries *out) {
  *out = (wm_entries){0};
  int fd = openat(wm__state.root, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC), err;
  if (fd < 0) return errno;
  DIR *dir = fdopendir(fd);
  if (dir == NULL) return err = errno, (void)close(fd), err;
  for (;;) {
    errno = 0;
    const struct dirent *e = readdir(dir);
    if (e == NULL) break;
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    out->items = wm__grow(out->items, out->len, &out->cap, sizeof *out->items);
    out->items[out->len++] = (wm_entry){wm_copy(wm_text(e->d_name)).data, wm__entrytype(e->d_type)};
  }
  err = errno;
  (void)closedir(dir);
  if (out->len > 0) qsort(out->items, out->len, sizeof *out->items, wm__by_name);
  return err;
}

/* ---- Front matter ---- */

static bool wm__delimiter(wm_str line) { return wm_equal(wm_trim(line, " \t"), "---"); }

wm_found wm_front_matter(wm_str text, bool complete, wm_str *block, wm_str *rest) {
  wm_str line, start;
  *block = *rest = (wm_str){"", 0};
  if (wm_has_prefix(text, "\xef\xbb\xbf")) text.data += 3, text.len -= 3;
  bool ended = wm_cut(text, &line, &start);
  if (!ended && !complete) return WM_NOT_CLOSED;
  if (!wm__delimiter(line)) return WM_NO_FRONT_MATTER;
  for (wm_str left = start; left.len > 0;) {
    size_t before = start.len - left.len;
    ended = wm_cut(left, &line, &left);
    if (wm__delimiter(line) && (ended || complete)) {
      *block = (wm_str){start.data, before};
      *rest = left;
      return WM_FOUND;
    }
  }
  return WM_NOT_CLOSED;
}

static const char *wm__read_meta(wm_str block, bool lenient, const wm_json **out);

/* wm__meta makes a value of what the host says of one, with texts of its own. */
static wm_meta *wm__meta(const wm_json *said) {
  static const char *const kinds[] = {"null", "bool", "other", "string", "list", "map"};
  static const wm_metatype types[] = {WM_NOTHING, WM_TRUTH, WM_SCALAR, WM_TEXT, WM_ITEMS, WM_MEMBERS};
  wm_meta *v = wm_alloc(sizeof *v), *last = NULL;
  v->text = v->key = (wm_str){"", 0};
  for (const wm_json *m = said->child; m != NULL; m = m->next) {
    int64_t line = 0;
    if (wm_equal(m->key, "kind")) {
      for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (wm_equal(m->text, kinds[i])) v->type = types[i];
      }
    } else if (wm_equal(m->key, "line")) {
      if (wm_integer(m, &line)) v->line = (int)line;
    } else if (wm_equal(m->key, "text")) {
      if (m->text.len > 0) v->text = wm_copy(m->text);
    } else if (wm_equal(m->key, "key")) {
      if (m->text.len > 0) v->key = wm_copy(m->text);
    } else if (wm_equal(m->key, "items")) {
      for (const wm_json *item = m->child; item != NULL; item = item->next) {
        wm_meta *next = wm__meta(item);
        if (last == NULL) {
          v->child = next;
        } else {
          last->next = next;
        }
        last = next;
      }
    }
  }
  return v;
}

const wm_meta *wm_parse_meta(wm_str block, bool lenient, const char **error) {
  const wm_json *said = NULL;
  /* The answer is several times as long as the block, and goes; its values stay. */
  wm__swap();
  const char *wrong = wm__read_meta(block, lenient, &said);
  wm__swap();
  const wm_meta *meta = wrong == NULL ? wm__meta(said) : NULL;
  if (error != NULL) *error = wrong == NULL ? NULL : wm_copy(wm_text(wrong)).data;
  wm__rewind(&wm__state.scratch);
  return meta;
}

const wm_meta *wm_meta_get(const wm_meta *map, const char *key) {
  static const wm_meta nothing = {.text = {"", 0}, .key = {"", 0}};
  for (const wm_meta *m = map != NULL && map->type == WM_MEMBERS ? map->child : NULL; m != NULL; m = m->next) {
    if (wm_equal(m->key, key)) return m;
  }
  return &nothing;
}

bool wm_meta_true(const wm_meta *v) { return v->type == WM_TRUTH && wm_equal(v->text, "true"); }

/* wm__in_json is what a text takes in JSON at most, with its quotes and a comma. */
static size_t wm__in_json(wm_str s) {
  size_t n = s.len + 3;
  for (size_t i = 0; i < s.len; i++) {
    unsigned char c = (unsigned char)s.data[i];
    n += c < ' ' ? 5 : c == '"' || c == '\\' ? 1 : 0;
  }
  return n;
}

wm_list wm_meta_globs(const wm_meta *v) {
  const size_t most = (size_t)8 * 1024;
  size_t size = 0;
  wm_list list = {0};
  bool one = v->type == WM_TEXT || v->type == WM_SCALAR;
  for (const wm_meta *m = one ? v : v->type == WM_ITEMS ? v->child : NULL; m != NULL; m = one ? NULL : m->next) {
    size_t start = 0;
    int braces = 0;
    for (size_t i = 0; i <= m->text.len; i++) {
      char c = i < m->text.len ? m->text.data[i] : ',';
      if (c == '{') braces++;
      if (c == '}' && braces > 0) braces--;
      if (c != ',' || (braces > 0 && i < m->text.len)) continue;
      wm_str glob = wm_trim((wm_str){m->text.data + start, i - start}, " \t\n");
      start = i + 1;
      if (glob.len == 0) continue;
      size += wm__in_json(glob);
      if (size > most) return list;
      wm_push(&list, wm_copy(glob).data);
    }
  }
  return list;
}

bool wm_line(wm_str block, const char *key, wm_str *value, wm_str *after) {
  size_t n = strlen(key);
  while (block.len > 0) {
    wm_str line;
    (void)wm_cut(block, &line, &block);
    if (!wm_has_prefix(line, key)) continue;
    wm_str text = wm_trim((wm_str){line.data + n, line.len - n}, " \t");
    if (text.len == 0 || text.data[0] != ':') continue;
    *value = wm_copy(wm_trim((wm_str){text.data + 1, text.len - 1}, " \t"));
    if (after != NULL) *after = block;
    return true;
  }
  *value = (wm_str){"", 0};
  return false;
}

/* ---- The module ---- */

static size_t wm__count(const char *const *list) {
  size_t n = 0;
  while (list != NULL && list[n] != NULL) n++;
  return n;
}

static bool wm__valid_name(const char *s) {
  if (s == NULL || *s == '\0' || strlen(s) > 64) return false;
  for (size_t i = 0; s[i] != '\0'; i++) {
    bool word = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= '0' && s[i] <= '9');
    bool hyphen = s[i] == '-' && i > 0 && s[i - 1] != '-' && s[i + 1] != '\0';
    if (!word && !hyphen) return false;
  }
  return true;
}

static const wm_resolver *wm__find(const wm_module *m, const char *name) {
  for (const wm_resolver *r = m->resolvers; r != NULL && r->name != NULL; r++) {
    if (strcmp(r->name, name) == 0) return r;
  }
  return NULL;
}

/* wm__wrong sets the error "WHAT NAME WHY". */
static bool wm__wrong(const char *what, const char *name, const char *why) {
  return wm_fail(wm_join(what, name != NULL ? name : "", why, NULL));
}

static bool wm__validate_resolver(const wm_module *m, const wm_resolver *r) {
  static const char words[] = "\" is not lower-case words joined by hyphens";
  if (!wm__valid_name(r->name)) return wm__wrong("resolver name \"", r->name, words);
  if (wm__find(m, r->name) != r) return wm__wrong("two resolvers are named ", r->name, "");
  if (wm__count(r->kinds) == 0) return wm__wrong("resolver ", r->name, " declares no kinds");
  for (const char *const *k = r->kinds; *k != NULL; k++) {
    static const char why[] = " declares mcp_server, which comes from the host alone; declare mcp_config";
    if (strcmp(*k, "mcp_server") == 0) return wm__wrong("resolver ", r->name, why);
  }
  if (r->resolve == NULL) return wm__wrong("resolver ", r->name, " has no resolve function");
  return true;
}

static bool wm__validate(const wm_module *m) {
  static const char words[] = "\" is not lower-case words joined by hyphens";
  bool versioned = m->version != NULL && *m->version != '\0';
  if (!wm__valid_name(m->name)) return wm__wrong("module name \"", m->name, words);
  if (!versioned) return wm__wrong("module ", m->name, " has no version; for example 1.0.0");
  if (m->resolvers == NULL || m->resolvers->name == NULL) return wm__wrong("module ", m->name, " has no resolvers");
  for (const wm_resolver *r = m->resolvers; r->name != NULL; r++) {
    if (!wm__validate_resolver(m, r)) return false;
  }
  return true;
}

/* wm__failed makes the error text the answer. */
static bool wm__failed(wm_str *out) {
  const char *text = wm__state.error;
  *out = wm_text(text != NULL && *text != '\0' ? text : "an error without text");
  return false;
}

bool wm_handle_describe(const wm_module *m, wm_str *out) {
  wm_writer w = {0};
  wm__reset();
  if (!wm__validate(m)) return wm__failed(out);
  wm_begin(&w, '{');
  wm_key(&w, "abi");
  wm_write_int(&w, WM_ABI);
  wm__field(&w, "name", m->name);
  wm__field(&w, "version", m->version);
  wm_key(&w, "resolvers");
  wm_begin(&w, '[');
  for (const wm_resolver *r = m->resolvers; r->name != NULL; r++) {
    wm_begin(&w, '{');
    wm__field(&w, "name", r->name);
    wm__strings(&w, "kinds", r->kinds, wm__count(r->kinds));
    wm__field(&w, "summary", r->summary);
    wm__strings(&w, "reads", r->reads, wm__count(r->reads));
    size_t keys = wm__count(r->reads_from_config);
    if (keys > 0) wm__strings(&w, "reads_from_config", r->reads_from_config, keys);
    size_t ignored = wm__count(r->ignores);
    if (ignored > 0) wm__strings(&w, "ignores", r->ignores, ignored);
    wm_end(&w, '}');
  }
  wm_end(&w, ']');
  wm_end(&w, '}');
  *out = wm_written(&w);
  return true;
}

/* wm__run answers resolve; input may lie in the arena. */
static bool wm__run(const wm_module *m, wm_str input, wm_str *out) {
  wm_request req = {0};
  wm_response resp = {0};
  if (!wm__decode(input, &req)) return wm__failed(out);
  const wm_resolver *r = wm__find(m, req.resolver);
  if (r == NULL) {
    wm_fail(wm_join("module ", m->name, " has no resolver \"", req.resolver, "\"", NULL));
    return wm__failed(out);
  }
  if (!r->resolve(&req, &resp)) return wm__failed(out);
  *out = wm__encode_response(&resp);
  return true;
}

bool wm_handle_resolve(const wm_module *m, wm_str input, int root, wm_str *out) {
  wm__reset();
  wm__state.root = root;
  return wm__run(m, input, out);
}

#ifdef __wasm__

/* ---- The sandbox's side: the Extism kernel ---- */

#define WM__KERNEL(name) __attribute__((import_module("extism:host/env"), import_name(#name)))

WM__KERNEL(input_length) uint64_t wm__input_length(void);
WM__KERNEL(input_load_u8) uint32_t wm__input_load_u8(uint64_t offset);
WM__KERNEL(input_load_u64) uint64_t wm__input_load_u64(uint64_t offset);
WM__KERNEL(alloc) uint64_t wm__kernel_alloc(uint64_t length);
WM__KERNEL(store_u8) void wm__store_u8(uint64_t offset, uint32_t value);
WM__KERNEL(store_u64) void wm__store_u64(uint64_t offset, uint64_t value);
WM__KERNEL(output_set) void wm__output_set(uint64_t offset, uint64_t length);
WM__KERNEL(error_set) void wm__error_set(uint64_t offset);
WM__KERNEL(log_trace) void wm__log_trace(uint64_t offset);
WM__KERNEL(log_debug) void wm__log_debug(uint64_t offset);
WM__KERNEL(log_info) void wm__log_info(uint64_t offset);
WM__KERNEL(log_warn) void wm__log_warn(uint64_t offset);
WM__KERNEL(log_error) void wm__log_error(uint64_t offset);
WM__KERNEL(length) uint64_t wm__length(uint64_t offset);
WM__KERNEL(load_u8) uint32_t wm__load_u8(uint64_t offset);
WM__KERNEL(load_u64) uint64_t wm__load_u64(uint64_t offset);
WM__KERNEL(free) void wm__free(uint64_t offset);
__attribute__((import_module("extism:host/user"), import_name("front_matter"))) uint64_t wm__host_front_matter(uint64_t block, uint64_t lenient);

/* Bytes cross the border eight at a time, little-endian on both sides. */
static wm_str wm__input(void) {
  uint64_t length = wm__input_length(), i = 0;
  if (length >= SIZE_MAX) wm__die("waymark.h: the request is too long\n");
  char *data = wm_alloc((size_t)length + 1);
  for (; i + 8 <= length; i += 8) {
    uint64_t word = wm__input_load_u64(i);
    memcpy(data + i, &word, 8);
  }
  for (; i < length; i++) data[i] = (char)wm__input_load_u8(i);
  return (wm_str){data, (size_t)length};
}

/* The kernel has no empty blocks; 0 stands for one. */
static uint64_t wm__store(wm_str s) {
  if (s.len == 0) return 0;
  uint64_t block = wm__kernel_alloc(s.len), i = 0;
  for (; i + 8 <= s.len; i += 8) {
    uint64_t word;
    memcpy(&word, s.data + i, 8);
    wm__store_u64(block + i, word);
  }
  for (; i < s.len; i++) wm__store_u8(block + i, (unsigned char)s.data[i]);
  return block;
}

static const char *wm__read_meta(wm_str block, bool lenient, const wm_json **out) {
  uint64_t asked = wm__store(block), answer = wm__host_front_matter(asked, lenient), length = wm__length(answer), i = 0;
  char *data = wm_alloc((size_t)length + 1);
  for (; i + 8 <= length; i += 8) {
    uint64_t word = wm__load_u64(answer + i);
    memcpy(data + i, &word, 8);
  }
  for (; i < length; i++) data[i] = (char)wm__load_u8(answer + i);
  if (asked != 0) wm__free(asked);
  wm__free(answer);
  const wm_json *said = wm_parse((wm_str){data, (size_t)length});
  const wm_json *error = said == NULL ? NULL : wm_get(said, "error");
  *out = said;
  return said == NULL ? "the host doesn't say what is in the front matter" : error == NULL ? NULL : error->text.data;
}

static int32_t wm__finish(bool ok, wm_str answer) {
  uint64_t block = wm__store(answer);
  if (!ok) return wm__error_set(block), 1;
  wm__output_set(block, answer.len);
  return 0;
}

__attribute__((export_name("describe"))) int32_t wm__describe(void) {
  wm_str answer;
  bool ok = wm_handle_describe(&wm_served, &answer);
  return wm__finish(ok, answer);
}

__attribute__((export_name("resolve"))) int32_t wm__resolve(void) {
  wm_str answer;
  wm__reset();
  bool ok = wm__run(&wm_served, wm__input(), &answer);
  return wm__finish(ok, answer);
}

void wm_log(wm_level level, const char *line) {
  wm_str text = wm_text(line);
  if (text.len == 0) return;
  uint64_t block = wm__store(text); /* the host frees it */
  switch (level) {
  case WM_TRACE: wm__log_trace(block); break;
  case WM_DEBUG: wm__log_debug(block); break;
  case WM_INFO: wm__log_info(block); break;
  case WM_WARNING: wm__log_warn(block); break;
  default: wm__log_error(block);
  }
}

#else

static const char *wm__read_meta(wm_str block, bool lenient, const wm_json **out) {
  (void)block, (void)lenient, (void)out;
  return "front matter is read by the host, which there isn't outside of a sandbox";
}

void wm_log(wm_level level, const char *line) {
  static const char *const names[] = {"trace", "debug", "info", "warn", "error"};
  const char *text = wm_join(level <= WM_ERROR ? names[level] : "log", ": ", line, "\n", NULL);
  (void)!write(2, text, strlen(text));
}

#endif /* __wasm__ */

#endif /* WAYMARK_IMPLEMENTATION */
