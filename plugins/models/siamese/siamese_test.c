/* siamese_test.c - the layers that each part goes through, and what does not fit. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../model_check.h"

static easel e;
static test_settings g;

static void settings(int64_t parts)
{
    static const int64_t hidden[] = {32};
    test_settings_init(&g);
    test_settings_int(&g, "parts", parts);
    test_settings_ints(&g, "hidden", hidden, 1);
    test_settings_enum(&g, "activation", "tanh", 2);
    test_settings_int(&g, "dim", 6);
}

START_TEST(a_part_is_a_row)
{
    settings(2);
    ck_assert_ok(easel_open(&e, "siamese", &g), e.err);
    ck_assert_ok(easel_build(&e, TUTTI_F32, 8, 5, 1), e.err);
    ck_assert_str_eq(easel_tree(&e), "2<1 body sequential\n"
                                     "3<2 linear0 linear in_features=20 out_features=32\n"
                                     "4<2 act0 tanh\n"
                                     "5<2 head linear in_features=32 out_features=6\n");
    ck_assert_str_eq(easel_trace(&e),
                     "v2 = reshape(v1; shape=[4, 2, 20])\n"
                     "v3 = module 2(v2)\n"
                     "failed: siamese has no loss of its own; set \"loss\", to "
                     "cosine_embedding for pairs or to triplet for triples\n"
                     "loss v0\n");
    subject_close(&e.subject);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    settings(3);
    ck_assert_ok(easel_open(&e, "siamese", &g), e.err);
    ck_assert_int_eq(easel_build(&e, TUTTI_U8, 6, 4, 1), TUTTI_E_ARG);
    ck_assert_error(
        e.err, TUTTI_E_ARG,
        "siamese: the input is U8 (6, 4, 1), want F32; add the transform normalize");
    e.err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(easel_build(&e, TUTTI_F32, 4, 4, 1), TUTTI_E_SHAPE);
    ck_assert_error(e.err, TUTTI_E_SHAPE,
                    "siamese: samples are F32 (4, 4, 1), want a first dimension that 3 parts "
                    "divide");
    subject_close(&e.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("siamese");
    TCase *c = tcase_create("siamese");
    tcase_add_test(c, a_part_is_a_row);
    tcase_add_test(c, what_does_not_fit_is_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
