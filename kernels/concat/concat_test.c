/* concat_test.c - concat against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/half.h"
#include "common/op_example.h"

#include <stdlib.h>

static const op_case cases[] = {
    {.op = "concat",
     .nin = 2,
     .in = {DESC(F32, 2, 4, 3), DESC(F32, 2, 4, 2)},
     .nattr = 1,
     .attr = {{"axis", TUTTI_ATTR_I64, 0, 1, 0.0, NULL, NULL}}},
    {.op = "concat",
     .nin = 3,
     .in = {DESC(F32, 2, 1, 3), DESC(F32, 2, 0, 3), DESC(F32, 2, 2, 3)},
     .nattr = 1,
     .attr = {{"axis", TUTTI_ATTR_I64, 0, 0, 0.0, NULL, NULL}}},
    {.op = "concat",
     .nin = 2,
     .in = {DESC(F32, 3, 4, 3, 2), DESC(F32, 3, 4, 3, 1)},
     .nattr = 1,
     .attr = {{"axis", TUTTI_ATTR_I64, 0, -1, 0.0, NULL, NULL}}},
    {.op = "concat", .nin = 2, .in = {DESC(I64, 1, 4), DESC(I64, 1, 3)}, .high = {9, 9}},
    {.op = "concat", .nin = 1, .in = {DESC(F32, 1, 3)}},
    {.op = "concat",
     .nin = 2,
     .in = {DESC(F32, 2, 300, 80), DESC(F32, 2, 300, 121)},
     .nattr = 1,
     .attr = {{"axis", TUTTI_ATTR_I64, 0, 1, 0.0, NULL, NULL}},
     .no_second = 1},
};

static const op_example examples[] = {
    {.in = {DESC(F32, 2, 2, 1), DESC(F32, 2, 2, 2)},
     .data = {F32S(1, 2), F32S(3, 4, 5, 6)},
     .out = DESC(F32, 2, 2, 3),
     .want = F32S(1, 3, 4, 2, 5, 6),
     .attr = &(const int64_t){1}},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 2, 2, 3), DESC(F32, 2, 3, 3)},
     .nin = 2,
     .attr = &(const int64_t){1},
     .status = TUTTI_E_SHAPE,
     .text = "concat: input 1 is F32 (3, 3), input 0 is F32 (2, 3)"},
    {.in = {DESC(F32, 1, 2), DESC(I32, 1, 2)},
     .nin = 2,
     .attr = &(const int64_t){0},
     .status = TUTTI_E_SHAPE,
     .text = "concat: input 1 is I32 (2), input 0 is F32 (2)"},
    {.in = {DESC(F32, 1, 2), DESC(F32, 1, 2)},
     .nin = 2,
     .attr = &(const int64_t){1},
     .status = TUTTI_E_RANGE,
     .text = "concat: axis 1, want one of rank 1"},
};

extern const tutti_op tutti_op_concat;

/* (outer, n, inner) of three operands along axis 1; the second is F32. */
static const int64_t shapes[][5] = {
    {1, 1, 1, 1, 1}, {32, 196, 1, 0, 192}, {3, 5, 7, 2, 33}, {500, 3, 9, 4, 17}};

START_TEST(sixteen_bits_beside_f32_become_f32)
{
    const int64_t *of = shapes[_i % OP_COUNT(shapes)];
    const int32_t half = _i < OP_COUNT(shapes) ? TUTTI_BF16 : TUTTI_F16;
    const int64_t along = of[1] + of[2] + of[3], attr = 1;
    tutti_desc d[4] = {{{of[0], of[1], of[4]}, 3, half},
                       {{of[0], of[2], of[4]}, 3, TUTTI_F32},
                       {{of[0], of[3], of[4]}, 3, half},
                       {{of[0], along, of[4]}, 3, TUTTI_F32}};
    const tutti_step step = {.struct_size = sizeof step};
    const tutti_op_call c = {sizeof c, 3, 1, 3, d, d + 3, &attr, &step, NULL, NULL};
    const void *in[3];
    float *y = calloc((size_t)tutti_numel(&d[3]) + 1, sizeof *y);
    void *state = NULL, *const out[1] = {y};
    uint64_t bytes = 0;
    for (int j = 0; j < 3; j++) { /* element i of operand j is 100 j + i % 97 */
        const int64_t n = tutti_numel(&d[j]);
        float *x = calloc((size_t)n + 1, sizeof *x);
        ck_assert(x && y);
        for (int64_t i = 0; i < n; i++)
            if (d[j].dtype == TUTTI_F32)
                x[i] = (float)(100 * j + i % 97);
            else
                ((uint16_t *)x)[i] = half == TUTTI_BF16
                                         ? half_to_bf16((float)(100 * j + i % 50))
                                         : half_to_f16((float)(100 * j + i % 50));
        in[j] = x;
    }
    ck_assert_int_eq(tutti_op_concat.cpu->prepare(&c, &state, &bytes, NULL), TUTTI_OK);
    ck_assert_int_eq(tutti_op_concat.cpu->run(state, &c, in, out, NULL), TUTTI_OK);
    for (int64_t i = 0, at[3] = {0}; i < tutti_numel(&d[3]); i++) {
        const int64_t k = i / of[4] % along;
        const int j = k < of[1] ? 0 : k < of[1] + of[2] ? 1 : 2;
        const float want = (float)(100 * j + at[j] % (j == 1 ? 97 : 50));
        ck_assert_msg(y[i] == want, "element %d", (int)i);
        at[j]++;
    }
    for (int j = 0; j < 3; j++)
        free((void *)(uintptr_t)in[j]);
    free(y);
}
END_TEST

/* Results of 16 bits are the host's to convert. */
START_TEST(other_mixtures_are_refused_without_a_word)
{
    const tutti_desc d[3] = {{{2}, 1, TUTTI_F32}, {{3}, 1, TUTTI_BF16}, {{5}, 1, TUTTI_BF16}};
    const int64_t attr = 0;
    const tutti_op_call c = {sizeof c, 2, 1, 1, d, d + 2, &attr, NULL, NULL, NULL};
    void *state = NULL;
    uint64_t bytes = 0;
    ck_assert_int_eq(tutti_op_concat.cpu->prepare(&c, &state, &bytes, NULL),
                     TUTTI_E_UNSUPPORTED);
}
END_TEST

OP_TEST_CASES(concat)
OP_TEST_EXAMPLES(concat, 2)
OP_TEST_REFUSALS(concat)
OP_TEST_PROGRAM(concat, OP_ADD_CASES(concat); OP_ADD_EXAMPLES(concat); OP_ADD_REFUSALS(concat);
                tcase_add_loop_test(t, sixteen_bits_beside_f32_become_f32, 0,
                                    2 * OP_COUNT(shapes));
                tcase_add_test(t, other_mixtures_are_refused_without_a_word))
