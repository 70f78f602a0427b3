/* rewrite.h - copying a graph into another, node by node or with some nodes become one. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_PASSES_REWRITE_H
#define HOST_GRAPH_PASSES_REWRITE_H

#include "graph/ir/graph.h"

/* An input, a weight or a constant of `from`, in `to`. */
tutti_value rewrite_leaf(const graph *from, tutti_value v, graph *to);

/* map[v]: what value v of `from` is in `to`; 0: nothing (yet).  Buffers keep their dtype, whatever has
 * been computed for them. */
void rewrite_assigns(const graph *from, graph *to, const tutti_value *map);

/* What goes where nodes of another graph were. */
typedef struct rewrite_node {
    const char *op;
    const graph_node *place; /* whose segment, scope and guard it has */
    const graph_node *like;  /* whose attributes */
    int64_t act;             /* the attribute of that name; 0: as `like` has it */
    int64_t of;              /* likewise */
    int64_t columns;         /* likewise */
    int32_t dtype;           /* of result 0, where results keep theirs; 0: as it is there */
    uint32_t nin, nout;
    tutti_value in[TUTTI_OP_MAX_IN];   /* values there */
    tutti_value out[TUTTI_OP_MAX_OUT]; /* those that its results stand for */
} rewrite_node;

/* `n` as it is. */
rewrite_node rewrite_same(const graph_node *n);

/* Emits it into `to` and notes its results in map; errors stick to `to`. */
void rewrite_emit(graph *to, const rewrite_node *n, tutti_value *map);

#define REWRITE_NONE UINT32_MAX

/* A copy in which some nodes become one with others. */
typedef struct rewrite {
    const graph *from;
    const bool *wanted; /* by value: read after the graph */
    uint32_t *nreaders; /* by value: nodes that read it or are guarded by it */
    uint32_t *first;    /* by value: the first node that reads it, or REWRITE_NONE */
    uint32_t *with; /* by node: the other one that it becomes one with, itself where it changes
                           alone, or REWRITE_NONE */
    bool *gone;     /* by node: not copied, what `with` names elsewhere */
    bool *marked;   /* by value: the rule's own */
} rewrite;

typedef struct rewrite_rule {
    /* Sets with[] and gone[]. */
    void (*find)(rewrite *r);
    /* What node `k` becomes, for which with[k] is set. */
    rewrite_node (*join)(const rewrite *r, uint32_t k);
    int32_t passes; /* GRAPH_*: of the nodes of the copy */
    bool dtypes;    /* results keep their dtypes, whatever their operation infers */
    bool early; /* what joined nodes read may come behind them: it goes before them, into their
                           segment */
} rewrite_rule;

/* Copies `from` into the empty graph `to`.  ret_map[v]: what value v is in `to`; 0 for what went into a
 * node.  Errors: E_NOMEM, and those of `to`. */
TUTTI_NODISCARD tutti_status rewrite_graph(const graph *from, const bool *wanted,
                                           const rewrite_rule *rule, graph *to,
                                           tutti_value *ret_map, tutti_error *err);

/* The node that gives `v`; NULL: none does. */
const graph_node *rewrite_producer(const rewrite *r, tutti_value v);
/* Read by one node and not after the graph. */
bool rewrite_read_once(const rewrite *r, tutti_value v);
/* Of one shape and dtype. */
bool rewrite_same_desc(const rewrite *r, tutti_value a, tutti_value b);

#endif
