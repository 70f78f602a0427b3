/* avg_pool2d_test.c - average pooling against definition, differences and by hand. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_refusal.h"
#include "common/pool.h"

extern const tutti_op tutti_op_avg_pool2d, tutti_op_avg_pool2d_grad;

#define EXCLUDE                                                                                \
    {                                                                                          \
        .name = "count_include_pad", .type = TUTTI_ATTR_I64                                    \
    }

static const op_case cases[] = {
    {.op = "avg_pool2d",
     .nin = 1,
     .in = {DESC(F32, 4, 2, 4, 6, 3)},
     .nattr = 1,
     .attr = {LIST("kernel", 2, 3)}},
    {.op = "avg_pool2d",
     .nin = 1,
     .in = {DESC(F32, 4, 2, 5, 4, 2)},
     .nattr = 3,
     .attr = {LIST("kernel", 3, 2), LIST("stride", 2, 1), LIST("padding", 1, 1)}},
    {.op = "avg_pool2d",
     .nin = 1,
     .in = {DESC(F32, 4, 2, 5, 4, 2)},
     .nattr = 4,
     .attr = {LIST("kernel", 3, 2), LIST("stride", 2, 1), LIST("padding", 1, 1), EXCLUDE}},
    {.op = "avg_pool2d",
     .nin = 1,
     .in = {DESC(F32, 4, 0, 5, 4, 2)},
     .nattr = 1,
     .attr = {LIST("kernel", 3, 2)}},
    {.op = "avg_pool2d",
     .nin = 1,
     .in = {DESC(F32, 4, 8, 17, 15, 37)},
     .nattr = 4,
     .attr = {LIST("kernel", 3, 3), LIST("stride", 2, 2), LIST("padding", 1, 1), EXCLUDE},
     .no_grad = 1},
    {.op = "avg_pool2d",
     .nin = 1,
     .in = {DESC(F32, 4, 2, 7, 9, 16)},
     .nattr = 4,
     .attr = {LIST("kernel", 3, 3), LIST("stride", 2, 2), LIST("padding", 1, 1), EXCLUDE},
     .no_grad = 1},
    {.op = "avg_pool2d_grad",
     .nin = 1,
     .in = {DESC(F32, 4, 2, 4, 5, 16)},
     .nattr = 5,
     .attr = {LIST("kernel", 3, 3), LIST("stride", 2, 2), LIST("padding", 1, 1), EXCLUDE,
              LIST("input_shape", 2, 7, 9, 16)},
     .no_grad = 1},
    {.op = "avg_pool2d_grad",
     .nin = 1,
     .in = {DESC(F32, 4, 2, 3, 5, 2)},
     .nattr = 5,
     .attr = {LIST("kernel", 3, 2), LIST("stride", 2, 1), LIST("padding", 1, 1), EXCLUDE,
              LIST("input_shape", 2, 5, 4, 2)}},
    {.op = "avg_pool2d_grad",
     .nin = 1,
     .in = {DESC(F32, 4, 8, 9, 8, 37)},
     .nattr = 4,
     .attr = {LIST("kernel", 3, 3), LIST("stride", 2, 2), LIST("padding", 1, 1),
              LIST("input_shape", 8, 17, 15, 37)},
     .no_grad = 1},
};

START_TEST(average_pooling_agrees_with_definition_and_differences)
{
    op_case_holds(&cases[_i], _i);
}
END_TEST

/* x is 4 in one pixel; a (2, 2) window with a border of 1 counts four places, or one. */
START_TEST(the_border_counts_only_when_asked)
{
    const tutti_desc in = DESC(F32, 4, 1, 1, 1, 1), out = DESC(F32, 4, 1, 2, 2, 1);
    const float x = 4.0f;
    for (int64_t include = 0; include < 2; include++) {
        const pool_attr attr = {.kernel = {2, {2, 2}},
                                .stride = {2, {1, 1}},
                                .padding = {2, {1, 1}},
                                .count_include_pad = include};
        const tutti_op_call c = {sizeof c, 1, 1, 1, &in, &out, &attr, NULL, NULL, NULL};
        float y[4];
        const void *ins[1] = {&x};
        void *outs[1] = {y};
        ck_assert_int_eq(tutti_op_avg_pool2d.cpu->run(NULL, &c, ins, outs, NULL), TUTTI_OK);
        for (int k = 0; k < 4; k++)
            ck_assert_close(y[k], include ? 1 : 4, 0.0);
    }
}
END_TEST

static const pool_attr two = {.kernel = {2, {2, 2}}};
static const pool_attr stride = {.kernel = {2, {2, 2}}, .stride = {2, {1, 0}}};
static const pool_attr grad = {.kernel = {2, {2, 2}}, .input_shape = {4, {1, 4, 4, 3}}};

static const op_refusal refusals[] = {
    {{DESC(F64, 4, 1, 4, 4, 3)},
     1,
     &two,
     TUTTI_E_ARG,
     "avg_pool2d: x is F64 (1, 4, 4, 3), want F32"},
    {{DESC(F32, 4, 1, 4, 4, 3)},
     1,
     &stride,
     TUTTI_E_RANGE,
     "avg_pool2d: stride is (1, 0), want 1 or more"},
};
static const op_refusal grad_refusals[] = {
    {{DESC(F32, 4, 1, 3, 2, 3)},
     1,
     &grad,
     TUTTI_E_SHAPE,
     "avg_pool2d_grad: dy is F32 (1, 3, 2, 3), want F32 (1, 2, 2, 3)"},
};

START_TEST(what_does_not_fit_is_refused_in_one_sentence)
{
    for (int k = 0; k < OP_COUNT(refusals); k++)
        op_refusal_holds(&tutti_op_avg_pool2d, &refusals[k]);
    for (int k = 0; k < OP_COUNT(grad_refusals); k++)
        op_refusal_holds(&tutti_op_avg_pool2d_grad, &grad_refusals[k]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("avg_pool2d");
    TCase *t = op_test_cases(s, 60);
    tcase_add_loop_test(t, average_pooling_agrees_with_definition_and_differences, 0,
                        OP_COUNT(cases));
    tcase_add_test(t, the_border_counts_only_when_asked);
    tcase_add_test(t, what_does_not_fit_is_refused_in_one_sentence);
    return tutti_run(s);
}
