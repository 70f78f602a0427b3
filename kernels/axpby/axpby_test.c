/* axpby_test.c - axpby against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const struct {
    double a, b;
} quarter = {0.25, -1.5};

static const op_case cases[] = {
    {.op = "axpby",
     .nin = 2,
     .in = {DESC(F32, 2, 4, 3), DESC(F32, 2, 4, 3)},
     .nattr = 2,
     .attr = {{"a", TUTTI_ATTR_F64, 0, 0, 0.25, NULL, NULL},
              {"b", TUTTI_ATTR_F64, 0, 0, -1.5, NULL, NULL}}},
    {.op = "axpby",
     .nin = 2,
     .in = {DESC(F32, 2, 3, 1), DESC(F32, 2, 1, 5)},
     .nattr = 2,
     .attr = {{"a", TUTTI_ATTR_F64, 0, 0, 0.25, NULL, NULL},
              {"b", TUTTI_ATTR_F64, 0, 0, -1.5, NULL, NULL}}},
    {.op = "axpby",
     .nin = 2,
     .in = {DESC(F32, 1, 0), DESC(F32, 1, 1)},
     .nattr = 2,
     .attr = {{"a", TUTTI_ATTR_F64, 0, 0, 0.25, NULL, NULL},
              {"b", TUTTI_ATTR_F64, 0, 0, -1.5, NULL, NULL}}},
    {.op = "axpby", .nin = 2, .in = {DESC(F32, 0, 0), DESC(F32, 0, 0)}},
    {.op = "axpby",
     .nin = 2,
     .in = {DESC(F32, 2, 300, 131), DESC(F32, 1, 131)},
     .nattr = 2,
     .attr = {{"a", TUTTI_ATTR_F64, 0, 0, 0.25, NULL, NULL},
              {"b", TUTTI_ATTR_F64, 0, 0, -1.5, NULL, NULL}}},
};

static const op_example examples[] = {
    {.in = {DESC(F32, 1, 3), DESC(F32, 0, 0)},
     .data = {F32S(1, 2, 3), F32S(10)},
     .out = DESC(F32, 1, 3),
     .want = F32S(-14.75f, -14.5f, -14.25f),
     .attr = &quarter},
};

static const op_refusal refusals[] = {
    {.in = {DESC(I32, 1, 2), DESC(F32, 1, 2)},
     .nin = 2,
     .status = TUTTI_E_ARG,
     .text = "axpby: a is I32 (2), want F32"},
    {.in = {DESC(F32, 1, 2), DESC(F32, 1, 3)},
     .nin = 2,
     .status = TUTTI_E_SHAPE,
     .text = "axpby: a is F32 (2) and b is F32 (3), which do not broadcast"},
};

OP_TEST_FULL(axpby, 2)
