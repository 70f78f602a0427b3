/* builder.h - a program under construction. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_PROGRAM_BUILDER_H
#define HOST_GRAPH_PROGRAM_BUILDER_H

#include "graph/program/program_internal.h"

typedef struct builder {
    const program_spec *spec;
    const graph *g;
    program *p;
    bool *live;           /* by node */
    bool *direct;         /* by store: the node writes there itself */
    uint32_t *after;      /* by store: the node after which it can run; NEVER: before all */
    bool *wanted;         /* by value: something reads it after the graph */
    bool *escapes;        /* by value: something reads it that has another guard */
    bool *solid;          /* by node: a view that is a copy */
    void **preplaced;     /* by node: where its result is without a step; NULL: nowhere */
    uint32_t *group_ends; /* by node: the last one of its group */
    uint32_t nnodes;
} builder;

static inline alias_set *builder_alias_set(const builder *b, tutti_value v)
{
    return &b->p->alias_sets[program_alias_set(b->p, v)];
}

/* Node `k` gives the memory of its input another shape. */
static inline bool builder_is_view(const builder *b, uint32_t k)
{
    return graph_node_at(b->g, k)->op->flags & TUTTI_OP_VIEW && !b->solid[k];
}

/* Of a store that is not EXTERNAL. */
static inline void *builder_store_place(const builder *b, const program_store *s)
{
    return s->kind == STORE_WEIGHT ? b->spec->weights[s->index] : s->memory;
}

/* steps.c.  Once it is known what shares memory: prepares the kernels, of nodes, groups and
 * stores, in the graph's order. */
tutti_status builder_make_steps(builder *b, tutti_error *err);
/* step_order.c.  Once the steps are there: puts them into an order that needs less memory. */
tutti_status builder_order_steps(builder *b, tutti_error *err);
/* layout.c.  After that: lifetimes, places, the arena's size. */
tutti_status builder_lay_out(builder *b, tutti_error *err);
/* Lifetimes, and which results lie in the place of inputs, by the steps' times. */
void builder_find_lifetimes(builder *b);
/* Memory alive in steps first to last; its number in the map. */
uint32_t builder_add_interval(builder *b, uint64_t bytes, uint32_t first, uint32_t last);

#endif
