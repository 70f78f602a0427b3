/* softmax_cross_entropy_test.c - softmax_cross_entropy against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

#define IGNORE(value)                                                                          \
    {                                                                                          \
        .name = "ignore_index", .type = TUTTI_ATTR_I64, .i = (value)                           \
    }

static const op_case cases[] = {
    {.op = "softmax_cross_entropy",
     .nin = 2,
     .in = {DESC(F32, 2, 6, 5), DESC(I32, 1, 6)},
     .low = {-3, 0},
     .high = {3, 5}},
    {.op = "softmax_cross_entropy",
     .nin = 2,
     .in = {DESC(F32, 2, 6, 5), DESC(I64, 1, 6)},
     .low = {-3, 0},
     .high = {3, 5}},
    {.op = "softmax_cross_entropy",
     .nin = 2,
     .in = {DESC(F32, 2, 6, 5), DESC(F32, 2, 6, 5)},
     .low = {-3, 0},
     .high = {3, 1}},
    {.op = "softmax_cross_entropy",
     .nin = 2,
     .in = {DESC(F32, 2, 700, 10), DESC(F32, 2, 700, 10)},
     .low = {-3, 0},
     .high = {3, 1},
     .no_second = 1},
    {.op = "softmax_cross_entropy",
     .nin = 2,
     .in = {DESC(F32, 2, 70, 130), DESC(I32, 1, 70)},
     .low = {-3, 0},
     .high = {3, 130},
     .no_second = 1},
    {.op = "softmax_cross_entropy", .nin = 2, .in = {DESC(F32, 2, 0, 5), DESC(I32, 1, 0)}},
    {.op = "softmax_cross_entropy", .nin = 2, .in = {DESC(F32, 2, 3, 1), DESC(I32, 1, 3)}},
    {.op = "softmax_cross_entropy_grad",
     .nin = 3,
     .in = {DESC(F32, 2, 6, 5), DESC(I32, 1, 6), DESC(F32, 1, 6)},
     .low = {-3, 0, -1},
     .high = {3, 5, 1}},
    {.op = "softmax_cross_entropy_grad",
     .nin = 3,
     .in = {DESC(F32, 2, 6, 5), DESC(F32, 2, 6, 5), DESC(F32, 1, 6)},
     .low = {-3, 0, -1},
     .high = {3, 1, 1}},
    /* tokens (B, T), one class of which is ignored */
    {.op = "softmax_cross_entropy",
     .nin = 2,
     .in = {DESC(F32, 3, 3, 4, 5), DESC(I32, 2, 3, 4)},
     .nattr = 1,
     .attr = {IGNORE(2)},
     .low = {-3, 0},
     .high = {3, 5}},
    {.op = "softmax_cross_entropy",
     .nin = 2,
     .in = {DESC(F32, 3, 2, 3, 5), DESC(F32, 3, 2, 3, 5)},
     .low = {-3, 0},
     .high = {3, 1}},
    {.op = "softmax_cross_entropy_grad",
     .nin = 3,
     .in = {DESC(F32, 3, 3, 4, 5), DESC(I64, 2, 3, 4), DESC(F32, 2, 3, 4)},
     .nattr = 1,
     .attr = {IGNORE(-1)},
     .low = {-3, -1, -1},
     .high = {3, 5, 1}},
};

static const int64_t plain = -100, first = 0; /* the attribute struct: what is ignored */

static const op_example examples[] = {
    {.in = {DESC(F32, 3, 1, 2, 3), DESC(I32, 2, 1, 2)},
     .data = {F32S(1, 2, 3, 1001, 1002, 1003), I32S(2, 0)},
     .attr = &first,
     .out = DESC(F32, 2, 1, 2),
     .want = F32S(0.407605964f, 0)},
    {.in = {DESC(F32, 2, 2, 3), DESC(I32, 1, 2)},
     .data = {F32S(1, 2, 3, 1001, 1002, 1003), I32S(2, 0)},
     .attr = &plain,
     .out = DESC(F32, 1, 2),
     .want = F32S(0.407605964f, 2.40760596f)},
    {.in = {DESC(F32, 2, 1, 3), DESC(F32, 2, 1, 3)},
     .data = {F32S(1, 2, 3), F32S(0.5f, 0, 0.5f)},
     .attr = &plain,
     .out = DESC(F32, 1, 1),
     .want = F32S(1.40760596f)},
    {.in = {DESC(F32, 2, 1, 3), DESC(I32, 1, 1)},
     .data = {F32S(1, 2, 3), I32S(3)},
     .attr = &plain,
     .out = DESC(F32, 1, 1),
     .status = TUTTI_E_RANGE},
    {.in = {DESC(F32, 2, 1, 3), DESC(I64, 1, 1)},
     .data = {F32S(1, 2, 3), I64S(-1)},
     .attr = &plain,
     .out = DESC(F32, 1, 1),
     .status = TUTTI_E_RANGE},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 2, 2, 3), DESC(I32, 1, 3)},
     .nin = 2,
     .status = TUTTI_E_SHAPE,
     .text = "softmax_cross_entropy: logits are F32 (2, 3) and the target is I32 (3), want "
             "classes of I32 or I64, one a row, or F32 in the shape of the logits"},
    {.in = {DESC(F32, 1, 2), DESC(I32, 1, 2)},
     .nin = 2,
     .status = TUTTI_E_SHAPE,
     .text = "softmax_cross_entropy: logits is F32 (2), want rank 2 or more"},
    {.in = {DESC(I32, 2, 2, 3), DESC(I32, 1, 2)},
     .nin = 2,
     .status = TUTTI_E_ARG,
     .text = "softmax_cross_entropy: logits is I32 (2, 3), want F32"},
};

OP_TEST_FULL(softmax_cross_entropy, 2)
