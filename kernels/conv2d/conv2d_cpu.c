/* conv2d_cpu.c - the algorithms of a convolution and its gradients on a CPU: oneDNN, our GEMM, plain loops. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_microkernel.h"
#include "conv2d/conv2d_algorithms.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct state {
    conv2d_geometry g;
    dnn *big; /* or one of the next ten, or none: the plain loops */
    conv2d_1x1 *gemm_1x1;
    conv2d_patches *patches;
    conv2d_dgrad_flipped *dgrad;
    conv2d_wgrad_per_thread *wgrad;
    conv2d_winograd_state *winograd;
    conv2d_wgrad_pairs *pairs;
    conv2d_direct_state *direct;
    conv2d_wgrad_direct *wgrad_direct;
    conv2d_implicit *implicit;
    conv2d_im2col *im2col;
} state;

static void destroy(void *self)
{
    state *s = self;
    if (!s)
        return;
    dnn_destroy(s->big);
    conv2d_1x1_destroy(s->gemm_1x1);
    conv2d_patches_destroy(s->patches);
    conv2d_dgrad_flipped_destroy(s->dgrad);
    conv2d_wgrad_per_thread_destroy(s->wgrad);
    conv2d_winograd_destroy(s->winograd);
    conv2d_wgrad_pairs_destroy(s->pairs);
    conv2d_direct_destroy(s->direct);
    conv2d_wgrad_direct_destroy(s->wgrad_direct);
    conv2d_implicit_destroy(s->implicit);
    conv2d_im2col_destroy(s->im2col);
    free(s);
}

static int has_sums(const conv2d_geometry *g)
{
    return g->b * g->h * g->w * g->c * g->o > 0; /* oneDNN takes no empty ones */
}

/* Those of ours follow oneDNN's. */
enum {
    DGRAD_FLIPPED = DNN_ALGORITHMS,
    WGRAD_PER_THREAD,
    GEMM_1X1,
    PATCHES,
    IMPLICIT,
    WINOGRAD,
    WGRAD_PAIRS,
    DIRECT_AMX,
    NAMES,
    MAX_ALGORITHMS = 6
};

/* Of f32, of bf16, and of f16. */
enum { IN_F32, IN_BF16, IN_F16, PRECISIONS };
static char names[PRECISIONS][NAMES][DNN_NAME];
static pthread_once_t names_once = PTHREAD_ONCE_INIT;

static void name_algorithms(void)
{
    static const char *const texts[2][GEMM_1X1] = {
        {"direct", "blocked", "Winograd", "flipped", "per thread"},
        {"bf16 direct", "bf16 blocked", "bf16 Winograd", "bf16 flipped", "bf16 per thread"}};
    for (int bf16 = 0; bf16 < 2; bf16++)
        for (int k = 0; k < GEMM_1X1; k++)
            dnn_name(texts[bf16][k], names[bf16][k]);
    memcpy(names[IN_F32][GEMM_1X1], "tiles", sizeof "tiles");
    memcpy(names[IN_BF16][GEMM_1X1], "bf16 tiles", sizeof "bf16 tiles");
    memcpy(names[IN_F16][GEMM_1X1], "f16 tiles", sizeof "f16 tiles");
    memcpy(names[IN_F32][PATCHES], "patches", sizeof "patches");
    memcpy(names[IN_BF16][PATCHES], "bf16 patches", sizeof "bf16 patches");
    memcpy(names[IN_F16][PATCHES], "f16 patches", sizeof "f16 patches");
    memcpy(names[IN_F32][IMPLICIT], "implicit", sizeof "implicit");
    memcpy(names[IN_BF16][IMPLICIT], "bf16 implicit", sizeof "bf16 implicit");
    memcpy(names[IN_F16][IMPLICIT], "f16 implicit", sizeof "f16 implicit");
    memcpy(names[IN_BF16][WINOGRAD], "bf16 Winograd", sizeof "bf16 Winograd");
    memcpy(names[IN_BF16][WGRAD_PAIRS], "bf16 pairs", sizeof "bf16 pairs");
    memcpy(names[IN_BF16][DIRECT_AMX], "bf16 AMX direct", sizeof "bf16 AMX direct");
}

static conv2d_geometry geometry(int kind, const tutti_op_call *c)
{
    if (kind == DNN_CONV)
        return conv2d_geometry_of(c->attr, &c->in[0], &c->in[1], &c->out[0]);
    if (kind == DNN_CONV_GRAD_INPUT)
        return conv2d_geometry_of(c->attr, &c->out[0], &c->in[1], &c->in[0]);
    return conv2d_geometry_of(c->attr, &c->in[0], &c->out[0], &c->in[1]);
}

