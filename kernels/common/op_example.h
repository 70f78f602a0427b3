/* op_example.h - tests of ops with cases, results worked out by hand, and refusals. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_OP_EXAMPLE_H
#define KERNELS_COMMON_OP_EXAMPLE_H

#include "common/op_cases.h"
#include "common/op_refusal.h"

/* A call and what the CPU kernel must give: f32 to 2e-6 of the value (a NaN for a NaN), other dtypes
 * to the bit.  With a status: what the kernel returns instead. */
typedef struct op_example {
    tutti_desc in[3];
    const void *data[3];
    const void *attr;
    tutti_desc out;
    const void *want;
    tutti_status status;
} op_example;

#define F32S(...) ((const float[]){__VA_ARGS__})
#define F64S(...) ((const double[]){__VA_ARGS__})
#define I32S(...) ((const int32_t[]){__VA_ARGS__})
#define I64S(...) ((const int64_t[]){__VA_ARGS__})
#define U8S(...) ((const uint8_t[]){__VA_ARGS__})
#define U16S(...) ((const uint16_t[]){__VA_ARGS__})

static inline void op_example_compare(const op_example *e, const void *got)
{
    if (e->out.dtype != TUTTI_F32) {
        ck_assert_mem_eq(got, e->want, tutti_nbytes(&e->out));
        return;
    }
    for (int64_t i = 0; i < tutti_numel(&e->out); i++) {
        const double y = (double)((const float *)got)[i];
        const double want = (double)((const float *)e->want)[i];
        const int same =
            isnan(want) ? isnan(y) : y == want || fabs(y - want) <= 2e-6 * fabs(want);
        ck_assert_msg(same, "element %d is %.9g, want %.9g", (int)i, y, want);
    }
}

static inline void op_example_holds(const tutti_op *op, uint32_t nin, const op_example *e)
{
    tutti_desc out[TUTTI_OP_MAX_OUT];
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_step step = {.struct_size = sizeof step};
    tutti_op_call c = {sizeof c, nin, op->nout, 2, e->in, NULL, e->attr, NULL, NULL, NULL};
    ck_assert_ok(op->infer(&c, out, &err), err);
    ck_assert_msg(tutti_same_shape(&out[0], &e->out) && out[0].dtype == e->out.dtype,
                  "another shape or dtype came out");
    void *y = aligned_alloc(64, (tutti_nbytes(&out[0]) + 64) / 64 * 64), *state = NULL;
    uint64_t scratch_size = 0;
    c.out = out;
    if (op->cpu->prepare)
        ck_assert_ok(op->cpu->prepare(&c, &state, &scratch_size, &err), err);
    void *scratch = aligned_alloc(64, (scratch_size + 64) / 64 * 64);
    c.step = &step;
    ck_assert_int_eq(op->cpu->run(state, &c, e->data, &y, scratch), e->status);
    if (!e->status)
        op_example_compare(e, y);
    if (op->cpu->destroy)
        op->cpu->destroy(state);
    free(scratch);
    free(y);
}

#define OP_TEST_CASES(name)                                                                    \
    START_TEST(name##_agrees_with_its_reference_and_differences)                               \
    {                                                                                          \
        op_case_holds(&cases[_i], _i);                                                         \
    }                                                                                          \
    END_TEST

#define OP_TEST_EXAMPLES(name, nin)                                                            \
    START_TEST(name##_gives_what_is_worked_out_by_hand)                                        \
    {                                                                                          \
        op_example_holds(&tutti_op_##name, nin, &examples[_i]);                                \
    }                                                                                          \
    END_TEST

#define OP_TEST_REFUSALS(name)                                                                 \
    START_TEST(name##_refuses_with_a_sentence)                                                 \
    {                                                                                          \
        op_refusal_holds(&tutti_op_##name, &refusals[_i]);                                     \
    }                                                                                          \
    END_TEST

#define OP_ADD(name, test, array) tcase_add_loop_test(t, name##_##test, 0, OP_COUNT(array))
#define OP_ADD_CASES(name) OP_ADD(name, agrees_with_its_reference_and_differences, cases)
#define OP_ADD_EXAMPLES(name) OP_ADD(name, gives_what_is_worked_out_by_hand, examples)
#define OP_ADD_REFUSALS(name) OP_ADD(name, refuses_with_a_sentence, refusals)

/* `add`: the OP_ADD_* that the program has, with semicolons. */
#define OP_TEST_PROGRAM(name, add)                                                             \
    int main(void)                                                                             \
    {                                                                                          \
        Suite *s = suite_create(#name);                                                        \
        TCase *t = op_test_cases(s, 60);                                                       \
        add;                                                                                   \
        return tutti_run(s);                                                                   \
    }

/* The folder's test defines `cases`, `examples` and `refusals`, and calls this with the op's name and
 * its number of inputs. */
#define OP_TEST_FULL(name, nin)                                                                \
    extern const tutti_op tutti_op_##name;                                                     \
    OP_TEST_CASES(name)                                                                        \
    OP_TEST_EXAMPLES(name, nin)                                                                \
    OP_TEST_REFUSALS(name)                                                                     \
    OP_TEST_PROGRAM(name, OP_ADD_CASES(name); OP_ADD_EXAMPLES(name); OP_ADD_REFUSALS(name))

#endif
