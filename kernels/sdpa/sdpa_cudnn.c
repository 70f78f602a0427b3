/* sdpa_cudnn.c - attention and its gradient in the operations that cuDNN's engines recognise. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sdpa/sdpa_cudnn.h"

#include <math.h>

/* Numbers of scalars behind those of the operands, which are 1 + SDPA_*. */
enum { SCALE = SDPA_OPERANDS + 1, MASKED, KEEP_PROBABILITY, KEEP };

static const float masked = -INFINITY;

typedef struct build {
    cdnn_graph g;
    const sdpa_cudnn *c;
    int32_t dtype;     /* CDNN_DATA_* */
    void *mask, *keep; /* with dropout */
} build;

bool sdpa_cudnn_allows(const sdpa_cudnn *c, uint64_t version)
{
    enum { V9_10_0 = 91000, V9_10_1 = 91001, V9_15_0 = 91500, TILE = 128 };
    const bool bf16_broken = version == V9_10_0 || version == V9_10_1;
    return !(c->dtype == TUTTI_BF16 && bf16_broken) &&
           !(c->grad && version <= V9_15_0 && c->s.tk % TILE != 0);
}

uint64_t sdpa_cudnn_mask_bytes(const sdpa_cudnn *c)
{
    const sdpa_shape *s = &c->s;
    return s->drop > 0.0f ? (uint64_t)(s->heads * s->tq * s->tk) * sizeof(uint16_t) : 0;
}

uint64_t sdpa_cudnn_kept_bytes(const sdpa_cudnn *c)
{
    enum { TILE = 64 };
    const int64_t tq = (c->s.tq + TILE - 1) / TILE * TILE;
    const int64_t tk = (c->s.tk + TILE - 1) / TILE * TILE;
    return c->grad && !c->any_order ? (uint64_t)(c->s.heads * tq * tk) * sizeof(uint16_t) : 0;
}

uint64_t sdpa_cudnn_workspace(uint64_t memory)
{
    const uint64_t least = (uint64_t)256 << 20;
    return memory / 40 > least ? memory / 40 : least;
}

int64_t sdpa_cudnn_part(const sdpa_cudnn *c)
{
    const uint64_t one = sdpa_cudnn_mask_bytes(c) + sdpa_cudnn_kept_bytes(c);
    int64_t part = c->s.batch;
    while (part > 0 && (c->s.batch % part || (uint64_t)part * one > c->workspace))
        part--;
    return part;
}

/* Rows of D elements as they lie in memory; `transposed` makes it (B, H, D, T). */
static void *rows(build *b, int operand, int transposed)
{
    const sdpa_shape *s = &b->c->s;
    const int of_keys =
        operand == SDPA_K || operand == SDPA_V || operand == SDPA_DK || operand == SDPA_DV;
    const int64_t t = of_keys ? s->tk : s->tq;
    const sdpa_stride *at = operand == SDPA_Q || operand == SDPA_DQ   ? &s->q
                            : operand == SDPA_K || operand == SDPA_DK ? &s->k
                            : operand == SDPA_V || operand == SDPA_DV ? &s->v
                                                                      : &s->y;
    cdnn_tensor d = {.uid = 1 + operand,
                     .dtype = b->dtype,
                     .rank = 4,
                     .dim = {b->c->part, s->heads, t, s->d},
                     .stride = {at->b, at->h, at->t, 1}};
    if (transposed) {
        d.dim[2] = s->d;
        d.dim[3] = t;
        d.stride[2] = 1;
        d.stride[3] = at->t;
    }
    return cdnn_add_tensor(&b->g, &d);
}

/* The same memory of K under the other order of dimensions, within the graph. */
static void *keys_back(build *b)
{
    const sdpa_shape *s = &b->c->s;
    const cdnn_tensor d = {.dtype = b->dtype,
                           .kind = CDNN_VIRTUAL,
                           .rank = 4,
                           .dim = {b->c->part, s->heads, s->tk, s->d},
                           .stride = {s->k.b, s->k.h, s->k.t, 1}};
    return cdnn_add_tensor(&b->g, &d);
}

