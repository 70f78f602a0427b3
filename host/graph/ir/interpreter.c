/* interpreter.c - runs any graph in f64 by the ops' reference maths. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/interpreter.h"

#include "tutti/float8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct interpreter {
    const graph *g;
    double **values;
    uint32_t nvalues;
    uint32_t reserved;
};

static double half_to_f64(uint16_t h)
{
    const int exponent = h >> 10 & 31;
    const double fraction = (h & 1023) / 1024.0, sign = h & 0x8000 ? -1.0 : 1.0;
    if (exponent == 31)
        return fraction != 0.0 ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(1.0 + fraction, exponent - 15) : ldexp(fraction, -14));
}

static double bf16_to_f64(uint16_t h)
{
    const uint32_t bits = (uint32_t)h << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

/* The nearest number of so many bits of fraction and exponents up to `bias`, ties to even; by its
 * definition, so that kernels can be held against it. */
static uint16_t half_of(double x, int fraction, int bias)
{
    const uint16_t sign = signbit(x) ? 0x8000 : 0,
                   ones = (uint16_t)((2 * bias + 1) << fraction);
    if (isnan(x))
        return (uint16_t)(sign | ones | 1u << (fraction - 1));
    int exponent;
    (void)frexp(x, &exponent);
    exponent = exponent - 1 < 1 - bias || x == 0.0 ? 1 - bias : exponent - 1;
    const double units = isinf(x) ? INFINITY : nearbyint(ldexp(fabs(x), fraction - exponent));
    const double bits = ldexp((double)(exponent + bias - 1), fraction) + units;
    return (uint16_t)(sign | (bits < ones ? (uint16_t)bits : ones));
}

double tensor_get(const tutti_tensor *t, int64_t k)
{
    switch (t->desc.dtype) {
    case TUTTI_F32:
        return (double)((const float *)t->data)[k];
    case TUTTI_F64:
        return ((const double *)t->data)[k];
    case TUTTI_F16:
        return half_to_f64(((const uint16_t *)t->data)[k]);
    case TUTTI_BF16:
        return bf16_to_f64(((const uint16_t *)t->data)[k]);
    case TUTTI_F8_E4M3:
    case TUTTI_F8_E5M2:
        return (double)tutti_from_f8(((const uint8_t *)t->data)[k], t->desc.dtype);
    case TUTTI_I8:
        return ((const int8_t *)t->data)[k];
    case TUTTI_U8:
    case TUTTI_BOOL:
        return ((const uint8_t *)t->data)[k];
    case TUTTI_I16:
        return ((const int16_t *)t->data)[k];
    case TUTTI_U16:
        return ((const uint16_t *)t->data)[k];
    case TUTTI_I32:
        return ((const int32_t *)t->data)[k];
    case TUTTI_I64:
        return (double)((const int64_t *)t->data)[k];
    case TUTTI_U64:
        return (double)((const uint64_t *)t->data)[k];
    default:
        return NAN;
    }
}

void tensor_set(const tutti_tensor *t, int64_t k, double value)
{
    switch (t->desc.dtype) {
    case TUTTI_F32:
        ((float *)t->data)[k] = (float)value;
        break;
    case TUTTI_F64:
        ((double *)t->data)[k] = value;
        break;
    case TUTTI_I8:
        ((int8_t *)t->data)[k] = (int8_t)llrint(value);
        break;
    case TUTTI_U8:
    case TUTTI_BOOL:
        ((uint8_t *)t->data)[k] = (uint8_t)llrint(value);
        break;
    case TUTTI_I16:
        ((int16_t *)t->data)[k] = (int16_t)llrint(value);
        break;
    case TUTTI_U16:
        ((uint16_t *)t->data)[k] = (uint16_t)llrint(value);
        break;
    case TUTTI_I32:
        ((int32_t *)t->data)[k] = (int32_t)llrint(value);
        break;
    case TUTTI_I64:
        ((int64_t *)t->data)[k] = llrint(value);
        break;
    case TUTTI_U64:
        ((uint64_t *)t->data)[k] = (uint64_t)llrint(value);
        break;
    case TUTTI_F16:
        ((uint16_t *)t->data)[k] = half_of(value, 10, 15);
        break;
    case TUTTI_BF16:
        ((uint16_t *)t->data)[k] = half_of(value, 7, 127);
        break;
    case TUTTI_F8_E4M3:
    case TUTTI_F8_E5M2: /* through f32: rounded twice */
        ((uint8_t *)t->data)[k] = tutti_to_f8((float)value, t->desc.dtype);
        break;
    default:
        break;
    }
}