static int has(const tutti_op_call *c, int32_t dtype)
{
    return c->in[0].dtype == dtype || c->in[1].dtype == dtype || c->out[0].dtype == dtype;
}

int conv2d_bf16_here(void)
{
    return gemm_microkernel_at(TUTTI_BF16, 0) != NULL;
}

/* Factors go in the 16 bits that are there where the CPU multiplies these, and both have them or may be rounded; beside F16
 * one of them has to have them, since F32 may exceed its range. */
static int32_t factor_of(const tutti_op_call *c)
{
    const int32_t dtype = has(c, TUTTI_BF16) ? TUTTI_BF16 : TUTTI_F16;
    const int both = c->in[0].dtype == dtype && c->in[1].dtype == dtype;
    const int rounds =
        ((const conv2d_attr *)c->attr)->fast == (dtype == TUTTI_F16 ? CONV2D_F16 : CONV2D_BF16);
    const int here =
        dtype == TUTTI_F16 ? gemm_microkernel_at(dtype, 0) != NULL : conv2d_bf16_here();
    const int some =
        dtype == TUTTI_F16 ? c->in[0].dtype == dtype || c->in[1].dtype == dtype : has(c, dtype);
    return some && (both || rounds) && here ? dtype : 0;
}

static conv2d_dtypes dtypes(int kind, const tutti_op_call *c)
{
    conv2d_dtypes t = {c->in[0].dtype, c->in[1].dtype, c->out[0].dtype, 0};
    if (kind == DNN_CONV_GRAD_INPUT)
        t = (conv2d_dtypes){c->out[0].dtype, c->in[1].dtype, c->in[0].dtype, 0};
    else if (kind == DNN_CONV_GRAD_WEIGHT)
        t = (conv2d_dtypes){c->in[0].dtype, c->out[0].dtype, c->in[1].dtype, 0};
    t.factor = factor_of(c);
    return t;
}

/* Are these all dtypes that kernels here read and write? */
static int is_known(const tutti_op_call *c, const conv2d_dtypes *t)
{
    const int32_t all[3] = {t->x, t->w, t->y};
    for (int k = 0; k < 3; k++)
        if (all[k] != TUTTI_F32 && all[k] != t->factor)
            return 0;
    return c->nin < 3 || c->in[2].dtype == TUTTI_F32; /* a bias, or what dw is added to */
}

static int direct_fits(int kind, const conv2d_geometry *g)
{
    return conv2d_direct_here() && (kind == DNN_CONV_GRAD_WEIGHT ? conv2d_wgrad_direct_fits(g)
                                                                 : conv2d_direct_fits(kind, g));
}

/* oneDNN's kernels are for x86-64, where no product of patches was faster than they; elsewhere it has loops for f32 and
 * nothing for bf16. */
#if defined(__x86_64__)
enum { DNN_KERNELS = 1 };
#else
enum { DNN_KERNELS = 0 };
#endif

/* Those of f16, all of them products. */
static uint32_t f16_algorithms_of(const conv2d_geometry *g, int32_t *ret)
{
    uint32_t n = 0;
    if (has_sums(g) && conv2d_1x1_fit(g))
        ret[n++] = GEMM_1X1;
    else if (has_sums(g) && conv2d_patches_fit(g))
        ret[n++] = PATCHES;
    else if (conv2d_implicit_fits(g))
        ret[n++] = IMPLICIT;
    return n;
}

/* The first one is for everything, or faster than oneDNN's where it was measured; the others are for what they fit and are
 * worth measuring for: oneDNN has other kernels for f32 that lies otherwise, for bf16 it has the same. */
