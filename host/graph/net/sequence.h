/* sequence.h - graphs that go on with sequences: positions, and rows that are kept from run to run. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_NET_SEQUENCE_H
#define HOST_GRAPH_NET_SEQUENCE_H

#include "graph/net/net_internal.h"

/* What one module of the net keeps: for plans of every number of new tokens. */
struct sequence_rows {
    sequence_rows *next;
    tutti_module m;
    char *name;
    tutti_desc desc; /* (B, N, ...) */
    void *memory;    /* on the net's device */
};

/* Rows in one graph: as they are before a run, and after. */
typedef struct sequence_use {
    const sequence_rows *rows;
    tutti_value before, after;
} sequence_use;

/* One graph's trace. */
struct sequence_trace {
    tutti_value position;
    int64_t length;  /* T */
    int64_t wanted;  /* the request's context */
    int64_t context; /* N; 0: not decided yet */
    int64_t most;    /* positions that the model has; 0: any number */
    sequence_use *uses;
    uint32_t nuses;
    bool asked; /* by the model itself */
};

/* Of a graph whose inputs are `length` tokens of each sequence; `wanted` is how long these may become where the
 * model does not bound them.  NULL: out of memory. */
sequence_trace *sequence_trace_create(int64_t length, int64_t wanted);
void sequence_trace_destroy(
    sequence_trace *q); /* NULL is allowed here and below: a graph without */
/* module_trace.c: net_trace_model with `position` (T) for layers that ask.  Errors stick to the graph: E_UNSUPPORTED the model
 * cannot go on from where it was. */
tutti_status sequence_trace_model(net *n, sequence_trace *q, graph *g, tutti_value position,
                                  const tutti_value *in, uint32_t nin, tutti_value *out,
                                  uint32_t nout);
bool sequence_fits(const sequence_trace *q, int64_t context);
uint32_t sequence_count(const sequence_trace *q);
uint64_t sequence_bytes(const sequence_trace *q);
/* A pass must give what is kept; the graph is another, where map[v] is what v was. */
void sequence_want(const sequence_trace *q, bool *wanted);
void sequence_adopt(sequence_trace *q, const tutti_value *map);
/* What is kept goes to where it lies; how many. */
uint32_t sequence_list_stores(const sequence_trace *q, program_store *stores);
/* All that is kept, once no plan is left. */
void sequence_rows_drop(net *n);

/* Hooks of graphs: tutti_graph's. */
tutti_value sequence_position(void *ctx, graph *g, int64_t most);
tutti_value sequence_cache(void *ctx, graph *g, tutti_module m, const char *name,
                           tutti_value rows);

#endif