static void *scores(build *b, int32_t dtype)
{
    const sdpa_shape *s = &b->c->s;
    const int64_t n = s->tq * s->tk;
    const cdnn_tensor d = {.dtype = dtype,
                           .kind = CDNN_VIRTUAL,
                           .rank = 4,
                           .dim = {b->c->part, s->heads, s->tq, s->tk},
                           .stride = {s->heads * n, n, s->tk, 1}};
    return cdnn_add_tensor(&b->g, &d);
}

static void *scalar(build *b, int64_t uid)
{
    const cdnn_tensor d = {.uid = uid,
                           .dtype = CDNN_DATA_FLOAT,
                           .kind = CDNN_BY_VALUE,
                           .rank = 4,
                           .dim = {1, 1, 1, 1},
                           .stride = {1, 1, 1, 1}};
    return cdnn_add_tensor(&b->g, &d);
}

/* The mask and what makes up for what it leaves out. */
static void add_dropout(build *b)
{
    const sdpa_shape *s = &b->c->s;
    const int64_t n = s->tq * s->tk;
    const cdnn_tensor d = {.uid = 1 + SDPA_MASK,
                           .dtype = b->dtype,
                           .rank = 4,
                           .dim = {b->c->part, s->heads, s->tq, s->tk},
                           .stride = {s->heads * n, n, s->tk, 1}};
    if (s->drop == 0.0f)
        return;
    b->mask = cdnn_add_tensor(&b->g, &d);
    b->keep = scalar(b, KEEP);
}

static void *scores_transposed(build *b)
{
    const sdpa_shape *s = &b->c->s;
    const int64_t n = s->tq * s->tk;
    const cdnn_tensor d = {.dtype = b->dtype,
                           .kind = CDNN_VIRTUAL,
                           .rank = 4,
                           .dim = {b->c->part, s->heads, s->tk, s->tq},
                           .stride = {s->heads * n, n, 1, s->tk}};
    return cdnn_add_tensor(&b->g, &d);
}

/* A number a query; in memory where it has a number. */
static void *column(build *b, int64_t uid)
{
    const sdpa_shape *s = &b->c->s;
    const cdnn_tensor d = {.uid = uid,
                           .dtype = CDNN_DATA_FLOAT,
                           .kind = uid ? CDNN_MEMORY : CDNN_VIRTUAL,
                           .rank = 4,
                           .dim = {b->c->part, s->heads, s->tq, 1},
                           .stride = {s->heads * s->tq, s->tq, 1, 1}};
    return cdnn_add_tensor(&b->g, &d);
}

/* Dense (B, H, Tq, D) of F32. */
static void *wide_rows(build *b, int64_t uid)
{
    const sdpa_shape *s = &b->c->s;
    const cdnn_tensor d = {.uid = uid,
                           .dtype = CDNN_DATA_FLOAT,
                           .kind = uid ? CDNN_MEMORY : CDNN_VIRTUAL,
                           .rank = 4,
                           .dim = {b->c->part, s->heads, s->tq, s->d},
                           .stride = {s->heads * s->tq * s->d, s->tq * s->d, s->d, 1}};
    return cdnn_add_tensor(&b->g, &d);
}

static void *pointwise(build *b, uint32_t mode, void *x, void *y, void *to)
{
    const cdnn_pointwise p = {mode, CDNN_DATA_FLOAT, -1, x, y, NULL, to};
    cdnn_add_pointwise(&b->g, &p);
    return to;
}

