/* sum_bf16_test.c - sums over rows of bf16 have the bits of sums over the same numbers in f32. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/axes.h"
#include "common/shape.h"
#include "numbers.h"

#include "op_table.h"

/* The operations, and whether their attributes are axes. */
static const struct {
    const char *name;
    int axes;
} sums[] = {{"sum_to", 0}, {"sum", 1}, {"mean", 1}};
enum { SUMS = sizeof sums / sizeof *sums };

/* As this CPU has it. */
static const tutti_op *op_named(const char *name)
{
    const tutti_op *const *op = tutti_op_table;
    while (*op && strcmp((*op)->name, name) != 0)
        op++;
    ck_assert_ptr_nonnull(*op);
    return *op;
}

/* Blocks of rows, each to be added up to one. */
static const struct {
    int64_t blocks, rows, cols;
    int threads;
} shapes[] = {{1, 2, 2, 1},       {1, 7, 5, 1},     {1, 8, 512, 1},  {1, 1000, 513, 1},
              {1, 4096, 1536, 2}, {1, 33, 1100, 3}, {5, 49, 515, 1}, {64, 49, 512, 3}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* The status of a call for inputs and results of these dtypes; the sums where it is fine. */
static tutti_status sums_of(int of, int shape, const void *x, int32_t from, int32_t to,
                            float *y)
{
    const int64_t blocks = shapes[shape].blocks, rows = shapes[shape].rows,
                  cols = shapes[shape].cols;
    const tutti_op *op = op_named(sums[of].name);
    const shape_attr to_shape = {.shape = {3, {blocks, 1, cols}}};
    const axes_attr first = {.axes = {1, {1}}, .keepdim = 1};
    const void *attr = sums[of].axes ? (const void *)&first : &to_shape;
    const tutti_desc descs[2] = {{{blocks, rows, cols}, 3, from}, {{blocks, 1, cols}, 3, to}};
    const tutti_step step = {.struct_size = sizeof step};
    const tutti_op_call c = {sizeof c, 1,    1,   shapes[shape].threads, descs, descs + 1, attr,
                             &step,    NULL, NULL};
    const void *const in[1] = {x};
    void *const out[1] = {y};
    void *state = NULL;
    uint64_t bytes = 0;
    tutti_status s = op->cpu->prepare(&c, &state, &bytes, NULL);
    if (s)
        return s;
    void *scratch = aligned_alloc(64, (bytes + 127) / 64 * 64);
    ck_assert_ptr_nonnull(scratch);
    memset(scratch, 0xFF, bytes); /* NaNs */
    s = op->cpu->run(state, &c, in, out, scratch);
    free(scratch);
    return s;
}

START_TEST(sums_have_the_bits_of_f32)
{
    const int of = _i / SHAPES, shape = _i % SHAPES;
    const int64_t n = shapes[shape].blocks * shapes[shape].cols;
    numbers x = numbers_make(shapes[shape].rows * n, 1);
    float *narrow = calloc((size_t)n, sizeof *narrow), *wide = calloc((size_t)n, sizeof *wide);
    ck_assert(narrow && wide);
    ck_assert_int_eq(sums_of(of, shape, x.half, TUTTI_BF16, TUTTI_F32, narrow), TUTTI_OK);
    ck_assert_int_eq(sums_of(of, shape, x.rounded, TUTTI_F32, TUTTI_F32, wide), TUTTI_OK);
    ck_assert_mem_eq(narrow, wide, (size_t)n * sizeof *wide);
    ck_assert(wide[0] != 0.0f);
    free(narrow), free(wide);
    numbers_free(&x);
}
END_TEST

/* Sums within rows, sums that are stored in 16 bits and F16 are the host's to convert. */
START_TEST(other_halves_are_refused)
{
    const tutti_desc descs[2] = {{{4, 3}, 2, TUTTI_BF16}, {{4, 1}, 2, TUTTI_F32}};
    const shape_attr attr = {.shape = {2, {4, 1}}};
    const tutti_op_call c = {sizeof c, 1, 1, 1, descs, descs + 1, &attr, NULL, NULL, NULL};
    void *state = NULL;
    uint64_t bytes = 0;
    ck_assert_int_eq(op_named("sum_to")->cpu->prepare(&c, &state, &bytes, NULL),
                     TUTTI_E_UNSUPPORTED);
    for (int of = 0; of < SUMS; of++) {
        ck_assert_int_eq(sums_of(of, 0, NULL, TUTTI_BF16, TUTTI_BF16, NULL),
                         TUTTI_E_UNSUPPORTED);
        ck_assert_int_eq(sums_of(of, 0, NULL, TUTTI_F16, TUTTI_F32, NULL), TUTTI_E_UNSUPPORTED);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sum_bf16");
    TCase *t = tcase_create("sums");
    tcase_add_loop_test(t, sums_have_the_bits_of_f32, 0, SUMS * SHAPES);
    tcase_add_test(t, other_halves_are_refused);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
