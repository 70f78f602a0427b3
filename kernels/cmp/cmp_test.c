/* cmp_test.c - cmp against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    OP_BINARY_CASES("cmp", .no_grad = 3, .nattr = 1,
                    .attr = {{"kind", TUTTI_ATTR_I64, 0, 2, 0.0, NULL, NULL}}),
    OP_BINARY_CASES("cmp", .no_grad = 3, .nattr = 1,
                    .attr = {{"kind", TUTTI_ATTR_I64, 0, 5, 0.0, NULL, NULL}}),
};

static const op_example examples[] = {
    {.in = {DESC(F32, 1, 4), DESC(F32, 1, 4)},
     .data = {F32S(1, 2, 3, NAN), F32S(2, 2, 2, 2)},
     .out = DESC(F32, 1, 4),
     .want = F32S(0, 1, 0, 0),
     .attr = &(const int64_t){0}},
    {.in = {DESC(F32, 1, 4), DESC(F32, 1, 4)},
     .data = {F32S(1, 2, 3, NAN), F32S(2, 2, 2, 2)},
     .out = DESC(F32, 1, 4),
     .want = F32S(1, 0, 1, 1),
     .attr = &(const int64_t){1}},
    {.in = {DESC(F32, 1, 4), DESC(F32, 1, 4)},
     .data = {F32S(1, 2, 3, NAN), F32S(2, 2, 2, 2)},
     .out = DESC(F32, 1, 4),
     .want = F32S(1, 0, 0, 0),
     .attr = &(const int64_t){2}},
    {.in = {DESC(F32, 1, 4), DESC(F32, 1, 4)},
     .data = {F32S(1, 2, 3, NAN), F32S(2, 2, 2, 2)},
     .out = DESC(F32, 1, 4),
     .want = F32S(1, 1, 0, 0),
     .attr = &(const int64_t){3}},
    {.in = {DESC(F32, 1, 4), DESC(F32, 1, 4)},
     .data = {F32S(1, 2, 3, NAN), F32S(2, 2, 2, 2)},
     .out = DESC(F32, 1, 4),
     .want = F32S(0, 0, 1, 0),
     .attr = &(const int64_t){4}},
    {.in = {DESC(F32, 1, 4), DESC(F32, 1, 4)},
     .data = {F32S(1, 2, 3, NAN), F32S(2, 2, 2, 2)},
     .out = DESC(F32, 1, 4),
     .want = F32S(0, 1, 1, 0),
     .attr = &(const int64_t){5}},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 1, 2), DESC(F32, 1, 2)},
     .nin = 2,
     .attr = &(const int64_t){6},
     .status = TUTTI_E_RANGE,
     .text = "cmp: kind is 6, want 0 to 5"},
    {.in = {DESC(F32, 1, 2), DESC(I32, 1, 2)},
     .nin = 2,
     .attr = &(const int64_t){0},
     .status = TUTTI_E_ARG,
     .text = "cmp: b is I32 (2), want F32"},
    {.in = {DESC(F32, 2, 2, 3), DESC(F32, 1, 2)},
     .nin = 2,
     .attr = &(const int64_t){0},
     .status = TUTTI_E_SHAPE,
     .text = "cmp: a is F32 (2, 3) and b is F32 (2), which do not broadcast"},
};

OP_TEST_FULL(cmp, 2)
