/* rope_test.c - rope against its definition, differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

#define INVERSE                                                                                \
    {                                                                                          \
        .name = "inverse", .type = TUTTI_ATTR_I64, .i = 1                                      \
    }
#define TABLE(t, half) DESC(F32, 2, t, half), DESC(F32, 2, t, half)

static const op_case cases[] = {
    {.op = "rope", .nin = 3, .in = {DESC(F32, 4, 2, 3, 4, 6), TABLE(4, 3)}},
    {.op = "rope",
     .nin = 3,
     .in = {DESC(F32, 3, 2, 3, 4), TABLE(3, 2)},
     .nattr = 1,
     .attr = {INVERSE}},
    {.op = "rope", .nin = 3, .in = {DESC(F32, 2, 3, 2), TABLE(3, 1)}},
    {.op = "rope", .nin = 3, .in = {DESC(F32, 4, 2, 0, 4, 6), TABLE(4, 3)}},
    {.op = "rope", .nin = 3, .in = {DESC(F32, 4, 3, 4, 70, 38), TABLE(70, 19)}, .no_grad = 7},
    {.op = "rope",
     .nin = 3,
     .in = {DESC(F32, 4, 2, 5, 67, 64), TABLE(67, 32)},
     .nattr = 1,
     .attr = {INVERSE},
     .no_grad = 7},
};

/* A quarter turn takes (a, b) to (-b, a); the first position is left alone. */
static const op_example examples[] = {
    {.in = {DESC(F32, 2, 2, 4), TABLE(2, 2)},
     .data = {F32S(1, 2, 3, 4, 5, 6, 7, 8), F32S(1, 1, 0, 1), F32S(0, 0, 1, 0)},
     .out = DESC(F32, 2, 2, 4),
     .want = F32S(1, 2, 3, 4, -7, 6, 5, 8),
     .attr = &(const int64_t){0}},
    {.in = {DESC(F32, 2, 2, 4), TABLE(2, 2)},
     .data = {F32S(1, 2, 3, 4, -7, 6, 5, 8), F32S(1, 1, 0, 1), F32S(0, 0, 1, 0)},
     .out = DESC(F32, 2, 2, 4),
     .want = F32S(1, 2, 3, 4, 5, 6, 7, 8),
     .attr = &(const int64_t){1}},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 1, 4), TABLE(1, 2)},
     .nin = 3,
     .attr = &(const int64_t){0},
     .status = TUTTI_E_SHAPE,
     .text = "rope: x is F32 (4), want (..., T, D) with D even"},
    {.in = {DESC(F32, 2, 2, 3), TABLE(2, 1)},
     .nin = 3,
     .attr = &(const int64_t){0},
     .status = TUTTI_E_SHAPE,
     .text = "rope: x is F32 (2, 3), want (..., T, D) with D even"},
    {.in = {DESC(F32, 2, 2, 4), DESC(F32, 2, 2, 2), DESC(F32, 2, 3, 2)},
     .nin = 3,
     .attr = &(const int64_t){0},
     .status = TUTTI_E_SHAPE,
     .text = "rope: sin is F32 (3, 2), want F32 (2, 2)"},
    {.in = {DESC(F32, 2, 2, 4), DESC(I32, 2, 2, 2), DESC(F32, 2, 2, 2)},
     .nin = 3,
     .attr = &(const int64_t){0},
     .status = TUTTI_E_ARG,
     .text = "rope: cos is I32 (2, 2), want F32"},
};

OP_TEST_FULL(rope, 3)
