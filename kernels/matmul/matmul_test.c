/* matmul_test.c - matmul against its definition, differences and hand-made numbers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "matmul/matmul.h"

#include "common/op_refusal.h"

#define FLAGS(a, b)                                                                            \
    .nattr = 2, .attr = {{"transpose_a", TUTTI_ATTR_I64, 0, (a), 0, NULL},                     \
                         {"transpose_b", TUTTI_ATTR_I64, 0, (b), 0, NULL}}

static const op_case cases[] = {
    {.op = "matmul", .nin = 2, .in = {DESC(F32, 2, 3, 4), DESC(F32, 2, 4, 5)}},
    {.op = "matmul", .nin = 2, .in = {DESC(F32, 2, 4, 3), DESC(F32, 2, 4, 5)}, FLAGS(1, 0)},
    {.op = "matmul", .nin = 2, .in = {DESC(F32, 2, 3, 4), DESC(F32, 2, 5, 4)}, FLAGS(0, 1)},
    {.op = "matmul", .nin = 2, .in = {DESC(F32, 2, 4, 3), DESC(F32, 2, 5, 4)}, FLAGS(1, 1)},
    {.op = "matmul",
     .nin = 3,
     .in = {DESC(F32, 2, 5, 3), DESC(F32, 2, 4, 3), DESC(F32, 1, 4)},
     FLAGS(0, 1)},
    {.op = "matmul",
     .nin = 3,
     .in = {DESC(F32, 3, 2, 2, 3), DESC(F32, 2, 3, 2), DESC(F32, 1, 2)}},
    {.op = "matmul", .nin = 2, .in = {DESC(F32, 3, 2, 2, 3), DESC(F32, 3, 2, 3, 2)}},
    {.op = "matmul", .nin = 2, .in = {DESC(F32, 4, 2, 1, 2, 3), DESC(F32, 3, 3, 3, 2)}},
    {.op = "matmul", .nin = 2, .in = {DESC(F32, 2, 3, 2), DESC(F32, 3, 2, 3, 2)}, FLAGS(1, 0)},
    {.op = "matmul", .nin = 2, .in = {DESC(F32, 3, 2, 3, 2), DESC(F32, 2, 3, 4)}, FLAGS(1, 0)},
    {.op = "matmul", .nin = 2, .in = {DESC(F32, 2, 0, 4), DESC(F32, 2, 4, 5)}},
    {.op = "matmul", .nin = 3, .in = {DESC(F32, 2, 3, 0), DESC(F32, 2, 0, 5), DESC(F32, 1, 5)}},
};

/* Shapes that differences would take too long on: the kernel alone. */
#define ALONE .no_grad = 7
static const op_case large[] = {
    {.op = "matmul", .nin = 2, .in = {DESC(F32, 2, 37, 61), DESC(F32, 2, 61, 47)}, ALONE},
    {.op = "matmul",
     .nin = 3,
     .in = {DESC(F32, 2, 128, 64), DESC(F32, 2, 10, 64), DESC(F32, 1, 10)},
     FLAGS(0, 1),
     ALONE},
    {.op = "matmul",
     .nin = 3,
     .in = {DESC(F32, 2, 131, 97), DESC(F32, 2, 97, 75), DESC(F32, 1, 75)},
     ALONE},
    {.op = "matmul",
     .nin = 2,
     .in = {DESC(F32, 2, 97, 131), DESC(F32, 2, 97, 75)},
     FLAGS(1, 0),
     ALONE},
    {.op = "matmul",
     .nin = 2,
     .in = {DESC(F32, 2, 97, 131), DESC(F32, 2, 75, 97)},
     FLAGS(1, 1),
     ALONE},
    {.op = "matmul",
     .nin = 3,
     .in = {DESC(F32, 3, 4, 65, 70), DESC(F32, 3, 4, 70, 80), DESC(F32, 1, 80)},
     ALONE},
    {.op = "matmul",
     .nin = 2,
     .in = {DESC(F32, 4, 2, 3, 65, 70), DESC(F32, 3, 3, 70, 80)},
     ALONE},
    {.op = "matmul",
     .nin = 2,
     .in = {DESC(F32, 4, 4, 3, 33, 32), DESC(F32, 4, 4, 3, 31, 32)},
     FLAGS(0, 1),
     ALONE},
};

START_TEST(small_products_agree_with_the_reference_and_differences)
{
    op_case_holds(&cases[_i], _i);
}
END_TEST

START_TEST(large_products_agree_with_the_reference)
{
    op_case_holds(&large[_i], _i);
}
END_TEST

static const matmul_attr plain = {0, 0}, transposed = {1, 0};
static const op_refusal refusals[] = {
    {{DESC(F32, 1, 3), DESC(F32, 2, 3, 4)},
     2,
     &plain,
     TUTTI_E_SHAPE,
     "matmul: a is F32 (3), want rank 2 or more"},
    {{DESC(F32, 2, 3, 4), DESC(I32, 2, 4, 4)},
     2,
     &plain,
     TUTTI_E_ARG,
     "matmul: b is I32 (4, 4), want F32"},
    {{DESC(F32, 2, 3, 4), DESC(F32, 2, 3, 4)},
     2,
     &plain,
     TUTTI_E_SHAPE,
     "matmul: a is F32 (3, 4) with 4 columns, b is F32 (3, 4) with 3 rows"},
    {{DESC(F32, 2, 3, 4), DESC(F32, 2, 4, 4)},
     2,
     &transposed,
     TUTTI_E_SHAPE,
     "matmul: a is F32 (3, 4) with 3 columns, b is F32 (4, 4) with 4 rows, as transposed"},
    {{DESC(F32, 3, 2, 3, 4), DESC(F32, 3, 3, 4, 4)},
     2,
     &plain,
     TUTTI_E_SHAPE,
     "matmul: a is F32 (2, 3, 4) and b is F32 (3, 4, 4), whose leading dimensions do not "
     "broadcast"},
    {{DESC(F32, 2, 3, 4), DESC(F32, 2, 4, 5), DESC(F32, 1, 4)},
     3,
     &plain,
     TUTTI_E_SHAPE,
     "matmul: bias is F32 (4), want (5)"},
};

START_TEST(what_does_not_fit_is_refused_in_one_sentence)
{
    op_refusal_holds(&tutti_op_matmul, &refusals[_i]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("matmul");
    TCase *t = op_test_cases(s, 60);
    tcase_add_loop_test(t, small_products_agree_with_the_reference_and_differences, 0,
                        OP_COUNT(cases));
    tcase_add_loop_test(t, large_products_agree_with_the_reference, 0, OP_COUNT(large));
    tcase_add_loop_test(t, what_does_not_fit_is_refused_in_one_sentence, 0, OP_COUNT(refusals));
    return tutti_run(s);
}