static void *product(build *b, void *x, void *y, void *to)
{
    cdnn_graph *g = &b->g;
    void *how = cdnn_make(g, CDNN_BACKEND_MATMUL_DESCRIPTOR);
    cdnn_set_value(g, how, CDNN_ATTR_MATMUL_COMP_TYPE, CDNN_TYPE_DATA_TYPE, CDNN_DATA_FLOAT);
    (void)cdnn_finish(g, how);
    void *op = cdnn_make(g, CDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    cdnn_set_desc(g, op, CDNN_ATTR_OPERATION_MATMUL_ADESC, x);
    cdnn_set_desc(g, op, CDNN_ATTR_OPERATION_MATMUL_BDESC, y);
    cdnn_set_desc(g, op, CDNN_ATTR_OPERATION_MATMUL_CDESC, to);
    cdnn_set_desc(g, op, CDNN_ATTR_OPERATION_MATMUL_DESC, how);
    cdnn_finish_op(g, op);
    return to;
}

static void *reduced(build *b, int32_t mode, void *x, void *to)
{
    cdnn_graph *g = &b->g;
    void *how = cdnn_make(g, CDNN_BACKEND_REDUCTION_DESCRIPTOR);
    cdnn_set_value(g, how, CDNN_ATTR_REDUCTION_OPERATOR, CDNN_TYPE_REDUCTION_OPERATOR_TYPE,
                   mode);
    cdnn_set_value(g, how, CDNN_ATTR_REDUCTION_COMP_TYPE, CDNN_TYPE_DATA_TYPE, CDNN_DATA_FLOAT);
    (void)cdnn_finish(g, how);
    void *op = cdnn_make(g, CDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    cdnn_set_desc(g, op, CDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    cdnn_set_desc(g, op, CDNN_ATTR_OPERATION_REDUCTION_YDESC, to);
    cdnn_set_desc(g, op, CDNN_ATTR_OPERATION_REDUCTION_DESC, how);
    cdnn_finish_op(g, op);
    return to;
}

static void *reshaped(build *b, void *x, void *to)
{
    void *op = cdnn_make(&b->g, CDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    cdnn_set_desc(&b->g, op, CDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
    cdnn_set_desc(&b->g, op, CDNN_ATTR_OPERATION_RESHAPE_YDESC, to);
    cdnn_finish_op(&b->g, op);
    return to;
}

static void *places(build *b, void *x, int64_t axis)
{
    void *to = scores(b, CDNN_DATA_INT32);
    const cdnn_pointwise p = {
        CDNN_POINTWISE_GEN_INDEX, CDNN_DATA_FLOAT, axis, x, NULL, NULL, to};
    cdnn_add_pointwise(&b->g, &p);
    return to;
}

/* Scores of keys behind the query become -infinity. */
static void *without_future(build *b, void *x)
{
    void *query = places(b, x, 2), *key = places(b, x, 3);
    void *seen = scores(b, CDNN_DATA_BOOLEAN), *to = scores(b, CDNN_DATA_FLOAT);
    const cdnn_pointwise compare = {
        CDNN_POINTWISE_CMP_GE, CDNN_DATA_BOOLEAN, -1, query, key, NULL, seen};
    cdnn_add_pointwise(&b->g, &compare);
    const cdnn_pointwise choose = {
        CDNN_POINTWISE_BINARY_SELECT, CDNN_DATA_FLOAT, -1, x, scalar(b, MASKED), seen, to};
    cdnn_add_pointwise(&b->g, &choose);
    return to;
}

/* s + bias, which has one element along the dimensions in which it is the same. */
static void *with_bias(build *b, void *x)
{
    const sdpa_shape *s = &b->c->s;
    const int64_t step[4] = {s->bias.b, s->bias.h, s->bias.t, s->bias_key};
    const int64_t full[4] = {b->c->part, s->heads, s->tq, s->tk};
    cdnn_tensor d = {.uid = 1 + SDPA_BIAS, .dtype = (int32_t)cdnn_dtype(b->c->bias), .rank = 4};
    int64_t dense = 1;
    for (int k = 3; k >= 0; k--) { /* a dimension of one element has a stride all the same */
        d.dim[k] = step[k] ? full[k] : 1;
        d.stride[k] = step[k] ? step[k] : dense;
        dense = d.dim[k] * d.stride[k];
    }
    return pointwise(b, CDNN_POINTWISE_ADD, x, cdnn_add_tensor(&b->g, &d),
                     scores(b, CDNN_DATA_FLOAT));
}

/* scale q k' + bias */
static void *scaled_scores(build *b, void *q, void *k, void *scale)
{
    const int32_t f32 = CDNN_DATA_FLOAT;
    void *s = product(b, q, k, scores(b, f32));
    s = pointwise(b, CDNN_POINTWISE_MUL, s, scale, scores(b, f32));
    if (b->c->bias != TUTTI_DTYPE_NONE)
        s = with_bias(b, s);
    return s;
}

/* p = exp(s - max), y = keep mask p / sum v, lse = max + log(sum) */
static void add_forward(build *b)
{
    const int32_t f32 = CDNN_DATA_FLOAT;
    void *s = scaled_scores(b, rows(b, SDPA_Q, 0), rows(b, SDPA_K, 1), scalar(b, SCALE));
    if (b->c->s.causal)
        s = without_future(b, s);
    void *max = reduced(b, CDNN_REDUCE_TENSOR_MAX, s, column(b, 0));
    s = pointwise(b, CDNN_POINTWISE_SUB, s, max, scores(b, f32));
    void *e = pointwise(b, CDNN_POINTWISE_EXP, s, NULL, scores(b, f32));
    void *sum = reduced(b, CDNN_REDUCE_TENSOR_ADD, e, column(b, 0));
    void *log = pointwise(b, CDNN_POINTWISE_LOG, sum, NULL, column(b, 0));
    (void)pointwise(b, CDNN_POINTWISE_ADD, max, log, column(b, 1 + SDPA_LSE));
    void *p = pointwise(b, CDNN_POINTWISE_DIV, e, sum, scores(b, b->mask ? f32 : b->dtype));
    if (b->mask) {
        p = pointwise(b, CDNN_POINTWISE_MUL, p, b->keep, scores(b, f32));
        p = pointwise(b, CDNN_POINTWISE_MUL, p, b->mask, scores(b, b->dtype));
    }
    (void)product(b, p, rows(b, SDPA_V, 0), rows(b, SDPA_Y, 0));
}

/* delta = keep_probability sum of dy y, p = exp(s - lse), dv = keep (mask p)' dy, dk = ds' q, dq = ds k with
 * ds = scale keep p (mask dy v' - delta); keep is 1 / keep_probability of dropout. */
static void add_gradient(build *b)
{
    const int32_t f32 = CDNN_DATA_FLOAT;
    void *dy = rows(b, SDPA_DY, 0), *q = rows(b, SDPA_Q, 0), *k = rows(b, SDPA_K, 1);
    void *scale = scalar(b, SCALE);
    void *m = pointwise(b, CDNN_POINTWISE_MUL, dy, rows(b, SDPA_Y, 0), wide_rows(b, 0));
    m = reduced(b, CDNN_REDUCE_TENSOR_ADD, m, column(b, 0));
    void *delta = pointwise(b, CDNN_POINTWISE_MUL, m, scalar(b, KEEP_PROBABILITY),
                            column(b, 1 + SDPA_DELTA));
    void *s = scaled_scores(b, q, k, scale);
    s = pointwise(b, CDNN_POINTWISE_SUB, s, column(b, 1 + SDPA_LSE), scores(b, f32));
    if (b->c->s.causal)
        s = without_future(b, s);
    void *p = pointwise(b, CDNN_POINTWISE_EXP, s, NULL, scores(b, f32));
    void *kept = p;
    if (b->mask) {
        kept = pointwise(b, CDNN_POINTWISE_MUL, p, b->mask, scores(b, f32));
        kept = pointwise(b, CDNN_POINTWISE_MUL, kept, b->keep, scores(b, f32));
    }
    (void)product(b, reshaped(b, kept, scores_transposed(b)), dy, rows(b, SDPA_DV, 0));
    void *ds = product(b, dy, rows(b, SDPA_V, 1), scores(b, f32));
    if (b->mask)
        ds = pointwise(b, CDNN_POINTWISE_MUL, ds, b->mask, scores(b, f32));
    ds = pointwise(b, CDNN_POINTWISE_SUB, ds, delta, scores(b, f32));
    ds = pointwise(b, CDNN_POINTWISE_MUL, ds, p, scores(b, f32));
    if (b->mask)
        ds = pointwise(b, CDNN_POINTWISE_MUL, ds, b->keep, scores(b, f32));
    ds = pointwise(b, CDNN_POINTWISE_MUL, ds, scale, scores(b, b->dtype));
    void *dst = reshaped(b, ds, scores_transposed(b));
    (void)product(b, dst, q, rows(b, SDPA_DK, 0));
    void *back = reshaped(b, k, keys_back(b));
    if (b->c->any_order) {
        void *sum = product(b, ds, back, wide_rows(b, 1 + SDPA_DQ_SUM));
        (void)pointwise(b, CDNN_POINTWISE_IDENTITY, sum, NULL, rows(b, SDPA_DQ, 0));
    } else /* engines then keep all of ds, and add up dq in an order of its own */
        (void)product(b, ds, back, rows(b, SDPA_DQ, 0));
}

tutti_status sdpa_cudnn_plan(const sdpa_cudnn *c, const cdnn *lib, void *device,
                             cdnn_plan **ret_plan, tutti_error *err)
{
    build b = {
        .g = {.lib = lib, .device = device}, .c = c, .dtype = (int32_t)cdnn_dtype(c->dtype)};
    add_dropout(&b);
    if (c->grad)
        add_gradient(&b);
    else
        add_forward(&b);
    /* what a gradient keeps, and as much again for the rest */
    return cdnn_plan_make(&b.g, CDNN_REFUSE, 2 * c->workspace, NULL, ret_plan, err);
}

/* Whether the graph has this operand. */
static bool has(const sdpa_cudnn *c, int operand)
{
    switch (operand) {
    case SDPA_BIAS:
        return c->bias != TUTTI_DTYPE_NONE;
    case SDPA_MASK:
        return c->s.drop > 0.0f;
    case SDPA_DQ_SUM:
        return c->grad && c->any_order;
    default:
        return c->grad || operand < SDPA_DY;
    }
}

/* From sample to sample of an operand; scratch is of one part. */
static uint64_t sample_bytes(const sdpa_cudnn *c, int operand)
{
    const sdpa_shape *s = &c->s;
    switch (operand) {
    case SDPA_Q:
    case SDPA_DQ:
        return (uint64_t)s->q.b * sizeof(uint16_t);
    case SDPA_K:
    case SDPA_DK:
        return (uint64_t)s->k.b * sizeof(uint16_t);
    case SDPA_V:
    case SDPA_DV:
        return (uint64_t)s->v.b * sizeof(uint16_t);
    case SDPA_Y:
    case SDPA_DY:
        return (uint64_t)s->y.b * sizeof(uint16_t);
    case SDPA_LSE:
        return (uint64_t)(s->heads * s->tq) * sizeof(float);
    case SDPA_BIAS:
        return (uint64_t)s->bias.b * tutti_dtype_size(c->bias);
    default:
        return 0;
    }
}

tutti_status sdpa_cudnn_run(const sdpa_cudnn *c, cdnn_plan *p, void *stream,
                            void *const data[SDPA_OPERANDS], void *workspace, int64_t first)
{
    const float scale = (float)c->s.scale, keep = (float)c->s.keep;
    const float keep_probability = 1.0f - c->s.drop;
    int64_t uids[CDNN_UIDS_MAX];
    void *at[CDNN_UIDS_MAX];
    uint32_t n = 0;
    for (int k = 0; k < SDPA_OPERANDS; k++) {
        if (!has(c, k))
            continue;
        uids[n] = 1 + k;
        at[n++] = (char *)data[k] + (uint64_t)first * sample_bytes(c, k);
    }
    const struct {
        bool is;
        int64_t uid;
        const float *value;
    } values[] = {{true, SCALE, &scale},
                  {c->s.causal, MASKED, &masked},
                  {c->grad, KEEP_PROBABILITY, &keep_probability},
                  {c->s.drop > 0.0f, KEEP, &keep}};
    for (size_t k = 0; k < sizeof values / sizeof *values; k++)
        if (values[k].is) {
            uids[n] = values[k].uid;
            at[n++] = (void *)(uintptr_t)values[k].value;
        }
    return cdnn_plan_run(p, stream, n, uids, at, workspace);
}
