/* cudnn_maths.c - a graph's operations one by one, in f64. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cudnn_standin.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* While a graph runs, the numbers of a tensor lie in `storage` by their offset in memory, so that a
 * reshape is another view of the same storage. */

static int64_t extent(const flat_tensor *t)
{
    int64_t last = 0;
    for (int32_t k = 0; k < t->rank; k++)
        last += (t->dim[k] - 1) * t->stride[k];
    return last + 1;
}

/* Offset of element `at` of a tensor; dimensions of 1 repeat. */
static int64_t offset(const flat_tensor *t, const int64_t *at)
{
    int64_t o = 0;
    for (int32_t k = 0; k < t->rank; k++)
        o += (t->dim[k] == 1 ? 0 : at[k]) * t->stride[k];
    return o;
}

static bool next(const flat_tensor *t, int64_t *at)
{
    for (int32_t k = t->rank - 1; k >= 0; k--) {
        if (++at[k] < t->dim[k])
            return true;
        at[k] = 0;
    }
    return false;
}

static double rounded(const flat_tensor *t, double x)
{
    uint32_t room = 0;
    const int kind = number_kind(t->dtype);
    if (kind < 0)
        return x;
    number_set(&room, kind, 0, x);
    return number_get(&room, kind, 0);
}

/* Of F32 only 10 bits behind the point stay. */
static double tf32(double x)
{
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    bits = (bits + 0x1000u) & 0xFFFFE000u;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

static bool load(flat_graph *g, flat_tensor *t)
{
    const int kind = number_kind(t->dtype);
    const int64_t n = extent(t);
    int64_t at[5] = {0};
    t->storage = malloc(sizeof(double) * (size_t)n);
    if (!t->storage)
        return false;
    for (int64_t k = 0; k < n; k++)
        t->storage[k] = (double)NAN;
    if (t->is_virtual)
        return true;
    do {
        const int64_t k = offset(t, at);
        double x = t->by_value ? (double)t->value : number_get(t->data, kind, k);
        if (g->engine == ROUNDING && kind == NUMBER_F32 && !t->by_value)
            x = tf32(x);
        t->storage[k] = x;
    } while (next(t, at));
    return true;
}

static void store(const flat_graph *g, const flat_tensor *t)
{
    int64_t at[5] = {0};
    do {
        const int64_t k = offset(t, at);
        number_set(t->data, number_kind(t->dtype), k,
                   g->engine == UNSTEADY ? 1.01 * t->storage[k] : t->storage[k]);
    } while (next(t, at));
}

/* ---- operations ---- */

/* For every pair of places of a convolution that meet: what is added to what. */
static void convolve(const flat_op *op, const flat_tensor *x, const flat_tensor *w,
                     const flat_tensor *y, uint32_t type)
{
    const int64_t per_group = w->dim[1], groups = x->dim[1] / per_group;
    const int64_t outputs = w->dim[0] / groups;
    int64_t o[5] = {0};
    do { /* o: n, k, i, j of y */
        for (int64_t c = 0; c < per_group; c++) {
            for (int64_t u = 0; u < w->dim[2]; u++) {
                for (int64_t v = 0; v < w->dim[3]; v++) {
                    const int64_t p[4] = {
                        o[0], o[1] / outputs * per_group + c,
                        o[2] * op->stride[0] + u * op->dilation[0] - op->padding[0],
                        o[3] * op->stride[1] + v * op->dilation[1] - op->padding[1]};
                    const int64_t f[4] = {o[1], c, u, v};
                    if (p[2] < 0 || p[2] >= x->dim[2] || p[3] < 0 || p[3] >= x->dim[3])
                        continue;
                    double *px = &x->storage[offset(x, p)], *pw = &w->storage[offset(w, f)];
                    double *py = &y->storage[offset(y, o)];
                    if (type == CDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR)
                        *py += *px * *pw;
                    else if (type ==
                             CDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR)
                        *px += *py * *pw;
                    else
                        *pw += *px * *py;
                }
            }
        }
    } while (next(y, o));
}

static double pointwise(int32_t mode, double x, double b, double t, bool *ret_known)
{
    *ret_known = true;
    switch (mode) {
    case CDNN_POINTWISE_ADD:
        return x + b;
    case CDNN_POINTWISE_SUB:
        return x - b;
    case CDNN_POINTWISE_MUL:
        return x * b;
    case CDNN_POINTWISE_DIV:
        return x / b;
    case CDNN_POINTWISE_EXP:
        return exp(x);
    case CDNN_POINTWISE_LOG:
        return log(x);
    case CDNN_POINTWISE_IDENTITY:
        return x;
    case CDNN_POINTWISE_CMP_GE:
        return x >= b ? 1.0 : 0.0;
    case CDNN_POINTWISE_BINARY_SELECT:
        return t != 0.0 ? x : b;
    default:
        *ret_known = false;
        return 0.0;
    }
}

static const char *run_pointwise(const flat_graph *g, const flat_op *op, flat_tensor *y)
{
    const flat_tensor *x = &g->tensors[op->operand[0]];
    const flat_tensor *b = op->operand[1] < 0 ? NULL : &g->tensors[op->operand[1]];
    const flat_tensor *t = op->operand[2] < 0 ? NULL : &g->tensors[op->operand[2]];
    int64_t at[5] = {0};
    bool known = true;
    do {
        double r;
        if (op->mode == CDNN_POINTWISE_GEN_INDEX)
            r = (double)at[op->axis];
        else
            r = pointwise(op->mode, x->storage[offset(x, at)],
                          b ? b->storage[offset(b, at)] : 0.0,
                          t ? t->storage[offset(t, at)] : 0.0, &known);
        y->storage[offset(y, at)] = rounded(y, r);
    } while (known && next(y, at));
    return known ? NULL : "a pointwise mode that is none of ours";
}

static void run_reduction(const flat_op *op, const flat_tensor *x, flat_tensor *y)
{
    int64_t at[5] = {0};
    const bool max = op->mode == CDNN_REDUCE_TENSOR_MAX;
    do
        y->storage[offset(y, at)] = max ? -INFINITY : 0.0;
    while (next(y, at));
    do {
        double *r = &y->storage[offset(y, at)];
        const double v = x->storage[offset(x, at)];
        *r = max ? fmax(*r, v) : *r + v;
    } while (next(x, at));
}

/* (..., M, K) (..., K, N) */
static void run_matmul(const flat_tensor *a, const flat_tensor *b, flat_tensor *y)
{
    int64_t at[5] = {0};
    const int32_t last = y->rank - 1;
    do {
        double sum = 0.0;
        for (int64_t k = 0; k < a->dim[last]; k++) {
            int64_t ia[5], ib[5];
            memcpy(ia, at, sizeof ia);
            memcpy(ib, at, sizeof ib);
            ia[last] = ib[last - 1] = k;
            sum += a->storage[offset(a, ia)] * b->storage[offset(b, ib)];
        }
        y->storage[offset(y, at)] = rounded(y, sum);
    } while (next(y, at));
}

static const char *run_op(const flat_graph *g, const flat_op *op)
{
    const flat_tensor *a = &g->tensors[op->operand[0]];
    const flat_tensor *b = op->operand[1] < 0 ? NULL : &g->tensors[op->operand[1]];
    flat_tensor *y = (flat_tensor *)&g->tensors[op->operand[3]];
    switch (op->type) {
    case CDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        return run_pointwise(g, op, y);
    case CDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        run_reduction(op, a, y);
        return NULL;
    case CDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        run_matmul(a, b, y);
        return NULL;
    case CDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
        if (extent(a) != extent(y))
            return "a reshape to another size";
        memcpy(y->storage, a->storage, sizeof(double) * (size_t)extent(y));
        return NULL;
    default:
        for (int64_t k = 0; k < extent(y) && op->beta == 0.0f; k++)
            y->storage[k] = 0.0;
    }
    if (op->type == CDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR)
        convolve(op, a, b, y, op->type);
    else if (op->type == CDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR)
        convolve(op, y, b, a, op->type);
    else
        convolve(op, a, y, b, op->type);
    return NULL;
}

/* A memory tensor that some operation has as its result. */
static bool is_result(const flat_graph *g, uint32_t k)
{
    for (uint32_t j = 0; j < g->nops; j++)
        if (g->ops[j].operand[3] == (int32_t)k)
            return true;
    return false;
}

void flat_run(void *data)
{
    flat_graph *g = data;
    const char *wrong = NULL;
    memset(g->workspace, 0xFF, WORKSPACE);
    if (g->wait_us)
        (void)nanosleep(&(struct timespec){0, (long)g->wait_us * 1000}, NULL);
    for (uint32_t k = 0; k < g->ntensors && !wrong; k++)
        wrong = load(g, &g->tensors[k]) ? NULL : "no memory";
    for (uint32_t k = 0; k < g->nops && !wrong; k++)
        wrong = run_op(g, &g->ops[k]);
    for (uint32_t k = 0; k < g->ntensors && !wrong; k++)
        if (!g->tensors[k].is_virtual && is_result(g, k))
            store(g, &g->tensors[k]);
    for (uint32_t k = 0; k < g->ntensors; k++)
        free(g->tensors[k].storage);
    if (wrong)
        tutti_cuda_standin.fail(wrong);
}
