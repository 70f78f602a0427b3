/* spec.h - what a manifest says of one setting, and reading values by it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_SPEC_H
#define HOST_PLUGIN_SPEC_H

#include "base/faults.h"
#include "base/text.h"
#include "plugin/plugin.h"

struct spec {
    const char *name; /* NULL for a list's items */
    int32_t type;     /* TUTTI_PARAM_* */
    bool required;
    bool nullable;
    bool column; /* a string that names a column of the batch; a number is its place */
    const json_node *fallback; /* "default", or NULL */
    const json_node *min;      /* the bounds: numbers, or NULL */
    const json_node *max;
    const json_node *above;
    const json_node *below;
    const char *unit;
    const char **words; /* "values" of an enum, "units" of a time; NULL-terminated */
    int64_t least;      /* items of a list */
    int64_t most;       /* items of a list, bytes of a string; -1 for any number */
    int64_t scalar;     /* items of the list that one number stands for; 0: of none */
    spec *items;
};

/* Reads one specification; everything wrong goes to `f`. */
void spec_read(spec *s, const json_node *node, bool is_item, faults *f);
void spec_fini(spec *s);

/* A time in dur alone: a plain number is one. */
bool spec_is_share(const spec *s);

/* "a float of at least 0 (per update)", for messages. */
void spec_text(const spec *s, text_buffer *b);

/* How values are read. */
typedef struct value_rules {
    const char *folder; /* relative PATHs count from here; may be NULL */
    bool from_attrs;    /* 0 and 1 are booleans, an integer is the number of an enum's value */
    const char *owner;  /* with from_attrs: stands in messages instead of file and line */
    faults *faults;
} value_rules;

/* The value of `node` by `s`, or NULL after a fault. */
tutti_param *value_read(const spec *s, const json_node *node, const value_rules *rules);
tutti_param *value_null(const spec *s, const value_rules *rules);
void value_free(const tutti_param *p); /* NULL is allowed */

/* A fault at `node`, by the rules' way of naming places. */
TUTTI_PRINTF(3, 4)
void value_fault(const value_rules *rules, const json_node *node, const char *format, ...);

#endif
