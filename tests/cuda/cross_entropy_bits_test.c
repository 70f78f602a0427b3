/* cross_entropy_bits_test.c - a loss and its gradient out of one kernel have the bits of two, of as many threads. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/half.h"
#include "emulator.h"
#include "softmax_cross_entropy/softmax_cross_entropy_cuda.h"
#include "tutti/op.h"
#include "tutti_check.h"

/* Two blocks, so that a team has more rows than one. */
enum { ROWS = 5, PITCH = 1416, MOST = ROWS * PITCH, IGNORED = 3, WARPS = 128 };
static _Alignas(16) unsigned char logits[4 * MOST], apart[4 * MOST], together[4 * MOST];
static _Alignas(16) float weights[MOST], dloss[ROWS], loss[ROWS], also[ROWS];
static const int32_t classes[ROWS] = {0, 1282, IGNORED, 1280, 77};
static uint32_t fault;

static const struct form {
    int64_t n, pitch;
    int32_t dtype, soft, kept; /* kept: rows are a block's, in shared memory */
} forms[] = {
    {1283, PITCH, TUTTI_BF16, 0, 1}, {1283, PITCH, TUTTI_BF16, 1, 1},
    {1283, 1283, TUTTI_F16, 0, 1},   {1283, 1283, TUTTI_F32, 1, 1},
    {1283, PITCH, TUTTI_BF16, 0, 0}, {1283, 1283, TUTTI_F32, 1, 0},
};

static void fill(const struct form *f)
{
    uint32_t seed = 7;
    for (int64_t k = 0; k < MOST; k++) {
        seed = seed * 1664525u + 1013904223u;
        const float x = 6.0f * ((float)(seed >> 8) * 0x1p-23f - 1.0f);
        weights[k] = (float)(seed >> 20) * 0x1p-13f;
        if (f->dtype == TUTTI_F32)
            ((float *)logits)[k] = x;
        else
            ((uint16_t *)logits)[k] = f->dtype == TUTTI_BF16 ? half_to_bf16(x) : half_to_f16(x);
    }
    for (int r = 0; r < ROWS; r++)
        dloss[r] = 0.25f - 0.125f * (float)r;
}

static xent_cuda_args args_of(const struct form *f)
{
    return (xent_cuda_args){
        .logits = {logits, f->dtype, 0},
        .target = {f->soft ? weights : (void *)(uintptr_t)classes,
                   f->soft ? TUTTI_F32 : TUTTI_I32, 0},
        .dloss = {dloss, TUTTI_F32, 0},
        .rows = ROWS,
        .n = f->n,
        .pitch = f->pitch,
        .ignored = IGNORED,
        .fault = &fault,
        .mark = 1,
        .soft = f->soft,
        .whole = f->kept,
    };
}

static void run(const char *entry, const struct form *f, uint32_t shared, xent_cuda_args a)
{
    char text[512] = "";
    const emulator_kernel *kernel = emulator_find("kernels/softmax_cross_entropy", entry);
    const emulator_shape shape = {{2, 1, 1}, {f->kept ? XENT_GRAD_BLOCK : WARPS, 1, 1}, shared};
    ck_assert_msg(kernel != NULL, "there is no %s", entry);
    (void)emulator_run(kernel, &shape, (void *[]){&a}, text, sizeof text);
    ck_assert_str_eq(text, "");
    ck_assert_uint_eq(fault, 0);
}

/* In place of the logits, too. */
START_TEST(one_kernel_has_the_bits_of_two)
{
    const struct form *f = &forms[_i];
    const size_t bytes = (size_t)(ROWS * f->pitch) * tutti_dtype_size(f->dtype);
    const uint32_t row = (uint32_t)((uint64_t)f->n * tutti_dtype_size(f->dtype));
    const uint32_t shared = f->kept ? row : 0;
    xent_cuda_args a = args_of(f);
    fill(f);
    emulator_seed(1);
    a.out = (cuda_tensor){loss, TUTTI_F32, 0};
    run("softmax_cross_entropy_rows", f, 0, a);
    a.out = (cuda_tensor){apart, f->dtype, 0};
    run(f->kept ? "softmax_cross_entropy_grad_kept" : "softmax_cross_entropy_grad_rows", f,
        shared, a);
    const char *both =
        f->kept ? "softmax_cross_entropy_and_grad_kept" : "softmax_cross_entropy_and_grad_rows";
    a.out = (cuda_tensor){together, f->dtype, 0};
    a.loss = (cuda_tensor){also, TUTTI_F32, 0};
    run(both, f, shared, a);
    ck_assert_mem_eq(also, loss, sizeof loss);
    ck_assert_mem_eq(together, apart, bytes);
    ck_assert(f->soft || (loss[2] == 0.0f && loss[0] > 0.0f));
    memset(also, 255, sizeof also);
    a.out = a.logits;
    run(both, f, shared, a);
    ck_assert_mem_eq(also, loss, sizeof loss);
    ck_assert_mem_eq(logits, apart, bytes);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cross_entropy_bits");
    TCase *t = tcase_create("cases");
    tcase_add_loop_test(t, one_kernel_has_the_bits_of_two, 0,
                        (int)(sizeof forms / sizeof *forms));
    suite_add_tcase(s, t);
    return tutti_run(s);
}
