/* log_softmax_test.c - log_softmax against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    {.op = "log_softmax", .nin = 1, .in = {DESC(F32, 2, 4, 7)}, .low = {-4}, .high = {4}},
    {.op = "log_softmax", .nin = 1, .in = {DESC(F32, 3, 2, 3, 1)}},
    {.op = "log_softmax",
     .nin = 1,
     .in = {DESC(F32, 3, 2, 5, 3)},
     .nattr = 1,
     .attr = {{"axis", TUTTI_ATTR_I64, 0, 1, 0.0, NULL, NULL}},
     .low = {-4},
     .high = {4}},
    {.op = "log_softmax",
     .nin = 1,
     .in = {DESC(F32, 1, 5)},
     .nattr = 1,
     .attr = {{"axis", TUTTI_ATTR_I64, 0, 0, 0.0, NULL, NULL}}},
    {.op = "log_softmax", .nin = 1, .in = {DESC(F32, 2, 900, 77)}, .no_second = 1},
    {.op = "log_softmax",
     .nin = 1,
     .in = {DESC(F32, 2, 77, 300)},
     .nattr = 1,
     .attr = {{"axis", TUTTI_ATTR_I64, 0, 0, 0.0, NULL, NULL}},
     .no_second = 1},
    {.op = "log_softmax", .nin = 1, .in = {DESC(F32, 2, 2, 1283)}, .no_grad = 1},
    {.op = "log_softmax", .nin = 1, .in = {DESC(F32, 2, 0, 3)}},
    {.op = "log_softmax", .nin = 1, .in = {DESC(F32, 2, 3, 0)}},
};

static const op_example examples[] = {
    {.in = {DESC(F32, 2, 2, 3)},
     .data = {F32S(1, 2, 3, 1001, 1002, 1003)},
     .out = DESC(F32, 2, 2, 3),
     .want = F32S(-2.40760596f, -1.40760596f, -0.407605964f, -2.40760596f, -1.40760596f,
                  -0.407605964f),
     .attr = &(const int64_t){-1}},
    {.in = {DESC(F32, 1, 2)},
     .data = {F32S(1, NAN)},
     .out = DESC(F32, 1, 2),
     .want = F32S(NAN, NAN),
     .attr = &(const int64_t){0}},
    {.in = {DESC(F32, 2, 3, 1)},
     .data = {F32S(-10000.0f, -9999.0f, -9998.0f)},
     .out = DESC(F32, 2, 3, 1),
     .want = F32S(-2.40760596f, -1.40760596f, -0.407605964f),
     .attr = &(const int64_t){0}},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 1, 2)},
     .nin = 1,
     .attr = &(const int64_t){1},
     .status = TUTTI_E_RANGE,
     .text = "log_softmax: axis 1, want one of rank 1"},
    {.in = {DESC(F32, 0, 0)},
     .nin = 1,
     .attr = &(const int64_t){-1},
     .status = TUTTI_E_RANGE,
     .text = "log_softmax: axis -1, want one of rank 0"},
    {.in = {DESC(I32, 1, 2)},
     .nin = 1,
     .attr = &(const int64_t){0},
     .status = TUTTI_E_ARG,
     .text = "log_softmax: x is I32 (2), want F32"},
};

OP_TEST_FULL(log_softmax, 1)
