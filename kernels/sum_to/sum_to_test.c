/* sum_to_test.c - sum_to against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    {.op = "sum_to",
     .nin = 1,
     .in = {DESC(F32, 2, 4, 3)},
     .nattr = 1,
     .attr = {LIST("shape", 3)}},
    {.op = "sum_to",
     .nin = 1,
     .in = {DESC(F32, 3, 2, 3, 4)},
     .nattr = 1,
     .attr = {LIST("shape", 2, 1, 4)}},
    {.op = "sum_to",
     .nin = 1,
     .in = {DESC(F32, 2, 4, 3)},
     .nattr = 1,
     .attr = {{"shape", TUTTI_ATTR_LIST, 0, 0, 0.0, NULL, NULL}}},
    {.op = "sum_to",
     .nin = 1,
     .in = {DESC(F32, 3, 2, 3, 4)},
     .nattr = 1,
     .attr = {LIST("shape", 1, 1)}},
    {.op = "sum_to",
     .nin = 1,
     .in = {DESC(F32, 2, 4, 3)},
     .nattr = 1,
     .attr = {LIST("shape", 4, 3)}},
    {.op = "sum_to",
     .nin = 1,
     .in = {DESC(F32, 4, 5, 6, 7, 8)},
     .nattr = 1,
     .attr = {LIST("shape", 8)}},
    {.op = "sum_to",
     .nin = 1,
     .in = {DESC(F32, 4, 16, 32, 32, 16)},
     .nattr = 1,
     .attr = {LIST("shape", 16)},
     .no_second = 1},
    {.op = "sum_to",
     .nin = 1,
     .in = {DESC(F32, 4, 16, 3, 1, 16)},
     .nattr = 1,
     .attr = {LIST("shape", 3, 1, 1)}},
};

static const op_example examples[] = {
    {.in = {DESC(F32, 2, 2, 2)},
     .data = {F32S(1, 2, 3, 4)},
     .out = DESC(F32, 2, 1, 2),
     .want = F32S(4, 6),
     .attr = &(const tutti_list){2, {1, 2}}},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 2, 2, 3)},
     .nin = 1,
     .attr = &(const tutti_list){1, {2}},
     .status = TUTTI_E_SHAPE,
     .text = "sum_to: F32 (2) does not broadcast to x, which is F32 (2, 3)"},
    {.in = {DESC(I32, 1, 2)},
     .nin = 1,
     .attr = &(const tutti_list){1, {1}},
     .status = TUTTI_E_ARG,
     .text = "sum_to: x is I32 (2), want F32"},
};

OP_TEST_FULL(sum_to, 1)