static uint32_t algorithms_of(int kind, const conv2d_geometry *g, int32_t factor,
                              int32_t threads, int32_t *ret)
{
    if (factor == TUTTI_F16)
        return f16_algorithms_of(g, ret);
    uint32_t n = 0;
    const int bf16 = factor == TUTTI_BF16;
    const int patches = has_sums(g) && conv2d_patches_fit(g) && gemm_microkernel_at(factor, 0);
    if (patches &&
        bf16) /* oneDNN's gradient of weights takes several times as long as in f32 */
        ret[n++] = PATCHES;
    const int tiles = has_sums(g) && conv2d_1x1_fit(g) && gemm_microkernel_at(factor, 0);
    const int first = tiles && bf16 && kind == DNN_CONV_GRAD_WEIGHT;
    if (first) /* docs/notes/cpu_kernels.md */
        ret[n++] = GEMM_1X1;
    if (DNN_KERNELS || !bf16)
        ret[n++] = DNN_DIRECT;
    if (!has_sums(g))
        return n;
    if (patches && !bf16)
        ret[n++] = PATCHES;
    if (!conv2d_1x1_fit(g) && !bf16) {
        ret[n++] = DNN_BLOCKED;
        ret[n++] = DNN_WINOGRAD;
    }
    if (kind == DNN_CONV_GRAD_INPUT && conv2d_dgrad_flipped_fits(g) && !bf16)
        ret[n++] = DGRAD_FLIPPED;
    if (kind == DNN_CONV_GRAD_WEIGHT && conv2d_wgrad_per_thread_fit(g, threads) &&
        (DNN_KERNELS || !bf16))
        ret[n++] = WGRAD_PER_THREAD;
    if (tiles && !first)
        ret[n++] = GEMM_1X1;
    else if (!tiles && !DNN_KERNELS && conv2d_implicit_fits(g) &&
             gemm_microkernel_at(factor, 0))
        ret[n++] = IMPLICIT;
    if (!DNN_KERNELS)
        return n;
    if (bf16 && direct_fits(kind, g)) {
        ret[n++] = DIRECT_AMX; /* several times as fast as the next two */
        return n;
    }
    if (bf16 && conv2d_winograd_fits(g))
        ret[n++] = WINOGRAD;
    if (bf16 && kind == DNN_CONV_GRAD_WEIGHT && conv2d_wgrad_pairs_fit(g))
        ret[n++] = WGRAD_PAIRS;
    return n;
}

static tutti_status prepare_algorithm(state *s, int kind, const tutti_op_call *c,
                                      const conv2d_dtypes *t, int32_t algorithm,
                                      uint64_t *ret_scratch, tutti_error *err)
{
    const conv2d_geometry *g = &s->g;
    if (algorithm == GEMM_1X1)
        return conv2d_1x1_create(kind, g, t, c->threads, &s->gemm_1x1, ret_scratch, err);
    if (algorithm == PATCHES)
        return conv2d_patches_create(kind, g, t, c->threads, &s->patches, ret_scratch, err);
    if (algorithm == IMPLICIT)
        return conv2d_implicit_create(kind, g, t, c->threads, NULL, &s->implicit, ret_scratch,
                                      err);
    if (algorithm == DGRAD_FLIPPED)
        return conv2d_dgrad_flipped_create(g, c->threads, &s->dgrad, ret_scratch, err);
    if (algorithm == WGRAD_PER_THREAD)
        return conv2d_wgrad_per_thread_create(g, t, c->threads, &s->wgrad, ret_scratch, err);
    if (algorithm == WGRAD_PAIRS)
        return conv2d_wgrad_pairs_create(g, t, c->threads, &s->pairs, ret_scratch, err);
    if (algorithm == WINOGRAD)
        return conv2d_winograd_create(kind, g, t, c->threads, &s->winograd, ret_scratch, err);
    if (algorithm == DIRECT_AMX && kind == DNN_CONV_GRAD_WEIGHT)
        return conv2d_wgrad_direct_create(g, t, c->threads, &s->wgrad_direct, ret_scratch, err);
    if (algorithm == DIRECT_AMX)
        return conv2d_direct_create(kind, g, t, c->threads, &s->direct, ret_scratch, err);
    dnn_call call = conv2d_call(kind, g, t, c->threads, algorithm);
    if (kind == DNN_CONV && c->nin > 2)
        call.slot[DNN_BIAS] = (dnn_tensor){.rank = 1, .dim = {g->o}, .stride = {1}};
    return dnn_create(&call, "conv2d", &s->big, ret_scratch, err);
}

/* Algorithm k, or for algorithm 0 what the library refuses: in f32 the plain loops, and the host converts
 * 16 bits around these. */
static tutti_status prepare(int kind, const tutti_op_call *c, uint32_t k, void **ret_state,
                            uint64_t *ret_scratch, tutti_error *err)
{
    const conv2d_geometry g = geometry(kind, c);
    const conv2d_dtypes t = dtypes(kind, c);
    int32_t algorithms[MAX_ALGORITHMS];
    if (!is_known(c, &t) || (t.factor && !has_sums(&g)) ||
        algorithms_of(kind, &g, t.factor, c->threads, algorithms) <= k)
        return TUTTI_E_UNSUPPORTED;
    state *s = calloc(1, sizeof *s);
    tutti_status status = TUTTI_OK;
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "conv2d: no memory for its state");
    s->g = g;
    *ret_scratch = 0;
    if (has_sums(&g))
        status = prepare_algorithm(s, kind, c, &t, algorithms[k], ret_scratch, k ? err : NULL);
    if (status == TUTTI_E_UNSUPPORTED && !k && !t.factor)
        status = TUTTI_OK;
    if (status) {
        destroy(s);
        return status == TUTTI_E_UNSUPPORTED
                   ? status
                   : tutti_fail(err, status, "conv2d: no memory for oneDNN");
    }
    *ret_state = s;
    return TUTTI_OK;
}

