/* params.h - an object's settings, complete and checked against its manifest before open. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_PARAMS_H
#define TUTTI_PARAMS_H

#include "base.h"
#include "time.h"

#include <string.h>

/* The types that a manifest can give a setting. */
enum {
    TUTTI_PARAM_NULL,   /* allowed by "nullable": true, and not set */
    TUTTI_PARAM_BOOL,   /* i is 0 or 1 */
    TUTTI_PARAM_INT,    /* i */
    TUTTI_PARAM_FLOAT,  /* f */
    TUTTI_PARAM_STRING, /* s */
    TUTTI_PARAM_ENUM,   /* s, one of the manifest's values; i is its index there */
    TUTTI_PARAM_TIME,   /* t; s is the text, such as "1000ba" */
    TUTTI_PARAM_PATH,   /* s, absolute: relative ones count from the run file, by --set
                        from the working folder; "s3://bucket/name" stays as it is */
    TUTTI_PARAM_LIST    /* items, count of them, all of one type */
};

typedef struct tutti_param {
    uint32_t struct_size;
    int32_t type;
    const char *name; /* NULL for a list's items */
    int64_t i;        /* INT, BOOL, ENUM; also set for an integral FLOAT */
    double f;         /* FLOAT; also set for INT */
    const char *s;    /* STRING, ENUM, TIME, PATH; else NULL */
    tutti_time t;     /* TIME */
    uint64_t count;   /* LIST */
    const struct tutti_param *const *items;
} tutti_param;

typedef struct tutti_params {
    uint32_t struct_size;
    uint32_t count;
    const tutti_param *const
        *items; /* in the manifest's order; every declared setting is here */
} tutti_params;

/* The setting called `name`, or NULL if the manifest declares none.  [any] */
static inline const tutti_param *tutti_param_find(const tutti_params *params, const char *name)
{
    for (uint32_t k = 0; params && k < params->count; k++)
        if (strcmp(params->items[k]->name, name) == 0)
            return params->items[k];
    return NULL;
}

/* Shorthands for settings that the manifest declares with the matching type; an absent one reads
 * as zero, so keep names in step with the manifest (the plugin's test opens it through both). */
static inline int64_t tutti_param_i64(const tutti_params *params, const char *name)
{
    const tutti_param *p = tutti_param_find(params, name);
    return p ? p->i : 0;
}

static inline double tutti_param_f64(const tutti_params *params, const char *name)
{
    const tutti_param *p = tutti_param_find(params, name);
    return p ? p->f : 0.0;
}

static inline int32_t tutti_param_is_set(const tutti_params *params, const char *name)
{
    const tutti_param *p = tutti_param_find(params, name);
    return p && p->type != TUTTI_PARAM_NULL;
}

/* The text, or NULL when not set.  Lives until the object's close. */
static inline const char *tutti_param_str(const tutti_params *params, const char *name)
{
    const tutti_param *p = tutti_param_find(params, name);
    return p && p->type != TUTTI_PARAM_NULL ? p->s : NULL;
}

static inline tutti_time tutti_param_time(const tutti_params *params, const char *name)
{
    const tutti_param *p = tutti_param_find(params, name);
    const tutti_time none = {0, 0.0, TUTTI_UNIT_NONE, 0};
    return p && p->type == TUTTI_PARAM_TIME ? p->t : none;
}

#endif
