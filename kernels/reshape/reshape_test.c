/* reshape_test.c - reshape against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    {.op = "reshape",
     .nin = 1,
     .in = {DESC(F32, 2, 4, 3)},
     .nattr = 1,
     .attr = {LIST("shape", 12)}},
    {.op = "reshape",
     .nin = 1,
     .in = {DESC(F32, 3, 2, 3, 4)},
     .nattr = 1,
     .attr = {LIST("shape", 6, -1)}},
    {.op = "reshape",
     .nin = 1,
     .in = {DESC(F32, 1, 1)},
     .nattr = 1,
     .attr = {{"shape", TUTTI_ATTR_LIST, 0, 0, 0.0, NULL, NULL}}},
    {.op = "reshape",
     .nin = 1,
     .in = {DESC(F32, 2, 0, 4)},
     .nattr = 1,
     .attr = {LIST("shape", 2, 0)}},
    {.op = "reshape",
     .nin = 1,
     .in = {DESC(I64, 2, 4, 3)},
     .nattr = 1,
     .attr = {LIST("shape", 3, 4)},
     .high = {9}},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 2, 2, 3)},
     .nin = 1,
     .attr = &(const tutti_list){2, {4, -1}},
     .status = TUTTI_E_SHAPE,
     .text = "reshape: x is F32 (2, 3), which does not fit F32 (4, -1)"},
    {.in = {DESC(F32, 2, 2, 3)},
     .nin = 1,
     .attr = &(const tutti_list){1, {7}},
     .status = TUTTI_E_SHAPE,
     .text = "reshape: x is F32 (2, 3), which does not fit F32 (7)"},
    {.in = {DESC(F32, 2, 0, 3)},
     .nin = 1,
     .attr = &(const tutti_list){2, {0, -1}},
     .status = TUTTI_E_SHAPE,
     .text = "reshape: x is F32 (0, 3), which does not fit F32 (0, -1)"},
};

extern const tutti_op tutti_op_reshape;

OP_TEST_CASES(reshape)
OP_TEST_REFUSALS(reshape)
OP_TEST_PROGRAM(reshape, OP_ADD_CASES(reshape); OP_ADD_REFUSALS(reshape))
