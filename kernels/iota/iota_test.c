/* iota_test.c - iota against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    {.op = "iota", .nattr = 1, .attr = {{"size", TUTTI_ATTR_I64, 0, 5, 0.0, NULL, NULL}}},
    {.op = "iota", .nattr = 1, .attr = {{"size", TUTTI_ATTR_I64, 0, 0, 0.0, NULL, NULL}}},
    {.op = "iota",
     .nattr = 2,
     .attr = {{"size", TUTTI_ATTR_I64, 0, 7, 0.0, NULL, NULL},
              {"dtype", TUTTI_ATTR_I64, 0, TUTTI_I32, 0.0, NULL, NULL}}},
    {.op = "iota",
     .nattr = 2,
     .attr = {{"size", TUTTI_ATTR_I64, 0, 7, 0.0, NULL, NULL},
              {"dtype", TUTTI_ATTR_I64, 0, TUTTI_F32, 0.0, NULL, NULL}}},
};

static const op_example examples[] = {
    {.out = DESC(I64, 1, 3), .want = I64S(0, 1, 2), .attr = (const int64_t[]){3, TUTTI_I64}},
    {.out = DESC(F32, 1, 2), .want = F32S(0, 1), .attr = (const int64_t[]){2, TUTTI_F32}},
};

static const op_refusal refusals[] = {
    {.attr = (const int64_t[]){-1, TUTTI_I64},
     .status = TUTTI_E_RANGE,
     .text = "iota: size is -1, want 0 or more"},
    {.attr = (const int64_t[]){3, TUTTI_U8},
     .status = TUTTI_E_ARG,
     .text = "iota: dtype is U8, want I64, I32 or F32"},
};

OP_TEST_FULL(iota, 0)
