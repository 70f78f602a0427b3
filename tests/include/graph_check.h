/* graph_check.h - a graph that writes down what layers emit. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GRAPH_CHECK_H
#define GRAPH_CHECK_H

#include "tutti/op.h"
#include "tutti_check.h"

#include <stdarg.h>
#include <stdio.h>

enum { TEXT_ROOM = 8192 };

/* What a layer emits, one line an operation: "v2 = conv2d(v1, weight; stride=[2, 2], groups=1)". */
typedef struct record {
    tutti_graph graph;
    char text[TEXT_ROOM];
    tutti_desc shape;  /* of every value */
    uint32_t values;   /* v1 to v<values> */
    uint32_t nweights; /* weights are numbered from 1000, constants from 2000 */
    const char *names[16];
    tutti_desc constant_desc;
    float constant[1024]; /* the last one */
    tutti_status status;
} record;

TUTTI_PRINTF(2, 3)
static inline void record_add(record *r, const char *format, ...)
{
    const size_t used = strlen(r->text);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(r->text + used, sizeof r->text - used, format, args);
    va_end(args);
}

static inline void record_value(record *r, tutti_value v)
{
    if (v >= 2000)
        record_add(r, "constant");
    else if (v >= 1000)
        record_add(r, "%s", r->names[v - 1000]);
    else
        record_add(r, "v%u", v);
}

static inline tutti_value record_emit(tutti_graph *g, const char *op, const tutti_value *in,
                                      uint32_t nin, const tutti_attr *attr, uint32_t nattr,
                                      tutti_value *out, uint32_t nout)
{
    record *r = g->ctx;
    const tutti_value first = r->values + 1;
    r->values += nout > 1 ? nout : 1;
    record_add(r, "v%u = %s(", first, op);
    for (uint32_t k = 0; k < nin; k++) {
        record_add(r, "%s", k ? ", " : "");
        record_value(r, in[k]);
    }
    for (uint32_t k = 0; k < nattr; k++) {
        record_add(r, "%s%s=", k ? ", " : "; ", attr[k].name);
        if (attr[k].type == TUTTI_ATTR_I64)
            record_add(r, "%lld", (long long)attr[k].i);
        else if (attr[k].type == TUTTI_ATTR_F64)
            record_add(r, "%g", attr[k].f);
        else {
            record_add(r, "[");
            for (uint32_t j = 0; j < attr[k].count; j++)
                record_add(r, "%s%lld", j ? ", " : "", (long long)attr[k].list[j]);
            record_add(r, "]");
        }
    }
    record_add(r, ")\n");
    for (uint32_t k = 0; k < nout && out; k++)
        out[k] = first + k;
    return first;
}

static inline const tutti_desc *record_desc(tutti_graph *g, tutti_value v)
{
    (void)v;
    return &((record *)g->ctx)->shape;
}

static inline tutti_value record_weight(tutti_graph *g, tutti_module m, const char *name)
{
    record *r = g->ctx;
    (void)m;
    r->names[r->nweights] = name;
    return 1000 + r->nweights++;
}

static inline tutti_value record_constant(tutti_graph *g, const tutti_tensor *t)
{
    record *r = g->ctx;
    ck_assert_uint_le(tutti_nbytes(&t->desc), sizeof r->constant);
    memcpy(r->constant, t->data, tutti_nbytes(&t->desc));
    r->constant_desc = t->desc;
    return 2000;
}

static inline void record_assign(tutti_graph *g, tutti_value target, tutti_value v)
{
    record *r = g->ctx;
    record_value(r, target);
    record_add(r, " <- v%u\n", v);
}

static inline tutti_status record_call(tutti_graph *g, tutti_module m, const tutti_value *in,
                                       uint32_t nin, tutti_value *out, uint32_t nout)
{
    record *r = g->ctx;
    char from[128] = "";
    ck_assert_uint_eq(nout, 1);
    for (uint32_t k = 0; k < nin; k++) {
        const size_t used = strlen(from);
        if (in[k] >= 1000)
            (void)snprintf(from + used, sizeof from - used, "%s%s", k ? ", " : "",
                           in[k] < 2000 ? r->names[in[k] - 1000] : "constant");
        else
            (void)snprintf(from + used, sizeof from - used, "%sv%u", k ? ", " : "", in[k]);
    }
    out[0] = ++r->values; /* `out` may be `in` */
    record_add(r, "v%u = module %u(%s)\n", out[0], m, from);
    return TUTTI_OK;
}

static inline tutti_status record_fail(tutti_graph *g, tutti_status status, const char *text)
{
    record *r = g->ctx;
    record_add(r, "failed: %s\n", text);
    r->status = status;
    return status;
}

static inline tutti_status record_status(const tutti_graph *g)
{
    return ((const record *)g->ctx)->status;
}

static inline tutti_value record_guard(tutti_graph *g, tutti_value keep)
{
    record *r = g->ctx;
    record_add(r, "if ");
    record_value(r, keep);
    record_add(r, " {\n");
    return 0;
}

static inline void record_unguard(tutti_graph *g, tutti_value before)
{
    (void)before;
    record_add(g->ctx, "}\n");
}

/* v1 is the input; every value has shape `desc`. */
static inline void record_init(record *r, int32_t mode, tutti_desc desc)
{
    memset(r, 0, sizeof *r);
    r->graph = (tutti_graph){
        sizeof r->graph, mode,          r,           record_emit, record_desc,   record_weight,
        record_constant, record_assign, record_call, record_fail, record_status, record_guard,
        record_unguard};
    r->shape = desc;
    r->values = 1;
}

#endif