/* Patches, or for groups the plain loops, whose sums in f64 have one order. */
static tutti_status prepare_same(int kind, const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    const conv2d_dtypes f32 = {TUTTI_F32, TUTTI_F32, TUTTI_F32, 0};
    if (!is_known(c, &f32) || has(c, TUTTI_BF16))
        return TUTTI_E_UNSUPPORTED; /* the host converts around it */
    state *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "conv2d: no memory for its state");
    s->g = geometry(kind, c);
    *ret_scratch = 0;
    const tutti_status status =
        conv2d_im2col_fits(&s->g)
            ? conv2d_im2col_create(kind, &s->g, c->threads, &s->im2col, ret_scratch, err)
            : TUTTI_OK;
    if (status)
        destroy(s);
    else
        *ret_state = s;
    return status;
}

static const char *algorithm_name(int kind, const tutti_op_call *c, uint32_t k)
{
    const conv2d_geometry g = geometry(kind, c);
    const conv2d_dtypes t = dtypes(kind, c);
    int32_t algorithms[MAX_ALGORITHMS];
    if (!is_known(c, &t) || k >= algorithms_of(kind, &g, t.factor, c->threads, algorithms))
        return NULL;
    (void)pthread_once(&names_once, name_algorithms);
    const int precision = t.factor == TUTTI_F16 ? IN_F16 : t.factor ? IN_BF16 : IN_F32;
    return names[precision][algorithms[k]];
}

/* The kernel's prepare, and the algorithms of one of the three operations. */
#define ALGORITHMS(op, kind)                                                                   \
    static tutti_status op##_algorithm(const tutti_op_call *c, uint32_t k, void **ret_state,   \
                                       uint64_t *ret_scratch, tutti_error *err)                \
    {                                                                                          \
        return prepare(kind, c, k, ret_state, ret_scratch, err);                               \
    }                                                                                          \
    static tutti_status op##_prepare(const tutti_op_call *c, void **ret_state,                 \
                                     uint64_t *ret_scratch, tutti_error *err)                  \
    {                                                                                          \
        return op##_algorithm(c, 0, ret_state, ret_scratch, err);                              \
    }                                                                                          \
    static const char *op##_name(const tutti_op_call *c, uint32_t k)                           \
    {                                                                                          \
        return algorithm_name(kind, c, k);                                                     \
    }                                                                                          \
    static tutti_status op##_same(const tutti_op_call *c, void **ret_state,                    \
                                  uint64_t *ret_scratch, tutti_error *err)                     \
    {                                                                                          \
        return prepare_same(kind, c, ret_state, ret_scratch, err);                             \
    }                                                                                          \
    const tutti_algorithms conv2d_##op##_algorithms = {sizeof(tutti_algorithms), 0, op##_name, \
                                                       op##_algorithm, op##_same}

ALGORITHMS(forward, DNN_CONV);
ALGORITHMS(input, DNN_CONV_GRAD_INPUT);
ALGORITHMS(weight, DNN_CONV_GRAD_WEIGHT);

static tutti_status run_big(const state *s, const void *src, const void *w, const void *bias,
                            const void *dst, void *scratch)
{
    void *const data[DNN_SLOTS] = {[DNN_SRC] = (void *)(uintptr_t)src,
                                   [DNN_WEIGHTS] = (void *)(uintptr_t)w,
                                   [DNN_BIAS] = (void *)(uintptr_t)bias,
                                   [DNN_DST] = (void *)(uintptr_t)dst};
    return dnn_run(s->big, data, scratch);
}

static tutti_status run_winograd(const state *s, const void *const *in, const float *bias,
                                 void *out, void *scratch)
{
    conv2d_winograd_run(s->winograd, in[0], in[1], bias, out, scratch);
    return TUTTI_OK;
}

static tutti_status run_direct(const state *s, const void *const *in, const float *bias,
                               void *out, void *scratch)
{
    conv2d_direct_run(s->direct, in[0], in[1], bias, out, scratch);
    return TUTTI_OK;
}

static tutti_status run_implicit(const state *s, const void *const *in, const float *bias,
                                 void *out, void *scratch)
{
    conv2d_implicit_run(s->implicit, in[0], in[1], bias, out, scratch);
    return TUTTI_OK;
}

