/* broadcast_to_test.c - broadcast_to against its definition and finite differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_test.h"

static const int64_t shape0[] = {4, 3};
static const int64_t shape1[] = {2, 3, 4};
static const int64_t shape2[] = {5, 2};
static const int64_t shape3[] = {4, 3};
static const int64_t shape4[] = {0, 4, 3};

static const op_case cases[] = {
    {.op = "broadcast_to",
     .nin = 1,
     .in = {DESC(F32, 1, 3)},
     .nattr = 1,
     .attr = {{"shape", TUTTI_ATTR_LIST, 2, 0, 0.0, shape0}}},
    {.op = "broadcast_to",
     .nin = 1,
     .in = {DESC(F32, 3, 2, 1, 4)},
     .nattr = 1,
     .attr = {{"shape", TUTTI_ATTR_LIST, 3, 0, 0.0, shape1}}},
    {.op = "broadcast_to",
     .nin = 1,
     .in = {DESC(F32, 0)},
     .nattr = 1,
     .attr = {{"shape", TUTTI_ATTR_LIST, 2, 0, 0.0, shape2}}},
    {.op = "broadcast_to",
     .nin = 1,
     .in = {DESC(F32, 2, 4, 3)},
     .nattr = 1,
     .attr = {{"shape", TUTTI_ATTR_LIST, 2, 0, 0.0, shape3}}},
    {.op = "broadcast_to",
     .nin = 1,
     .in = {DESC(F32, 2, 4, 1)},
     .nattr = 1,
     .attr = {{"shape", TUTTI_ATTR_LIST, 3, 0, 0.0, shape4}}},
};

OP_TEST_MAIN(broadcast_to)
