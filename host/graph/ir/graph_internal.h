/* graph_internal.h - what the files of the graph share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_IR_GRAPH_INTERNAL_H
#define HOST_GRAPH_IR_GRAPH_INTERNAL_H

#include "graph/ir/graph.h"
#include "graph/ir/pool.h"

struct graph {
    tutti_graph api; /* first, so that the builder's pointer is the graph's */
    const tutti_op *const *ops;
    graph_hooks hooks;
    pool memory;
    graph_value *values;
    graph_node *nodes;
    graph_assign *assigns;
    uint32_t *buckets; /* of node number + 1, by hash; a power of two, at most half full */
    const char *scope;
    uint32_t nvalues, value_capacity;
    uint32_t nnodes, node_capacity;
    uint32_t nassigns, assign_capacity;
    uint32_t nbuckets, nhashed;
    uint32_t ninputs;
    tutti_value guard; /* of the nodes emitted next; 0: none */
    int32_t segment;
    int32_t passes; /* GRAPH_* */
    graph_autocast autocast;
    int32_t fast; /* as graph_set_fast said */
    bool expand;  /* operations that decompose are emitted as what they are made of */
    tutti_error error;
};

/* graph.c */
tutti_status graph_out_of_memory(graph *g);
/* Makes room for `more` entries in the array that `array` points at; false when memory is out. */
bool graph_reserve(void *array, uint32_t *capacity, uint32_t used, uint32_t more, size_t size);
tutti_value graph_add_value(graph *g, const tutti_desc *desc, int32_t kind, uint32_t index);
/* Records "scope: text". */
tutti_status graph_fail_at(graph *g, tutti_status status, const char *text);

/* graph_emit.c: tutti_graph.emit */
tutti_value graph_build_emit(tutti_graph *b, const char *name, const tutti_value *in,
                             uint32_t nin, const tutti_attr *attr, uint32_t nattr,
                             tutti_value *out, uint32_t nout);

/* graph_guard.c: tutti_graph.guard, unguard */
tutti_value graph_build_guard(tutti_graph *b, tutti_value keep);
void graph_build_unguard(tutti_graph *b, tutti_value before);
/* What an assignment of `v` to `target` leaves there: under a guard where (keep, v, target). */
tutti_value graph_guarded(graph *g, tutti_value target, tutti_value v);

#endif
