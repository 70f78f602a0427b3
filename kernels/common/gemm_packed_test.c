/* gemm_packed_test.c - b packed once gives the bits of b packed in each run, by every micro-kernel that this CPU has. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm.h"
#include "common/gemm_microkernel.h"
#include "tutti_check.h"

#include <stdlib.h>
#include <string.h>

/* Uneven panels, several blocks of columns, K in several parts, threads without work. */
static const struct {
    int64_t m, n, k;
    int32_t threads;
} sizes[] = {{1, 1, 1, 1},      {1, 600, 1700, 2}, {3, 33, 5, 3},  {29, 65, 100, 2},
             {17, 1100, 37, 4}, {20, 40, 1700, 4}, {500, 70, 9, 5}};

/* F32, or BF16 or F16 in the same memory: half of them. */
static void *noise(int64_t n, uint32_t seed)
{
    uint32_t *x = malloc((size_t)n * sizeof *x);
    ck_assert_ptr_nonnull(x);
    for (int64_t i = 0; i < n;
         i++) { /* both halves are numbers of 1 to 2, as F16 of 1.9 to 2 */
        seed = seed * 1664525u + 1013904223u;
        x[i] = (seed & 0x807F807Fu) | 0x3F803F80u;
    }
    return x;
}

/* 0 where there is no such product. */
static int prepared(gemm *p, void **ret_scratch)
{
    uint64_t bytes = 0;
    if (gemm_plan(p, &bytes))
        return 0;
    *ret_scratch = aligned_alloc(64, (bytes + 64) / 64 * 64);
    ck_assert_ptr_nonnull(*ret_scratch);
    memset(*ret_scratch, 0xFF, bytes);
    return 1;
}

static int have_the_same_bits(gemm p, const void *a, const void *b)
{
    char layout[GEMM_LAYOUT] = "";
    void *scratch;
    if (!prepared(&p, &scratch))
        return 0;
    const size_t size = (size_t)(p.m * p.n) * sizeof(float);
    float *y = malloc(size), *once = malloc(size);
    const uint64_t bytes = gemm_packed_bytes(&p, layout);
    float *packed = aligned_alloc(64, (bytes + 64) / 64 * 64);
    gemm_data d = {.a = a, .b = b, .y = y};
    ck_assert(y && once && packed);
    ck_assert(bytes > 0 && *layout);
    gemm_run(&p, &d, scratch);
    memset(packed, 0xFF, bytes);
    gemm_pack_whole(&p, b, packed);
    d = (gemm_data){.a = a, .packed_b = packed, .y = once};
    gemm_run(&p, &d, scratch);
    ck_assert_mem_eq(y, once, size);
    free(scratch), free(y), free(once), free(packed);
    return 1;
}

/* Row: sizes. */
START_TEST(a_product_of_packed_columns_has_the_same_bits)
{
    const int64_t m = sizes[_i].m, n = sizes[_i].n, k = sizes[_i].k;
    void *a = noise(m * k, 1), *b = noise(k * n, 2);
    int tried = 0;
    static const int32_t factors[3] = {TUTTI_F32, TUTTI_BF16, TUTTI_F16};
    for (int how = 0; how < 3 * 2 * 2 * GEMM_DIVISIONS; how++) {
        const int32_t factor = factors[how % 3];
        const int across = how / 3 & 1, half = how / 6 & 1;
        for (int u = 0; gemm_microkernel_at(factor, u); u++)
            tried += have_the_same_bits((gemm){.m = m,
                                               .n = n,
                                               .k = k,
                                               .a_row = k,
                                               .a_col = 1,
                                               .b_row = across ? n : 1,
                                               .b_col = across ? 1 : k,
                                               .y_row = n,
                                               .threads = sizes[_i].threads,
                                               .b_dtype = half ? factor : TUTTI_F32,
                                               .factor = factor,
                                               .division = how / 12,
                                               .microkernel = gemm_microkernel_at(factor, u)},
                                        a, b);
    }
    if (!tried)
        tutti_skip("this CPU has no micro-kernel");
    free(a), free(b);
}
END_TEST

/* The layout's name in `name`; b packed so; NULL where there is no such product.  The caller frees it. */
static float *packed_as(gemm p, const void *b, char name[GEMM_LAYOUT], uint64_t *ret_bytes)
{
    void *scratch;
    if (!prepared(&p, &scratch))
        return NULL;
    free(scratch);
    *ret_bytes = gemm_packed_bytes(&p, name);
    float *packed = aligned_alloc(64, (*ret_bytes + 63) / 64 * 64);
    ck_assert_ptr_nonnull(packed);
    memset(packed, 0, *ret_bytes);
    gemm_pack_whole(&p, b, packed);
    return packed;
}

/* However many rows and threads there are; what lies otherwise has another name. */
START_TEST(layouts_with_one_name_are_one_layout)
{
    const gemm few = {.m = 1,
                      .n = 96,
                      .k = 90,
                      .a_row = 90,
                      .a_col = 1,
                      .b_row = 96,
                      .b_col = 1,
                      .y_row = 96,
                      .threads = 1};
    gemm many = few, turned = few;
    char names[3][GEMM_LAYOUT];
    uint64_t bytes[3];
    many.m = 200;
    many.threads = 3;
    turned.b_row = 1;
    turned.b_col = 90;
    void *b = noise(few.n * few.k, 3);
    float *packed[3] = {packed_as(few, b, names[0], &bytes[0]),
                        packed_as(many, b, names[1], &bytes[1]),
                        packed_as(turned, b, names[2], &bytes[2])};
    if (packed[0] && packed[1] && packed[2]) {
        ck_assert_str_eq(names[0], names[1]);
        ck_assert_uint_eq(bytes[0], bytes[1]);
        ck_assert_mem_eq(packed[0], packed[1], bytes[0]);
        ck_assert_str_ne(names[0], names[2]);
    } else {
        tutti_skip("this CPU has no micro-kernel");
    }
    free(packed[0]), free(packed[1]), free(packed[2]), free(b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gemm_packed");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, a_product_of_packed_columns_has_the_same_bits, 0,
                        (int)(sizeof sizes / sizeof *sizes));
    tcase_add_test(tc, layouts_with_one_name_are_one_layout);
    return tutti_run(suite);
}
