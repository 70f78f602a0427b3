/* surgery_check.h - a tree to operate on, and what was said, for the tests of algorithms. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SURGERY_CHECK_H
#define SURGERY_CHECK_H

#include "algorithm_check.h"
#include "layer_check.h"

/* A run in miniature with a tree of modules.  Not copyable. */
typedef struct theatre {
    run r;
    tree t;
    subject s;
    record g;
    tutti_error err;
} theatre;

static inline void theatre_init(theatre *o)
{
    memset(&o->err, 0, sizeof o->err);
    run_init(&o->r);
    tree_init(&o->t);
    run_service(&o->r, TUTTI_MODULE_V1, &o->t.table);
}

/* A module of `kind` under the root; pairs of a setting's name and its number follow, then NULL. */
static inline tutti_module theatre_add(theatre *o, const char *kind, ...)
{
    va_list args;
    const tutti_module m = tree_new(&o->t, kind);
    va_start(args, kind);
    for (const char *name; (name = va_arg(args, const char *));) {
        const double v = va_arg(args, double);
        test_settings_float(&o->t.modules[m].given, name, v);
    }
    va_end(args);
    ck_assert_ok(tree_add(&o->t, 1, kind, m, &o->err), o->err);
    return m;
}

/* Opens the algorithm, runs it on init and closes it; it stays out of fit_start. */
static inline tutti_status theatre_operate(theatre *o, const char *name, const test_settings *g)
{
    memset(&o->err, 0, sizeof o->err);
    o->r.told[0] = '\0';
    ck_assert_ok(
        subject_open(&o->s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, name, g, o->r.services, &o->err),
        o->err);
    ck_assert_int_eq(run_event(&o->r, &o->s, TUTTI_EVENT_FIT_START, &o->err), 0);
    ck_assert_int_eq(run_event(&o->r, &o->s, TUTTI_EVENT_INIT, &o->err), 1);
    subject_close(&o->s);
    return o->err.status;
}

/* Opens the layer `kind` for module `m` and builds it. */
static inline const tutti_layer_v1 *theatre_layer(theatre *o, const char *kind,
                                                  const test_settings *g, tutti_module m)
{
    ck_assert_ok(
        subject_open(&o->s, PLUGIN_PATH, TUTTI_KIND_LAYER, kind, g, o->r.services, &o->err),
        o->err);
    const tutti_layer_v1 *layer = subject_query(&o->s, TUTTI_LAYER_V1);
    ck_assert_ok(layer->build(o->s.self, m, &o->err), o->err);
    return layer;
}

/* What the layer emits for one input of this shape, its result in the last line; or its failure. */
static inline const char *theatre_trace(theatre *o, const tutti_layer_v1 *layer, tutti_module m,
                                        int32_t mode, tutti_desc shape)
{
    const tutti_value in = 1;
    tutti_value out = 0;
    record_init(&o->g, mode, shape);
    if (layer->trace(o->s.self, &o->g.graph, m, &in, 1, &out, 1) == TUTTI_OK)
        record_add(&o->g, "v%u\n", out);
    return o->g.text;
}

#endif
