/* dropout_op.c - elements set to zero at random, the others scaled up. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/launch.h"
#include "common/op_util.h"
#include "tutti/rng.h"

/* y = x / (1 - p) where a draw is at least p, else 0 (Srivastava et al. 2014).  The mask is a function
 * of (seed, step, microbatch, stream, element): the gradient is the same operation on dy. */
typedef struct dropout_attr {
    double p;
    int64_t stream; /* tells the dropouts of a model apart */
} dropout_attr;

static const tutti_attr_field dropout_fields[] = {OP_FIELD_F64(dropout_attr, p, 0.5),
                                                  OP_FIELD_I64(dropout_attr, stream, 0)};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const dropout_attr *a = c->attr;
    *out = c->in[0];
    if (!(a->p >= 0.0 && a->p < 1.0))
        return tutti_fail(err, TUTTI_E_RANGE, "dropout: p is %g, want 0 to below 1", a->p);
    return op_want_f32("dropout", "x", &c->in[0], err);
}

/* Elements are drawn in blocks of four. */
typedef struct dropout_key {
    uint64_t seed;
    uint64_t step;
    uint32_t purpose;
} dropout_key;

static uint32_t purpose(const dropout_attr *a)
{
    return TUTTI_RNG_OP ^ (uint32_t)(a->stream * 2654435761u);
}

static dropout_key key(const tutti_op_call *c)
{
    const tutti_step zero = {0}, *s = c->step ? c->step : &zero;
    return (dropout_key){s->seed, s->step << 16 | s->microbatch, purpose(c->attr)};
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const double p = ((const dropout_attr *)c->attr)->p;
    const dropout_key k = key(c);
    for (int64_t i = 0, n = tutti_numel(&c->in[0]); i < n; i++) {
        const tutti_rng4 r = tutti_rng(k.seed, k.purpose, k.step, (uint64_t)i / 4);
        const float u = tutti_uniform_f32(r.v[i % 4]);
        out[0][i] = u >= (float)p ? in[0][i] / (1.0 - p) : 0.0;
    }
    return TUTTI_OK;
}

enum { BLOCKS = 64 };

/* n <= 4 BLOCKS elements from block `first` on.  The draws of all blocks come first, in a loop that
 * vectorises. */
static void part(const dropout_key *k, uint64_t first, float p, const float *x, float *y,
                 int64_t n)
{
    const float scale = (float)(1.0 / (1.0 - (double)p));
    uint32_t bits[4 * BLOCKS];
    OP_LOOP for (int b = 0; b < BLOCKS; b++)
    {
        const tutti_rng4 r = tutti_rng(k->seed, k->purpose, k->step, first + (uint64_t)b);
        bits[4 * b] = r.v[0];
        bits[4 * b + 1] = r.v[1];
        bits[4 * b + 2] = r.v[2];
        bits[4 * b + 3] = r.v[3];
    }
    OP_LOOP for (int64_t i = 0; i < n; i++)
    {
        y[i] = tutti_uniform_f32(bits[i]) >= p ? x[i] * scale : 0.0f;
    }
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const float p = (float)((const dropout_attr *)c->attr)->p;
    const int64_t n = tutti_numel(&c->in[0]);
    const dropout_key k = key(c);
    const int threads = op_threads(c, 8 * n);
    const float *x = in[0];
    float *y = out[0];
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t i = 0; i < n; i += 4 * BLOCKS)
        part(&k, (uint64_t)i / 4, p, x + i, y + i, n - i < 4 * BLOCKS ? n - i : 4 * BLOCKS);
    return TUTTI_OK;
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const dropout_attr *a = n->attr;
    const tutti_attr attr[2] = {tutti_attr_f("p", a->p), tutti_attr_i("stream", a->stream)};
    if (n->need & 1)
        dx[0] = g->emit(g, "dropout", &dy[0], 1, attr, 2, NULL, 0);
    return TUTTI_OK;
}

static tutti_status cuda_prepare(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return CUDA_FUNCTION(c, "dropout_cuda", ret_state, err, sizeof(cuda_tensor),
                         sizeof(cuda_tensor), sizeof(int64_t), sizeof(float), sizeof(float),
                         sizeof(uint32_t), sizeof(tutti_step *));
}

static tutti_status cuda_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    (void)scratch;
    const dropout_attr *a = c->attr;
    cuda_tensor x = cuda_in(c, in, 0), y = cuda_out(c, out, 0);
    int64_t n = tutti_numel(&c->in[0]);
    float p = (float)a->p, scale = (float)(1.0 / (1.0 - (double)p));
    uint32_t own = purpose(a);
    const tutti_step *step = c->cuda->step;
    void *const args[] = {&x, &y, &n, &p, &scale, &own, &step};
    return n == 0 ? TUTTI_OK
                  : cuda_launch(c->cuda, state, cuda_blocks(c->cuda, (n + 3) / 4), CUDA_BLOCK,
                                0, args);
}

static const tutti_kernel cuda = {sizeof(tutti_kernel), 1, cuda_prepare, cuda_run, NULL};
static const tutti_kernel cpu = {sizeof(tutti_kernel), 1, NULL, run, NULL};

OP_TRAITS(dropout, KEEP, WHOLE, NEVER, SAME, UNCOUNTED, NONE, OTHER);
OP_DEFINE(dropout, .flags = TUTTI_OP_RNG | TUTTI_OP_REPRODUCIBLE, .nin_min = 1, .nin_max = 1,
          OP_ATTR(dropout_attr, dropout_fields), .infer = infer, .vjp = vjp,
          .reference = reference, .cpu = &cpu, .cuda = &cuda);
