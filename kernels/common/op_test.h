/* op_test.h - a test program that checks an op on a list of cases and errors. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_OP_TEST_H
#define KERNELS_COMMON_OP_TEST_H

#include "gradcheck.h"
#include "op_table.h"
#include "tutti_check.h"

/* A description as a constant: DESC(F32, 2, 3, 4) is f32 (3, 4). */
#define DESC(type, rank_, ...)                                                                 \
    {                                                                                          \
        .dim = {__VA_ARGS__}, .rank = (rank_), .dtype = TUTTI_##type                           \
    }

/* The folder's test defines `cases` and calls OP_TEST_MAIN(name). */
#define OP_TEST_MAIN(name)                                                                     \
    START_TEST(name##_agrees_with_its_reference_and_differences)                               \
    {                                                                                          \
        tutti_error err = TUTTI_ERROR_INIT;                                                    \
        op_case c = cases[_i];                                                                 \
        c.seed = 100u + (uint64_t)_i;                                                          \
        ck_assert_msg(op_check(tutti_op_table, &c, &err) == TUTTI_OK, "case %d: %s", _i,       \
                      err.text);                                                               \
    }                                                                                          \
    END_TEST                                                                                   \
    int main(void)                                                                             \
    {                                                                                          \
        Suite *s = suite_create(#name);                                                        \
        TCase *t = tcase_create("cases");                                                      \
        tcase_set_timeout(t, 60);                                                              \
        tcase_add_loop_test(t, name##_agrees_with_its_reference_and_differences, 0,            \
                            (int)(sizeof cases / sizeof *cases));                              \
        suite_add_tcase(s, t);                                                                 \
        return tutti_run(s);                                                                   \
    }

#endif
