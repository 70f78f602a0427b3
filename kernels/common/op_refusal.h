/* op_refusal.h - tests of ops that check cases and refusals side by side. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_OP_REFUSAL_H
#define KERNELS_COMMON_OP_REFUSAL_H

#include "common/op_test.h"

/* A list attribute of a case: LIST("stride", 2, 2). */
#define LIST(name_, ...)                                                                       \
    {                                                                                          \
        .name = (name_), .type = TUTTI_ATTR_LIST,                                              \
        .count = (uint32_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),         \
        .list = (const int64_t[])                                                              \
        {                                                                                      \
            __VA_ARGS__                                                                        \
        }                                                                                      \
    }

#define OP_COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* A call that infer refuses with this status and this whole sentence. */
typedef struct op_refusal {
    tutti_desc in[6];
    uint32_t nin;
    const void *attr;
    tutti_status status;
    const char *text;
} op_refusal;

static inline void op_refusal_holds(const tutti_op *op, const op_refusal *r)
{
    const tutti_op_call c = {sizeof c, r->nin,  op->nout, 1,    r->in,
                             NULL,     r->attr, NULL,     NULL, NULL};
    tutti_desc out[TUTTI_OP_MAX_OUT];
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(op->infer(&c, out, &err), r->status);
    ck_assert_error(err, r->status, r->text);
}

/* Check case `k` of a list, which also gives it its random numbers. */
static inline void op_case_holds(const op_case *c, int k)
{
    tutti_error err = TUTTI_ERROR_INIT;
    op_case seeded = *c;
    seeded.seed = 100u + (uint64_t)k;
    ck_assert_msg(op_check(tutti_op_table, &seeded, &err) == TUTTI_OK, "case %d: %s", k,
                  err.text);
}

static inline TCase *op_test_cases(Suite *s, double seconds)
{
    TCase *t = tcase_create("cases");
    tcase_set_timeout(t, seconds);
    suite_add_tcase(s, t);
    return t;
}

#endif
