/* graph.h - the SSA graph: values, nodes, the builder that emits them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_IR_GRAPH_H
#define HOST_GRAPH_IR_GRAPH_H

#include "tutti/op.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct graph graph;

enum { GRAPH_MAX_ATTR = 16 }; /* of one operation */

enum { VALUE_NODE, VALUE_INPUT, VALUE_WEIGHT, VALUE_CONST };

typedef struct graph_value {
    tutti_desc desc;
    int32_t kind;     /* VALUE_* */
    uint32_t index;   /* NODE: its node; INPUT: its number; WEIGHT: the id given by the owner */
    const void *data; /* CONST: the bytes, 64-byte aligned */
    int32_t trainable; /* WEIGHT: it is no buffer */
    int32_t reserved;
} graph_value;

typedef struct graph_node {
    const tutti_op *op;
    const tutti_value *in; /* nin */
    const void *attr;
    const char *scope; /* path of the module that emitted it; "" outside of any */
    uint32_t nin;
    tutti_value out;        /* the first of op->nout consecutive values */
    int32_t segment;        /* as graph_set_segment said at the time */
    tutti_value guard;      /* 0: none; where it is 0 in a run, the results are zeros */
    tutti_value recomputes; /* 0, or the value that `out` has once more: rematerialization.h */
    uint32_t group;         /* those of one number run together or not at all; 0: always */
} graph_node;

typedef struct graph_assign {
    uint32_t weight; /* id */
    tutti_value value;
} graph_assign;

/* Which 16 bits activations are stored in while a graph is built; the rules are precision.h's. */
typedef struct graph_autocast {
    int32_t dtype; /* TUTTI_BF16, TUTTI_F16, or TUTTI_DTYPE_NONE: nothing changes */
    bool
        everything; /* products read nothing but that dtype; otherwise what is there in f32 anyway
                        (weights, constants, the batch) is read as it is, and so are gradients */
} graph_autocast;

/* What the owner of a module tree answers for g->weight and g->call.  Errors go through g->fail. */
typedef struct graph_hooks {
    void *ctx;
    /* *ret_id and *ret_desc of the weight; `trainable` ones cannot be assigned. */
    tutti_status (*weight)(void *ctx, graph *g, tutti_module m, const char *name,
                           uint32_t *ret_id, tutti_desc *ret_desc, bool *ret_trainable);
    tutti_status (*call)(void *ctx, graph *g, tutti_module m, const tutti_value *in,
                         uint32_t nin, tutti_value *out, uint32_t nout);
    /* What a layer reads where weight `id` is `v`; NULL: `v`. */
    tutti_value (*read)(void *ctx, graph *g, uint32_t id, tutti_value v);
    /* An operation that the table does not have, as long as the graph lives; NULL with the reason, of
     * which E_NOTFOUND is that there is none.  The hook may be NULL. */
    const tutti_op *(*op)(void *ctx, const char *name, tutti_error *err);
    /* As tutti_graph's; NULL: every sequence begins with the inputs. */
    tutti_value (*position)(void *ctx, graph *g, int64_t most);
    tutti_value (*cache)(void *ctx, graph *g, tutti_module m, const char *name,
                         tutti_value rows);
} graph_hooks;

/* `ops` is NULL-terminated and outlives the graph; `hooks` may be NULL.  NULL: out of memory. */
graph *graph_create(const tutti_op *const *ops, int32_t mode, const graph_hooks *hooks);
void graph_destroy(graph *g); /* NULL is allowed */

tutti_graph *graph_builder(graph *g); /* lives in g */
static inline graph *graph_of(tutti_graph *b)
{
    return b->ctx;
}

/* The next input; 0 after an error. */
tutti_value graph_input(graph *g, const tutti_desc *desc);
/* A weight that the owner of the tree knows by this id; 0 after an error. */
tutti_value graph_weight(graph *g, uint32_t id, const tutti_desc *desc, bool trainable);
/* From here on operations that can be decomposed are emitted as the simpler ones they are made of:
 * for gradients of gradients. */
void graph_set_expand(graph *g, bool expand);
/* What becomes of nodes that are emitted from here on; at first GRAPH_MERGE. */
enum {
    GRAPH_PLAIN, /* each is added */
    GRAPH_MERGE, /* one that equals an earlier one is that one */
    GRAPH_FOLD,  /* and what is known without running is no node */
};
void graph_set_passes(graph *g, int32_t passes);
/* Nodes from here on whose operation has the attribute `fast` get it: 1, as precision fp32_fast wants; 2 and 3,
 * as amp_bf16 and amp_fp16 do, where factors of F32 may be rounded to BF16, or beside F16 to F16; 0 ends it. */
void graph_set_fast(graph *g, int32_t fast);
/* Nodes emitted from here on belong to this segment / this module path (copied).  The path heads
 * the texts of errors.  Returns the scope of before, for putting it back. */
void graph_set_segment(graph *g, int32_t segment);
int32_t graph_segment(const graph *g);
const char *graph_set_scope(graph *g, const char *path);
/* The same for a guard, which is one F32 of the graph; 0: none.  Returns the one of before. */
tutti_value graph_set_guard(graph *g, tutti_value guard);
/* Operations emitted from here on store in 16 bits what precision.h's rules say. */
void graph_set_autocast(graph *g, const graph_autocast *autocast);
/* The result of a product that no node has read yet gets another float dtype. */
void graph_set_dtype(graph *g, tutti_value v, int32_t dtype);
/* Of the table, or what the owner has beside it; NULL with the reason. */
const tutti_op *graph_op(const graph *g, const char *name, tutti_error *err);
/* Whether it is of the table. */
bool graph_op_is_built_in(const graph *g, const tutti_op *op);
/* The built-in operation that is TUTTI_ROLE_*; NULL when there is none. */
const tutti_op *graph_op_with_role(const graph *g, int32_t role);
/* The first error, or OK; copies it to *err. */
tutti_status graph_error(const graph *g, tutti_error *err);

uint32_t graph_nvalues(const graph *g); /* ids run from 1 to nvalues - 1 */
const graph_value *graph_value_at(const graph *g, tutti_value v);
uint32_t graph_nnodes(const graph *g);
const graph_node *graph_node_at(const graph *g, uint32_t k);
uint32_t graph_nassigns(const graph *g);
graph_assign graph_assign_at(const graph *g, uint32_t k);
static inline bool graph_is_floating(int32_t dtype)
{
    return dtype == TUTTI_F32 || dtype == TUTTI_F64 || dtype == TUTTI_F16 ||
           dtype == TUTTI_BF16 || dtype == TUTTI_F8_E4M3 || dtype == TUTTI_F8_E5M2;
}

uint64_t graph_bytes(const graph *g); /* of memory that it holds */

/* Marks in live[0..nnodes) the nodes that `roots` need.  Zero roots are skipped. */
void graph_mark_live(const graph *g, const tutti_value *roots, uint32_t nroots, bool *live);

double graph_flops(const graph *g); /* of products, convolutions and attention */

/* One line a node: "%7 f32 (8, 4) = matmul(%1, %2) transpose_b=1  # fc". */
void graph_dump(const graph *g, FILE *file);

#endif
