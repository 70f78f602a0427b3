/* model_check.h - a model through its entry function: the tree that it builds and what it emits. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_CHECK_H
#define MODEL_CHECK_H

#include "layer_check.h"

#include "tutti/model.h"

#include <stdio.h>

/* One opened model over a tree of its own; tree and record are written as text. */
typedef struct easel {
    tree tree;
    record record;
    subject subject;
    service services[2];
    const tutti_model_v1 *table;
    tutti_error err;
    char text[TEXT_ROOM];
} easel;

static inline tutti_status easel_open(easel *e, const char *name, const test_settings *g)
{
    memset(e, 0, sizeof *e);
    tree_init(&e->tree);
    e->services[0] = (service){TUTTI_MODULE_V1, &e->tree.table};
    const tutti_status status =
        subject_open(&e->subject, PLUGIN_PATH, TUTTI_KIND_MODEL, name, g, e->services, &e->err);
    if (status == TUTTI_OK)
        e->table = subject_query(&e->subject, TUTTI_MODEL_V1);
    return status;
}

/* Builds for samples of shape (height, width, channels) and 10 classes. */
static inline tutti_status easel_build(easel *e, int32_t dtype, int64_t height, int64_t width,
                                       int64_t channels)
{
    const tutti_column columns[2] = {{"input", {{height, width, channels}, 3, dtype}, 0},
                                     {"target", {{0}, 0, TUTTI_I32}, 10}};
    return e->table->build(e->subject.self, 1, columns, 2, &e->err);
}

/* The same for a map of 4 classes, of these sides. */
static inline tutti_status easel_build_map(easel *e, int64_t height, int64_t width,
                                           int64_t map_height, int64_t map_width)
{
    const tutti_column columns[2] = {{"input", {{height, width, 3}, 3, TUTTI_F32}, 0},
                                     {"target", {{map_height, map_width}, 2, TUTTI_I32}, 4}};
    return e->table->build(e->subject.self, 1, columns, 2, &e->err);
}

/* The tree, a line a module: "2<1 body sequential", then its settings. */
static inline const char *easel_tree(easel *e)
{
    size_t used = 0;
    for (uint32_t k = 2; k <= e->tree.count; k++) {
        const tree_module *m = &e->tree.modules[k];
        used += (size_t)snprintf(e->text + used, sizeof e->text - used, "%u<%u %s %s", k,
                                 m->parent, m->name, m->kind);
        for (uint32_t p = 0; p < m->given.params.count; p++)
            used += (size_t)snprintf(e->text + used, sizeof e->text - used, " %s=%g",
                                     m->given.values[p].name, m->given.values[p].f);
        used += (size_t)snprintf(e->text + used, sizeof e->text - used, "\n");
        ck_assert_uint_lt(used, sizeof e->text);
    }
    return e->text;
}

/* What trace and the mean loss emit, where every value has the shape of a batch of four. */
static inline const char *easel_trace(easel *e)
{
    const tutti_desc shape = {{4, 8, 8, 3}, 4, TUTTI_F32};
    const tutti_value in = 1, target = 1;
    tutti_value out = 0;
    record_init(&e->record, TUTTI_MODE_TRAIN, shape);
    ck_assert_int_eq(e->table->trace(e->subject.self, &e->record.graph, 1, &in, 1, &out, 1),
                     TUTTI_OK);
    const tutti_value loss = e->table->loss(e->subject.self, &e->record.graph, &out, 1, &target,
                                            1, TUTTI_REDUCTION_MEAN);
    record_add(&e->record, "loss v%u\n", loss);
    return e->record.text;
}

#endif
