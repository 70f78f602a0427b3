/* dropout_test.c - dropout against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

typedef struct dropout_attr {
    double p;
    int64_t stream;
} dropout_attr;

static const op_case cases[] = {
    {.op = "dropout",
     .nin = 1,
     .in = {DESC(F32, 1, 700)},
     .nattr = 2,
     .attr = {{"p", TUTTI_ATTR_F64, 0, 0, 0.3, NULL, NULL},
              {"stream", TUTTI_ATTR_I64, 0, 5, 0.0, NULL, NULL}}},
    {.op = "dropout", .nin = 1, .in = {DESC(F32, 3, 3, 1, 3)}},
    {.op = "dropout", .nin = 1, .in = {DESC(F32, 2, 0, 4)}},
    {.op = "dropout",
     .nin = 1,
     .in = {DESC(F32, 0, 0)},
     .nattr = 1,
     .attr = {{"p", TUTTI_ATTR_F64, 0, 0, 0, NULL, NULL}}},
    {.op = "dropout",
     .nin = 1,
     .in = {DESC(F32, 2, 300, 133)},
     .nattr = 1,
     .attr = {{"p", TUTTI_ATTR_F64, 0, 0, 0.9, NULL, NULL}},
     .no_second = 1},
};

static const op_example examples[] = {
    {.in = {DESC(F32, 1, 3)},
     .data = {F32S(1, 2, 3)},
     .out = DESC(F32, 1, 3),
     .want = F32S(1, 2, 3),
     .attr = &(const dropout_attr){0.0, 0}},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 1, 3)},
     .nin = 1,
     .attr = &(const dropout_attr){1.0, 0},
     .status = TUTTI_E_RANGE,
     .text = "dropout: p is 1, want 0 to below 1"},
    {.in = {DESC(F32, 1, 3)},
     .nin = 1,
     .attr = &(const dropout_attr){NAN, 0},
     .status = TUTTI_E_RANGE,
     .text = "dropout: p is nan, want 0 to below 1"},
    {.in = {DESC(I32, 1, 3)},
     .nin = 1,
     .attr = &(const dropout_attr){0.5, 0},
     .status = TUTTI_E_ARG,
     .text = "dropout: x is I32 (3), want F32"},
};

OP_TEST_FULL(dropout, 1)
