/* What the source files of this resolver share. */
#ifndef RULE_H
#define RULE_H

#include "sdk/waymark.h"

#define SUFFIX ".instructions.md"

/* What a rule's front matter says. */
typedef struct {
  wm_str name, description;
  bool has_apply_to;
  wm_list apply_to; /* globs */
  wm_list exclude;  /* agents that are to ignore the rule */
  bool too_many;    /* globs or agents were left out */
} rule_meta;

/* read_meta reads front matter. It isn't always YAML: globs often stand there
 * without quotes, which YAML takes for an alias or an error. */
rule_meta read_meta(wm_str block);

/* is_everything reports whether one of some globs fits every file. */
bool is_everything(const wm_list *globs);

/* first_line is the first line that says something, without heading marks. */
wm_str first_line(wm_str text);

/* clean makes one line without control characters of what may be anything. */
wm_str clean(wm_str text);

/* add_rule adds the row of a file. name is what it is called unless it says
 * otherwise; always: it applies whatever it says. */
void add_rule(const wm_request *req, wm_response *resp, const char *path, wm_str name, bool always);

#endif
