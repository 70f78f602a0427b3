/* sdpa_banks_test.c - attention's tiles lie in shared memory so that no banks collide, whatever the width. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/half.h"
#include "emulator.h"
#include "sdpa/sdpa_cuda.h"
#include "tutti/op.h"
#include "tutti_check.h"

#include <stdio.h>

/* One head of T queries and keys, two tiles of which one is broken. */
enum { T = 70, MOST = T * SDPA_MMA_WIDEST };
static _Alignas(16) uint16_t q[MOST], k[MOST], v[MOST], y[MOST], dy[MOST], dq[MOST], dk[MOST],
    dv[MOST];
static float lse[T], delta[T];
static const tutti_step step = {.seed = 3};

static void fill(uint16_t *x, int d, uint32_t seed)
{
    for (int i = 0; i < T * d; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = half_to_bf16((float)(seed >> 8) * 0x1p-23f - 1.0f);
    }
}

static const struct form {
    int d, causal;
    float drop;
} forms[] = {{32, 1, 0.0f}, {64, 0, 0.0f}, {64, 1, 0.2f},
             {80, 1, 0.0f}, {96, 0, 0.2f}, {128, 1, 0.0f}};

static sdpa_cuda_args args_of(const struct form *f)
{
    const sdpa_stride at = {(int64_t)T * f->d, (int64_t)T * f->d, f->d};
    return (sdpa_cuda_args){.q = {q, TUTTI_BF16, 0},
                            .k = {k, TUTTI_BF16, 0},
                            .v = {v, TUTTI_BF16, 0},
                            .y = {y, TUTTI_BF16, 0},
                            .lse = {lse, TUTTI_F32, 0},
                            .dy = {dy, TUTTI_BF16, 0},
                            .dq = {dq, TUTTI_BF16, 0},
                            .dk = {dk, TUTTI_BF16, 0},
                            .dv = {dv, TUTTI_BF16, 0},
                            .step = &step,
                            .delta = delta,
                            .s = {.batch = 1,
                                  .heads = 1,
                                  .tq = T,
                                  .tk = T,
                                  .d = f->d,
                                  .causal = f->causal,
                                  .q = at,
                                  .k = at,
                                  .v = at,
                                  .y = at,
                                  .drop = f->drop},
                            .chunks = 1,
                            .scale = 0.1f,
                            .keep = 1.0f / (1.0f - f->drop),
                            .wide = 1};
}

static void run(const char *name, uint32_t shared, const sdpa_cuda_args *a)
{
    char entry[64], text[512] = "";
    (void)snprintf(entry, sizeof entry, "%s_bf16_%d", name, a->s.d > 64 ? 128 : 64);
    const emulator_kernel *kernel = emulator_find("kernels/sdpa", entry);
    const emulator_shape shape = {{2, 1, 1}, {SDPA_MMA_BLOCK, 1, 1}, shared};
    const emulator_banks before = emulator_count_banks();
    ck_assert_msg(kernel != NULL, "there is no %s", entry);
    (void)emulator_run(kernel, &shape, (void *[]){(void *)(uintptr_t)a}, text, sizeof text);
    ck_assert_str_eq(text, "");
    const emulator_banks after = emulator_count_banks();
    ck_assert_uint_gt(after.turns - before.turns, 1000);
    ck_assert_msg(after.conflicts == before.conflicts, "%s, %d wide: %llu conflicts in %llu",
                  entry, (int)a->s.d, (unsigned long long)(after.conflicts - before.conflicts),
                  (unsigned long long)(after.turns - before.turns));
}

START_TEST(no_banks_collide)
{
    const struct form *f = &forms[_i];
    const sdpa_cuda_args a = args_of(f);
    uint16_t *const in[] = {q, k, v, dy};
    const uint32_t c = f->d > 64 ? 128 : 64;
    for (uint32_t j = 0; j < 4; j++)
        fill(in[j], f->d, j);
    emulator_seed(1);
    run("sdpa", SDPA_MMA_BYTES(c), &a);
    run("sdpa_by_query", SDPA_MMA_GRAD_BYTES(c), &a);
    run("sdpa_by_key", SDPA_MMA_GRAD_BYTES(c), &a);
    for (int j = 0; j < T * f->d; j++)
        ck_assert(isfinite(half_from_bf16(y[j]) + half_from_bf16(dq[j]) +
                           half_from_bf16(dk[j]) + half_from_bf16(dv[j])));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sdpa_banks");
    TCase *t = tcase_create("cases");
    tcase_add_loop_test(t, no_banks_collide, 0, (int)(sizeof forms / sizeof *forms));
    suite_add_tcase(s, t);
    return tutti_run(s);
}
