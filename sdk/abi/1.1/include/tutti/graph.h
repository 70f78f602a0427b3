/* graph.h - the builder with which models, layers and gradient rules emit operations. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_GRAPH_H
#define TUTTI_GRAPH_H

#include "tensor.h"

TUTTI_C_BEGIN

typedef uint32_t tutti_value;  /* an SSA value of one graph; 0 is "none" */
typedef uint32_t tutti_module; /* a module of the host's tree; 0 is "none" */

enum {
    TUTTI_MODE_EVAL = 0,  /* running statistics, no dropout */
    TUTTI_MODE_TRAIN = 1, /* batch statistics, dropout */
};

enum { TUTTI_ATTR_I64 = 1, TUTTI_ATTR_F64 = 2, TUTTI_ATTR_LIST = 3, TUTTI_ATTR_TEXT = 4 };

/* One attribute of an operation, by the name that the op's folder documents.  Borrowed for the
 * call.  An unknown name or a wrong type is an error that names the op's attributes.
 * No struct_size: calls take arrays of it, so it never grows. */
typedef struct tutti_attr {
    const char *name;
    int32_t type;   /* TUTTI_ATTR_* */
    uint32_t count; /* LIST: number of entries, at most TUTTI_MAX_RANK */
    int64_t i;
    double f;
    const int64_t *list;
    /* TEXT: for settings of a layer, never for operations.  What a run file has for a setting of type string,
     * enum, time ("3ep") or path; for a list its JSON ("[0.5, 2]"). */
    const char *text;
} tutti_attr;

static inline tutti_attr tutti_attr_i(const char *name, int64_t value)
{
    tutti_attr a = {name, TUTTI_ATTR_I64, 0, value, 0.0, NULL, NULL};
    return a;
}

static inline tutti_attr tutti_attr_f(const char *name, double value)
{
    tutti_attr a = {name, TUTTI_ATTR_F64, 0, 0, value, NULL, NULL};
    return a;
}

static inline tutti_attr tutti_attr_list(const char *name, const int64_t *values,
                                         uint32_t count)
{
    tutti_attr a = {name, TUTTI_ATTR_LIST, count, 0, 0.0, values, NULL};
    return a;
}

static inline tutti_attr tutti_attr_text(const char *name, const char *text)
{
    tutti_attr a = {name, TUTTI_ATTR_TEXT, 0, 0, 0.0, NULL, text};
    return a;
}

/* The graph under construction.  Errors stick: after the first one every emit returns 0 and does
 * nothing, so a trace is written straight down and the caller of the trace reports the cause.
 * The host owns it; valid during trace, loss or vjp.  All members [control]. */
typedef struct tutti_graph tutti_graph;
struct tutti_graph {
    uint32_t struct_size;
    int32_t mode; /* TUTTI_MODE_* */
    void *ctx;
    /* Appends operation `op`: a bare name is the host's own operation or, where it has none, a plugin's;
     * "plugin.id:name" is that plugin's.  Writes its results to out[0..nout) (nout may be less than the op
     * has; `out` may be NULL) and returns the first, or 0 after an error. */
    tutti_value (*emit)(tutti_graph *g, const char *op, const tutti_value *in, uint32_t nin,
                        const tutti_attr *attr, uint32_t nattr, tutti_value *out,
                        uint32_t nout);
    /* Shape and dtype of `v`.  Never NULL: a rank-0, dtype-NONE description stands for 0.  Borrowed
     * until the next emit. */
    const tutti_desc *(*desc)(tutti_graph *g, tutti_value v);
    /* The weight or buffer that module `m` declared as `name`. */
    tutti_value (*weight)(tutti_graph *g, tutti_module m, const char *name);
    /* A constant; the data is copied. */
    tutti_value (*constant)(tutti_graph *g, const tutti_tensor *t);
    /* After this graph has run, the buffer behind `target` (a value from `weight`) holds `v`. */
    void (*assign)(tutti_graph *g, tutti_value target, tutti_value v);
    /* Traces module `m`, whatever surgery has made of it.  At most 16 inputs; `out` may be `in`. */
    tutti_status (*call)(tutti_graph *g, tutti_module m, const tutti_value *in, uint32_t nin,
                         tutti_value *out, uint32_t nout);
    /* Records an error of the caller's own; the first one wins.  Returns `status`. */
    tutti_status (*fail)(tutti_graph *g, tutti_status status, const char *text);
    /* 0, or the first error's status. */
    tutti_status (*status)(const tutti_graph *g);
    /* What is emitted until `unguard` belongs to `keep`, one F32 of rank 0, for instance a buffer
     * that an algorithm writes before_forward: in a run where it is 0 these operations and their
     * gradients are skipped, what they give is zeros, and buffers that they assign stay as they
     * were.  `keep` gets no gradient and must not change between forward and backward.  Guards
     * nest.  Returns what unguard wants. */
    tutti_value (*guard)(tutti_graph *g, tutti_value keep);
    void (*unguard)(tutti_graph *g, tutti_value before);
#if TUTTI_USE_MINOR >= 1
    /* since 1.1.  The positions of the tokens (B, T) that a graph goes on with from where its sequences were, I32 (T);
     * 0 where every sequence begins with the inputs.  `most` is how many positions the caller has, 0: any number; the
     * least of those that callers give is how long sequences may become.  A model that asks, whether it has positions or
     * not, says with that that it can go on: it mixes tokens by nothing but layers that call `cache`. */
    tutti_value (*position)(tutti_graph *g, int64_t most);
    /* since 1.1.  Puts `rows` F32 (B, T, ...) behind those that earlier runs gave under this name of module `m`, and gives
     * all: (B, N, ...), where N is how long sequences may become and what lies behind the last position means nothing.
     * 0 where `position` is 0, and after an error. */
    tutti_value (*cache)(tutti_graph *g, tutti_module m, const char *name, tutti_value rows);
#endif
};

TUTTI_C_END
#endif
