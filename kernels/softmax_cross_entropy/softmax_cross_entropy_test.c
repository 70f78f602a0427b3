/* softmax_cross_entropy_test.c - softmax_cross_entropy against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

#define IGNORE(value)                                                                          \
    {                                                                                          \
        .name = "ignore_index", .type = TUTTI_ATTR_I64, .i = (value)                           \
    }

#define COLUMNS(value)                                                                         \
    {                                                                                          \
        .name = "columns", .type = TUTTI_ATTR_I64, .i = (value)                                \
    }

/* Both results at once: logits, target, dloss, attributes, the classes that there are. */
#define BOTH(z, t, d, most, attrs, ...)                                                        \
    {                                                                                          \
        .op = "softmax_cross_entropy_and_grad", .nin = 3, .in = {z, t, d}, .nattr = (attrs),   \
        .attr = {__VA_ARGS__}, .low = {-3, 0, -1}, .high = {3, (most), 1}, .no_grad = 7        \
    }

static const op_case cases[] = {
    /* logits with columns behind those that count */
    {.op = "softmax_cross_entropy",
     .nin = 2,
     .in = {DESC(F32, 2, 6, 8), DESC(I32, 1, 6)},
     .nattr = 1,
     .attr = {COLUMNS(5)},
     .low = {-3, 0},
     .high = {3, 5}},
    {.op = "softmax_cross_entropy",
     .nin = 2,
     .in = {DESC(F32, 3, 2, 3, 8), DESC(F32, 3, 2, 3, 5)},
     .nattr = 1,
     .attr = {COLUMNS(5)},
     .low = {-3, 0},
     .high = {3, 1}},
    {.op = "softmax_cross_entropy_grad",
     .nin = 3,
     .in = {DESC(F32, 2, 6, 8), DESC(I32, 1, 6), DESC(F32, 1, 6)},
     .nattr = 2,
     .attr = {COLUMNS(5), IGNORE(2)},
     .low = {-3, 0, -1},
     .high = {3, 5, 1}},
    {.op = "softmax_cross_entropy_grad",
     .nin = 3,
     .in = {DESC(F32, 2, 6, 8), DESC(F32, 2, 6, 5), DESC(F32, 1, 6)},
     .nattr = 1,
     .attr = {COLUMNS(5)},
     .low = {-3, 0, -1},
     .high = {3, 1, 1}},
    {.op = "softmax_cross_entropy_grad",
     .nin = 3,
     .in = {DESC(F32, 2, 3, 1408), DESC(I32, 1, 3), DESC(F32, 1, 3)},
     .nattr = 1,
     .attr = {COLUMNS(1283)},
     .low = {-3, 0},
     .high = {3, 1283},
     .no_grad = 7},
    /* more eights than the threads of a block take at once, a few more, and one column alone */
    {.op = "softmax_cross_entropy_grad",
     .nin = 3,
     .in = {DESC(F32, 2, 2, 33032), DESC(I32, 1, 2), DESC(F32, 1, 2)},
     .nattr = 1,
     .attr = {COLUMNS(33025)},
     .low = {-3, 0},
     .high = {3, 33025},
     .no_grad = 7},
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
    /* rows that are a whole block's on a device, whole numbers of eights and not */
    {.op = "softmax_cross_entropy",
     .nin = 2,
     .in = {DESC(F32, 2, 3, 1283), DESC(I32, 1, 3)},
     .low = {-3, 0},
     .high = {3, 1283},
     .no_grad = 1},
    {.op = "softmax_cross_entropy_grad",
     .nin = 3,
     .in = {DESC(F32, 2, 3, 1283), DESC(F32, 2, 3, 1283), DESC(F32, 1, 3)},
     .low = {-3, 0},
     .high = {3, 1},
     .no_grad = 7},
    {.op = "softmax_cross_entropy_grad",
     .nin = 3,
     .in = {DESC(F32, 2, 3, 2048), DESC(I64, 1, 3), DESC(F32, 1, 3)},
     .low = {-3, 0},
     .high = {3, 2048},
     .no_grad = 7},
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
    BOTH(DESC(F32, 2, 6, 8), DESC(I32, 1, 6), DESC(F32, 1, 6), 5, 2, COLUMNS(5), IGNORE(2)),
    BOTH(DESC(F32, 3, 2, 3, 8), DESC(F32, 3, 2, 3, 5), DESC(F32, 2, 2, 3), 1, 1, COLUMNS(5)),
    BOTH(DESC(F32, 3, 3, 4, 5), DESC(I64, 2, 3, 4), DESC(F32, 2, 3, 4), 5, 1, IGNORE(3)),
    BOTH(DESC(F32, 2, 0, 5), DESC(I32, 1, 0), DESC(F32, 1, 0), 5, 1, IGNORE(-1)),
    BOTH(DESC(F32, 2, 70, 130), DESC(I32, 1, 70), DESC(F32, 1, 70), 130, 1, IGNORE(7)),
    /* a block's rows: kept in shared memory, and in F32 too long for it */
    BOTH(DESC(F32, 2, 4, 1408), DESC(I32, 1, 4), DESC(F32, 1, 4), 1283, 1, COLUMNS(1283)),
    BOTH(DESC(F32, 2, 3, 1283), DESC(F32, 2, 3, 1283), DESC(F32, 1, 3), 1, 0, IGNORE(-1)),
    BOTH(DESC(F32, 2, 3, 2048), DESC(I64, 1, 3), DESC(F32, 1, 3), 2048, 0, IGNORE(-1)),
    BOTH(DESC(F32, 2, 2, 33032), DESC(I32, 1, 2), DESC(F32, 1, 2), 33025, 1, COLUMNS(33025)),
};