static tutti_status run_im2col(const state *s, const void *const *in, const float *bias,
                               void *out, void *scratch)
{
    conv2d_im2col_run(s->im2col, in[0], in[1], bias, out, scratch);
    return TUTTI_OK;
}

static tutti_status forward_run(void *self, const tutti_op_call *c, const void *const *in,
                                void *const *out, void *scratch)
{
    const state *s = self;
    const void *bias = c->nin > 2 ? in[2] : NULL;
    if (s->im2col)
        return run_im2col(s, in, bias, out[0], scratch);
    if (s->implicit)
        return run_implicit(s, in, bias, out[0], scratch);
    if (s->gemm_1x1)
        return conv2d_1x1_run(s->gemm_1x1, in[0], in[1], bias, out[0], scratch);
    if (s->patches)
        return conv2d_patches_run(s->patches, in[0], in[1], bias, out[0], scratch);
    if (s->winograd)
        return run_winograd(s, in, bias, out[0], scratch);
    if (s->direct)
        return run_direct(s, in, bias, out[0], scratch);
    if (s->big)
        return run_big(s, in[0], in[1], bias, out[0], scratch);
    const int64_t pixels = s->g.b * s->g.oh * s->g.ow;
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int64_t k = 0; k < pixels; k++)
        conv2d_plain_f32(&s->g, in[0], in[1], bias, out[0], k, k + 1);
    return TUTTI_OK;
}

static tutti_status input_run(void *self, const tutti_op_call *c, const void *const *in,
                              void *const *out, void *scratch)
{
    const state *s = self;
    if (s->im2col)
        return run_im2col(s, in, NULL, out[0], scratch);
    if (s->implicit)
        return run_implicit(s, in, NULL, out[0], scratch);
    if (s->gemm_1x1)
        return conv2d_1x1_run(s->gemm_1x1, in[0], in[1], NULL, out[0], scratch);
    if (s->patches)
        return conv2d_patches_run(s->patches, in[0], in[1], NULL, out[0], scratch);
    if (s->dgrad)
        return conv2d_dgrad_flipped_run(s->dgrad, in[0], in[1], out[0], scratch);
    if (s->winograd)
        return run_winograd(s, in, NULL, out[0], scratch);
    if (s->direct)
        return run_direct(s, in, NULL, out[0], scratch);
    if (s->big)
        return run_big(s, out[0], in[1], NULL, in[0], scratch);
    const int64_t pixels = s->g.b * s->g.h * s->g.w;
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int64_t k = 0; k < pixels; k++)
        conv2d_plain_input_f32(&s->g, in[0], in[1], out[0], k, k + 1);
    return TUTTI_OK;
}

static tutti_status weight_run(void *self, const tutti_op_call *c, const void *const *in,
                               void *const *out, void *scratch)
{
    const state *s = self;
    if (s->im2col)
        return run_im2col(s, in, NULL, out[0], scratch);
    if (s->implicit)
        return run_implicit(s, in, NULL, out[0], scratch);
    if (s->gemm_1x1)
        return conv2d_1x1_run(s->gemm_1x1, in[0], in[1], NULL, out[0], scratch);
    if (s->patches)
        return conv2d_patches_run(s->patches, in[0], in[1], NULL, out[0], scratch);
    if (s->wgrad)
        return conv2d_wgrad_per_thread_run(s->wgrad, in[0], in[1], out[0], scratch);
    if (s->winograd)
        return run_winograd(s, in, NULL, out[0], scratch);
    if (s->pairs) {
        conv2d_wgrad_pairs_run(s->pairs, in[0], in[1], out[0], scratch);
        return TUTTI_OK;
    }
    if (s->wgrad_direct) {
        conv2d_wgrad_direct_run(s->wgrad_direct, in[0], in[1], out[0], scratch);
        return TUTTI_OK;
    }
    if (s->big)
        return run_big(s, in[0], out[0], NULL, in[1], scratch);
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int64_t k = 0; k < s->g.o; k++)
        conv2d_plain_weight_f32(&s->g, in[0], in[1], out[0], k, k + 1);
    return TUTTI_OK;
}

const tutti_kernel conv2d_cpu = {sizeof(tutti_kernel), 0, forward_prepare, forward_run,
                                 destroy};
const tutti_kernel conv2d_grad_input_cpu = {sizeof(tutti_kernel), 0, input_prepare, input_run,
                                            destroy};
const tutti_kernel conv2d_grad_weight_cpu = {sizeof(tutti_kernel), 0, weight_prepare,
                                             weight_run, destroy};
