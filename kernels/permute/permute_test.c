/* permute_test.c - permute against its definition and finite differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_test.h"

static const int64_t swap[] = {1, 0}, turn[] = {2, 0, 1}, nchw[] = {0, 3, 1, 2};

static const op_case cases[] = {
    {.op = "permute",
     .nin = 1,
     .in = {DESC(F32, 2, 4, 3)},
     .nattr = 1,
     .attr = {{"order", TUTTI_ATTR_LIST, 2, 0, 0.0, swap}}},
    {.op = "permute",
     .nin = 1,
     .in = {DESC(F32, 3, 2, 3, 4)},
     .nattr = 1,
     .attr = {{"order", TUTTI_ATTR_LIST, 3, 0, 0.0, turn}}},
    {.op = "permute",
     .nin = 1,
     .in = {DESC(F32, 4, 2, 5, 4, 3)},
     .nattr = 1,
     .attr = {{"order", TUTTI_ATTR_LIST, 4, 0, 0.0, nchw}}},
    {.op = "permute",
     .nin = 1,
     .in = {DESC(F32, 2, 0, 3)},
     .nattr = 1,
     .attr = {{"order", TUTTI_ATTR_LIST, 2, 0, 0.0, swap}}},
};

OP_TEST_MAIN(permute)
