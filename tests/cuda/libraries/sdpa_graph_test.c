/* sdpa_graph_test.c - attention's graphs, run by the stand-in for cuDNN, against the definition. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cudnn_standin.h"
#include "sdpa/sdpa_cudnn.h"
#include "tutti_check.h"

#include <math.h>
#include <stdlib.h>

/* Work is done at once, and all memory is the device's. */
static unsigned at_once(struct CUstream_st *stream, const standin_call *call)
{
    (void)stream;
    call->run((void *)(uintptr_t)call->data);
    return 0;
}

static int anywhere(const void *p, uint64_t bytes)
{
    (void)bytes;
    return p != NULL;
}

static void refuse(const char *sentence)
{
    ck_abort_msg("%s", sentence);
}

const standin_hooks tutti_cuda_standin = {
    sizeof(standin_hooks), 0, at_once, anywhere, refuse, NULL};

#define DECLARE(member, name, args) uint32_t name args;
CDNN_FUNCTIONS(DECLARE)
#undef DECLARE
void cudnnGetLastErrorString(char *text, size_t size);

enum { B = 2, H = 3, T = 12, D = 8, N = B * H * T * D, ROWS = B * H * T };
enum { SEED = 7, NUMBER = 11 };

static cdnn lib = {.last_error = cudnnGetLastErrorString,
#define FUNCTION(member, name, args) .member = name,
                   CDNN_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

/* Numbers in [-1, 1) that F16 has. */
static void draw(uint16_t *low, double *exact, uint64_t seed)
{
    for (int k = 0; k < N; k++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        number_set(low, NUMBER_F16, k, (double)(seed >> 40) * 0x1p-23 - 1.0);
        exact[k] = number_get(low, NUMBER_F16, k);
    }
}

/* As the device function does for the samples of a part. */
static void draw_mask(const sdpa_cudnn *c, uint16_t *mask, int64_t first)
{
    for (int64_t head = 0; head < c->part * H; head++)
        for (int64_t i = 0; i < T; i++)
            for (int64_t j = 0; j < T; j++) {
                const bool kept = sdpa_kept(&c->s, SEED, NUMBER, first * H + head, i, j, 1) & 1;
                number_set(mask, NUMBER_F16, (head * T + i) * T + j, kept ? 1.0 : 0.0);
            }
}

static void run(const sdpa_cudnn *c, void *const data[SDPA_OPERANDS])
{
    static unsigned char workspace[WORKSPACE];
    tutti_error err = TUTTI_ERROR_INIT;
    cdnn_plan *p = NULL;
    ck_assert_msg(sdpa_cudnn_plan(c, &lib, NULL, &p, &err) == TUTTI_OK, "%s", err.text);
    for (int64_t first = 0; first < B; first += c->part) {
        draw_mask(c, data[SDPA_MASK], first);
        memset(data[SDPA_DQ_SUM], 0, sizeof(float) * N);
        ck_assert_int_eq(sdpa_cudnn_run(c, p, NULL, data, workspace, first), TUTTI_OK);
    }
    cdnn_plan_destroy(p);
}

static void compare(const uint16_t *got, const double *want)
{
    for (int k = 0; k < N; k++)
        ck_assert_close(number_get(got, NUMBER_F16, k), want[k], 5e-3);
}

/* What a bias is like: none, a number a key and sample, one a query, key and head. */
static const sdpa_stride biases[] = {{0, 0, 0}, {T, 0, 0}, {0, T *T, T}};

/* A sample at a time and both at once, dq in an order of its own and in any, with dropout and without. */
static const struct {
    int64_t part;
    int32_t any_order;
    float drop;
} ways[] = {{2, 0, 0.0f}, {1, 1, 0.0f}, {2, 1, 0.3f}, {1, 0, 0.3f}};

/* Causal and not, biased or not; rows as in (B, H, T, D). */
START_TEST(attention_and_its_gradient_are_the_definitions)
{
    static uint16_t q[N], k[N], v[N], dy[N], y[N], dq[N], dk[N], dv[N];
    static double q64[N], k64[N], v64[N], dy64[N], y64[N], dq64[N], dk64[N], dv64[N];
    static float lse[ROWS], delta[ROWS], dq_sum[N];
    static double lse64[ROWS];
    const sdpa_stride dense = {H * T * D, T * D, D};
    static float bias[H * T * T];
    static double bias64[H * T * T];
    static uint16_t mask[B * H * T * T];
    const int like = _i / 2 % 3, way = _i / 6;
    sdpa_cudnn c = {.s = {.batch = B,
                          .heads = H,
                          .tq = T,
                          .tk = T,
                          .d = D,
                          .causal = _i % 2,
                          .scale = 0.4,
                          .q = dense,
                          .k = dense,
                          .v = dense,
                          .y = dense,
                          .bias = biases[like],
                          .bias_key = like != 0,
                          .keep = 1.0 / (1.0 - (double)ways[way].drop),
                          .drop = ways[way].drop,
                          .purpose = 5,
                          .seed = SEED,
                          .number = NUMBER},
                    .dtype = TUTTI_F16,
                    .part = ways[way].part,
                    .any_order = ways[way].any_order,
                    .bias = like ? TUTTI_F32 : TUTTI_DTYPE_NONE,
                    .workspace = sdpa_cudnn_workspace(0)};
    void *const data[SDPA_OPERANDS] = {q,  k,  v,     y,      lse,  dy,  dq,
                                       dk, dv, delta, dq_sum, bias, mask};
    const sdpa_tensors64 t = {q64,  k64,  v64, like ? bias64 : NULL, y64, lse64, dy64,
                              dq64, dk64, dv64};
    for (int j = 0; j < H * T * T; j++)
        bias64[j] = (double)(bias[j] = (float)(j % 7) * 0.25f - 1.0f);
    ck_assert_uint_eq(lib.create(&lib.handle), 0);
    draw(q, q64, 1);
    draw(k, k64, 2);
    draw(v, v64, 3);
    draw(dy, dy64, 4);
    run(&c, data);
    sdpa_reference(&c.s, q64, k64, v64, t.bias, y64, lse64);
    compare(y, y64);
    for (int i = 0; i < ROWS; i++)
        ck_assert_close((double)lse[i], lse64[i], 1e-5);
    memset(dq64, 0, sizeof dq64);
    memset(dk64, 0, sizeof dk64);
    memset(dv64, 0, sizeof dv64);
    c.grad = 1;
    run(&c, data);
    sdpa_grad_reference(&c.s, &t);
    compare(dq, dq64);
    compare(dk, dk64);
    compare(dv, dv64);
    ck_assert_uint_eq(lib.destroy(lib.handle), 0);
}
END_TEST

START_TEST(samples_share_what_room_there_is)
{
    sdpa_cudnn c = {.s = {.batch = 64, .heads = 12, .tq = 1024, .tk = 1024, .d = 64},
                    .workspace = sdpa_cudnn_workspace((uint64_t)8 << 30)};
    ck_assert_int_eq(sdpa_cudnn_part(&c), 64);
    c.s.drop = 0.1f; /* 24 MiB a sample */
    ck_assert_int_eq(sdpa_cudnn_part(&c), 8);
    c.grad = 1;
    ck_assert_int_eq(sdpa_cudnn_part(&c), 4);
    c.any_order = 1;
    c.s.batch = 61;
    ck_assert_int_eq(sdpa_cudnn_part(&c), 1);
    c.s.tq = c.s.tk = 4096; /* 384 MiB a sample */
    ck_assert_int_eq(sdpa_cudnn_part(&c), 0);
    c.workspace = sdpa_cudnn_workspace((uint64_t)80 << 30); /* 2 GiB */
    ck_assert_int_eq(sdpa_cudnn_part(&c), 1);
    c.s.tq = c.s.tk = 1024;
    c.s.batch = 64;
    c.any_order = 0;
    c.s.drop = 0.0f;
    ck_assert_int_eq(sdpa_cudnn_part(&c), 64);
}
END_TEST

START_TEST(versions_with_wrong_results_are_not_asked)
{
    sdpa_cudnn c = {.s = {.tq = 300, .tk = 300}, .dtype = TUTTI_BF16};
    ck_assert(!sdpa_cudnn_allows(&c, 91000));
    ck_assert(!sdpa_cudnn_allows(&c, 91001));
    ck_assert(sdpa_cudnn_allows(&c, 91002));
    c.dtype = TUTTI_F16;
    ck_assert(sdpa_cudnn_allows(&c, 91000));
    c.grad = 1;
    ck_assert(!sdpa_cudnn_allows(&c, 91500));
    ck_assert(sdpa_cudnn_allows(&c, 91501));
    c.s.tk = 384;
    ck_assert(sdpa_cudnn_allows(&c, 91500));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sdpa_graph");
    TCase *t = tcase_create("cases");
    tcase_add_loop_test(t, attention_and_its_gradient_are_the_definitions, 0,
                        6 * (int)(sizeof ways / sizeof *ways));
    tcase_add_test(t, samples_share_what_room_there_is);
    tcase_add_test(t, versions_with_wrong_results_are_not_asked);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