/* The attribute struct: the class that is ignored, the columns that count. */
static const int64_t plain[2] = {-100, 0}, first[2] = {0, 0}, four[2] = {-100, 4};

static const op_example examples[] = {
    {.in = {DESC(F32, 3, 1, 2, 3), DESC(I32, 2, 1, 2)},
     .data = {F32S(1, 2, 3, 1001, 1002, 1003), I32S(2, 0)},
     .attr = first,
     .out = DESC(F32, 2, 1, 2),
     .want = F32S(0.407605964f, 0)},
    {.in = {DESC(F32, 2, 2, 3), DESC(I32, 1, 2)},
     .data = {F32S(1, 2, 3, 1001, 1002, 1003), I32S(2, 0)},
     .attr = plain,
     .out = DESC(F32, 1, 2),
     .want = F32S(0.407605964f, 2.40760596f)},
    {.in = {DESC(F32, 2, 1, 3), DESC(F32, 2, 1, 3)},
     .data = {F32S(1, 2, 3), F32S(0.5f, 0, 0.5f)},
     .attr = plain,
     .out = DESC(F32, 1, 1),
     .want = F32S(1.40760596f)},
    {.in = {DESC(F32, 2, 1, 3), DESC(I32, 1, 1)},
     .data = {F32S(1, 2, 3), I32S(3)},
     .attr = plain,
     .out = DESC(F32, 1, 1),
     .status = TUTTI_E_RANGE},
    {.in = {DESC(F32, 2, 1, 3), DESC(I64, 1, 1)},
     .data = {F32S(1, 2, 3), I64S(-1)},
     .attr = plain,
     .out = DESC(F32, 1, 1),
     .status = TUTTI_E_RANGE},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 2, 2, 3), DESC(I32, 1, 3)},
     .nin = 2,
     .attr = plain,
     .status = TUTTI_E_SHAPE,
     .text = "softmax_cross_entropy: logits are F32 (2, 3) and the target is I32 (3), want "
             "classes of I32 or I64, one a row, or F32 in the shape of the logits"},
    {.in = {DESC(F32, 1, 2), DESC(I32, 1, 2)},
     .nin = 2,
     .attr = plain,
     .status = TUTTI_E_SHAPE,
     .text = "softmax_cross_entropy: logits is F32 (2), want rank 2 or more"},
    {.in = {DESC(I32, 2, 2, 3), DESC(I32, 1, 2)},
     .nin = 2,
     .attr = plain,
     .status = TUTTI_E_ARG,
     .text = "softmax_cross_entropy: logits is I32 (2, 3), want F32"},
    {.in = {DESC(F32, 2, 2, 3), DESC(I32, 1, 2)},
     .nin = 2,
     .attr = four,
     .status = TUTTI_E_RANGE,
     .text = "softmax_cross_entropy: columns is 4, want 0 to 3, of logits F32 (2, 3)"},
};

extern const tutti_op tutti_op_softmax_cross_entropy, tutti_op_softmax_cross_entropy_and_grad;
OP_TEST_CASES(softmax_cross_entropy)
OP_TEST_EXAMPLES(softmax_cross_entropy, 2)
OP_TEST_REFUSALS(softmax_cross_entropy)

static const op_refusal both_refusals[] = {
    {.in = {DESC(F32, 2, 2, 3), DESC(I32, 1, 2), DESC(F32, 1, 3)},
     .nin = 3,
     .attr = plain,
     .status = TUTTI_E_SHAPE,
     .text = "softmax_cross_entropy_and_grad: dloss is F32 (3) and the loss is F32 (2), want "
             "the same shape"},
    {.in = {DESC(F32, 2, 2, 3), DESC(I32, 1, 2), DESC(F32, 1, 2)},
     .nin = 3,
     .attr = four,
     .status = TUTTI_E_RANGE,
     .text = "softmax_cross_entropy_and_grad: columns is 4, want 0 to 3, of logits F32 (2, 3)"},
};

START_TEST(both_refuse_with_a_sentence)
{
    op_refusal_holds(&tutti_op_softmax_cross_entropy_and_grad, &both_refusals[_i]);
}
END_TEST

OP_TEST_PROGRAM(softmax_cross_entropy, OP_ADD_CASES(softmax_cross_entropy);
                OP_ADD_EXAMPLES(softmax_cross_entropy); OP_ADD_REFUSALS(softmax_cross_entropy);
                tcase_add_loop_test(t, both_refuse_with_a_sentence, 0, OP_COUNT(both_refusals)))
