/* broadcast_to_test.c - broadcast_to against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"

static const op_case cases[] = {
    {.op = "broadcast_to",
     .nin = 1,
     .in = {DESC(F32, 1, 3)},
     .nattr = 1,
     .attr = {LIST("shape", 4, 3)}},
    {.op = "broadcast_to",
     .nin = 1,
     .in = {DESC(F32, 3, 2, 1, 4)},
     .nattr = 1,
     .attr = {LIST("shape", 2, 3, 4)}},
    {.op = "broadcast_to",
     .nin = 1,
     .in = {DESC(F32, 0, 0)},
     .nattr = 1,
     .attr = {LIST("shape", 5, 2)}},
    {.op = "broadcast_to",
     .nin = 1,
     .in = {DESC(F32, 2, 4, 3)},
     .nattr = 1,
     .attr = {LIST("shape", 4, 3)}},
    {.op = "broadcast_to",
     .nin = 1,
     .in = {DESC(F32, 2, 4, 1)},
     .nattr = 1,
     .attr = {LIST("shape", 0, 4, 3)}},
    {.op = "broadcast_to",
     .nin = 1,
     .in = {DESC(I32, 2, 4, 1)},
     .nattr = 1,
     .attr = {LIST("shape", 4, 30)},
     .high = {9}},
    {.op = "broadcast_to",
     .nin = 1,
     .in = {DESC(F32, 2, 300, 1)},
     .nattr = 1,
     .attr = {LIST("shape", 300, 170)},
     .no_second = 1},
    {.op = "broadcast_to",
     .nin = 1,
     .in = {DESC(F32, 1, 170)},
     .nattr = 1,
     .attr = {LIST("shape", 300, 170)},
     .no_second = 1},
};

static const op_example examples[] = {
    {.in = {DESC(U8, 2, 2, 1)},
     .data = {U8S(1, 2)},
     .out = DESC(U8, 2, 2, 2),
     .want = U8S(1, 1, 2, 2),
     .attr = &(const tutti_list){2, {2, 2}}},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 2, 2, 3)},
     .nin = 1,
     .attr = &(const tutti_list){2, {3, 3}},
     .status = TUTTI_E_SHAPE,
     .text = "broadcast_to: x is F32 (2, 3), which does not broadcast to F32 (3, 3)"},
    {.in = {DESC(F32, 2, 2, 3)},
     .nin = 1,
     .attr = &(const tutti_list){1, {3}},
     .status = TUTTI_E_SHAPE,
     .text = "broadcast_to: x is F32 (2, 3), which does not broadcast to F32 (3)"},
};

OP_TEST_FULL(broadcast_to, 1)
