/* cache_write_test.c - cache_write against its definition and numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    {.op = "cache_write",
     .nin = 3,
     .in = {DESC(F32, 3, 2, 8, 3), DESC(F32, 3, 2, 3, 3), DESC(I32, 1, 3)},
     .low = {-1, -1, 0},
     .high = {1, 1, 6},
     .no_grad = 7},
    {.op = "cache_write",
     .nin = 3,
     .in = {DESC(F32, 4, 1, 5, 2, 3), DESC(F32, 4, 1, 1, 2, 3), DESC(I64, 0, 0)},
     .low = {-1, -1, 0},
     .high = {1, 1, 5},
     .no_grad = 7},
    {.op = "cache_write",
     .nin = 3,
     .in = {DESC(F32, 2, 3, 4), DESC(F32, 2, 3, 4), DESC(I32, 1, 1)},
     .low = {-1, -1, 0},
     .high = {1, 1, 1},
     .no_grad = 7},
    {.op = "cache_write",
     .nin = 3,
     .in = {DESC(F32, 3, 0, 4, 2), DESC(F32, 3, 0, 2, 2), DESC(I32, 1, 2)},
     .low = {-1, -1, 0},
     .high = {1, 1, 2},
     .no_grad = 7},
    {.op = "cache_write",
     .nin = 3,
     .in = {DESC(F32, 3, 1, 300, 150), DESC(F32, 3, 1, 100, 150), DESC(I32, 1, 100)},
     .low = {-1, -1, 0},
     .high = {1, 1, 201},
     .no_grad = 7},
};

static const op_example examples[] = {
    {.in = {DESC(F32, 3, 1, 4, 2), DESC(F32, 3, 1, 2, 2), DESC(I32, 1, 2)},
     .data = {F32S(1, 2, 3, 4, 5, 6, 7, 8), F32S(-1, -2, -3, -4), I32S(1, 2)},
     .out = DESC(F32, 3, 1, 4, 2),
     .want = F32S(1, 2, -1, -2, -3, -4, 7, 8)},
    {.in = {DESC(F32, 2, 2, 2), DESC(F32, 2, 2, 1), DESC(I64, 0, 0)},
     .data = {F32S(1, 2, 3, 4), F32S(-1, -2), I64S(1)},
     .out = DESC(F32, 2, 2, 2),
     .want = F32S(1, -1, 3, -2)},
    {.in = {DESC(F32, 2, 1, 3), DESC(F32, 2, 1, 2), DESC(I32, 1, 1)},
     .data = {F32S(1, 2, 3), F32S(-1, -2), I32S(2)},
     .out = DESC(F32, 2, 1, 3),
     .status = TUTTI_E_RANGE},
    {.in = {DESC(F32, 2, 1, 3), DESC(F32, 2, 1, 2), DESC(I32, 1, 1)},
     .data = {F32S(1, 2, 3), F32S(-1, -2), I32S(-1)},
     .out = DESC(F32, 2, 1, 3),
     .status = TUTTI_E_RANGE},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 3, 1, 4, 2), DESC(F32, 3, 1, 5, 2), DESC(I32, 1, 1)},
     .nin = 3,
     .status = TUTTI_E_SHAPE,
     .text =
         "cache_write: the cache is F32 (1, 4, 2) and rows are F32 (1, 5, 2), want (B, N, ...) "
         "and (B, T, ...) with T at most N"},
    {.in = {DESC(F32, 3, 1, 4, 2), DESC(F32, 3, 1, 2, 3), DESC(I32, 1, 1)},
     .nin = 3,
     .status = TUTTI_E_SHAPE,
     .text =
         "cache_write: the cache is F32 (1, 4, 2) and rows are F32 (1, 2, 3), want (B, N, ...) "
         "and (B, T, ...) with T at most N"},
    {.in = {DESC(F32, 2, 1, 4), DESC(F32, 2, 1, 2), DESC(F32, 1, 1)},
     .nin = 3,
     .status = TUTTI_E_ARG,
     .text = "cache_write: position is F32 (1), want I32 or I64"},
    {.in = {DESC(F32, 2, 1, 4), DESC(F32, 2, 1, 2), DESC(I32, 1, 0)},
     .nin = 3,
     .status = TUTTI_E_SHAPE,
     .text = "cache_write: position is I32 (0), want a number"},
};

OP_TEST_FULL(cache_write, 3)