double *interpreter_value(interpreter *it, tutti_value v)
{
    return it->values[v];
}

void interpreter_load(interpreter *it, tutti_value v, const tutti_tensor *t)
{
    for (int64_t k = 0, n = tutti_numel(&t->desc); k < n; k++)
        it->values[v][k] = tensor_get(t, k);
}

tutti_status interpreter_create(const graph *g, interpreter **ret_interp, tutti_error *err)
{
    interpreter *it = calloc(1, sizeof *it);
    if (!it)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the interpreter");
    it->g = g;
    it->nvalues = graph_nvalues(g);
    it->values = calloc(it->nvalues, sizeof *it->values);
    for (tutti_value v = 1; v < it->nvalues && it->values; v++) {
        const graph_value *value = graph_value_at(g, v);
        const size_t n = (size_t)tutti_numel(&value->desc);
        it->values[v] = calloc(n ? n : 1, sizeof(double));
        if (!it->values[v])
            break;
        const tutti_tensor t = {(void *)(uintptr_t)value->data, value->desc, TUTTI_DEVICE_CPU,
                                0};
        if (value->kind == VALUE_CONST)
            interpreter_load(it, v, &t);
    }
    if (!it->values || (it->nvalues > 1 && !it->values[it->nvalues - 1])) {
        interpreter_destroy(it);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the interpreter");
    }
    *ret_interp = it;
    return TUTTI_OK;
}

void interpreter_destroy(interpreter *it)
{
    if (!it)
        return;
    for (tutti_value v = 1; v < it->nvalues && it->values; v++)
        free(it->values[v]);
    free(it->values);
    free(it);
}

/* The reference computes in f64 whatever it is given; operations know f32 by name. */
static tutti_desc wide_desc(const graph *g, tutti_value v)
{
    tutti_desc d = graph_value_at(g, v)->desc;
    d.dtype = d.dtype == TUTTI_BF16 || d.dtype == TUTTI_F16 ? TUTTI_F32 : d.dtype;
    return d;
}

static tutti_status run_node(interpreter *it, const graph_node *n, const tutti_step *step,
                             tutti_error *err)
{
    tutti_desc in_desc[TUTTI_OP_MAX_IN], out_desc[TUTTI_OP_MAX_OUT];
    const double *in[TUTTI_OP_MAX_IN];
    double *out[TUTTI_OP_MAX_OUT];
    for (uint32_t j = 0; j < n->nin; j++) {
        in_desc[j] = wide_desc(it->g, n->in[j]);
        in[j] = it->values[n->in[j]];
    }
    for (uint32_t j = 0; j < n->op->nout; j++) {
        out_desc[j] = wide_desc(it->g, n->out + j);
        out[j] = it->values[n->out + j];
    }
    if (n->guard && it->values[n->guard][0] == 0.0) {
        for (uint32_t j = 0; j < n->op->nout; j++)
            memset(out[j], 0, sizeof(double) * (size_t)tutti_numel(&out_desc[j]));
        return TUTTI_OK;
    }
    if (n->op->flags & TUTTI_OP_VIEW) {
        memcpy(out[0], in[0], sizeof(double) * (size_t)tutti_numel(&out_desc[0]));
        return TUTTI_OK;
    }
    const tutti_op_call call = {sizeof call, n->nin,  n->op->nout, 1,    in_desc,
                                out_desc,    n->attr, step,        NULL, NULL};
    const tutti_status s = n->op->reference(&call, in, out);
    if (s)
        return tutti_fail(err, s, "%s%s%s: the reference refused its input (%s)", n->scope,
                          *n->scope ? ": " : "", n->op->name, tutti_status_name(s));
    return TUTTI_OK;
}

tutti_status interpreter_run(interpreter *it, uint32_t first, uint32_t last,
                             const tutti_step *step, tutti_error *err)
{
    const tutti_step zero = {sizeof zero, 0, 0, 0, 0};
    for (uint32_t k = first; k < last; k++) {
        const tutti_status s = run_node(it, graph_node_at(it->g, k), step ? step : &zero, err);
        if (s)
            return s;
    }
    return TUTTI_OK;
}
