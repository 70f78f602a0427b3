/* no_op_model_test.c - its one weight, and what it emits. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../model_check.h"

static easel e;

START_TEST(it_has_one_weight)
{
    ck_assert_ok(easel_open(&e, "no_op_model", NULL), e.err);
    ck_assert_ok(easel_build(&e, TUTTI_U8, 8, 8, 3), e.err);
    ck_assert_uint_eq(e.tree.modules[1].nweights, 1);
    ck_assert_int_eq(e.tree.modules[1].weights[0].desc.rank, 0);
    ck_assert_close(e.tree.modules[1].weights[0].init.a, 1.5, 0.0);
    ck_assert_uint_eq(e.tree.modules[1].weights[0].flags, TUTTI_WEIGHT_TRAINABLE);
    ck_assert_str_eq(e.table->inputs[0], "target");
    subject_close(&e.subject);
}
END_TEST

/* The target is v1; one loss a sample, then the mean. */
START_TEST(the_loss_is_the_squared_distance_to_the_target)
{
    const tutti_desc shape = {{4, 2, 2}, 3, TUTTI_F32};
    const tutti_value in = 1;
    tutti_value out = 0;
    ck_assert_ok(easel_open(&e, "no_op_model", NULL), e.err);
    record_init(&e.record, TUTTI_MODE_TRAIN, shape);
    ck_assert_int_eq(e.table->trace(e.subject.self, &e.record.graph, 1, &in, 1, &out, 1),
                     TUTTI_OK);
    (void)e.table->loss(e.subject.self, &e.record.graph, &out, 1, &in, 1, TUTTI_REDUCTION_NONE);
    (void)e.table->loss(e.subject.self, &e.record.graph, &out, 1, &in, 1, TUTTI_REDUCTION_MEAN);
    ck_assert_str_eq(e.record.text, "v2 = mul(v1, weight)\n"
                                    "v3 = sub(v2, v1)\n"
                                    "v4 = mul(v3, v3)\n"
                                    "v5 = mean(v4; axes=[1, 2], keepdim=0)\n"
                                    "v6 = sub(v2, v1)\n"
                                    "v7 = mul(v6, v6)\n"
                                    "v8 = mean(v7; axes=[], keepdim=0)\n");
    subject_close(&e.subject);
}
END_TEST

START_TEST(classes_become_numbers)
{
    const tutti_desc shape = {{4}, 1, TUTTI_I32};
    const tutti_value in = 1;
    tutti_value out = 0;
    ck_assert_ok(easel_open(&e, "no_op_model", NULL), e.err);
    record_init(&e.record, TUTTI_MODE_TRAIN, shape);
    ck_assert_int_eq(e.table->trace(e.subject.self, &e.record.graph, 1, &in, 1, &out, 1),
                     TUTTI_OK);
    ck_assert_str_eq(e.record.text, "v2 = cast(v1; dtype=1)\nv3 = mul(v2, weight)\n");
    subject_close(&e.subject);
}
END_TEST

START_TEST(data_without_targets_are_refused)
{
    const tutti_column only = {"input", {{8}, 1, TUTTI_F32}, 0};
    ck_assert_ok(easel_open(&e, "no_op_model", NULL), e.err);
    ck_assert_int_eq(e.table->build(e.subject.self, 1, &only, 1, &e.err), TUTTI_E_NOTFOUND);
    ck_assert_error(e.err, TUTTI_E_NOTFOUND,
                    "no_op_model: the data has no column \"target\", which the model needs");
    subject_close(&e.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("no_op_model");
    TCase *c = tcase_create("all");
    tcase_add_test(c, it_has_one_weight);
    tcase_add_test(c, the_loss_is_the_squared_distance_to_the_target);
    tcase_add_test(c, classes_become_numbers);
    tcase_add_test(c, data_without_targets_are_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
