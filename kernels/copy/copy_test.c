/* copy_test.c - copy against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    OP_UNARY_CASES("copy", .seed = 0),
    {.op = "copy", .nin = 1, .in = {DESC(I64, 2, 7, 3)}, .low = {-9}, .high = {9}},
    {.op = "copy", .nin = 1, .in = {DESC(BOOL, 1, 5)}, .high = {2}},
};

static const op_example examples[] = {
    {.in = {DESC(U8, 1, 5)},
     .data = {U8S(1, 2, 3, 4, 5)},
     .out = DESC(U8, 1, 5),
     .want = U8S(1, 2, 3, 4, 5)},
};

extern const tutti_op tutti_op_copy;

OP_TEST_CASES(copy)
OP_TEST_EXAMPLES(copy, 1)
OP_TEST_PROGRAM(copy, OP_ADD_CASES(copy); OP_ADD_EXAMPLES(copy))
