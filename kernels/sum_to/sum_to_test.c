/* sum_to_test.c - sum_to against its definition and finite differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_test.h"

static const int64_t shape0[] = {3};
static const int64_t shape1[] = {2, 1, 4};
static const int64_t shape3[] = {1, 1};
static const int64_t shape4[] = {4, 3};
static const int64_t shape5[] = {8};
static const int64_t shape6[] = {16};

static const op_case cases[] = {
    {.op = "sum_to",
     .nin = 1,
     .in = {DESC(F32, 2, 4, 3)},
     .nattr = 1,
     .attr = {{"shape", TUTTI_ATTR_LIST, 1, 0, 0.0, shape0}}},
    {.op = "sum_to",
     .nin = 1,
     .in = {DESC(F32, 3, 2, 3, 4)},
     .nattr = 1,
     .attr = {{"shape", TUTTI_ATTR_LIST, 3, 0, 0.0, shape1}}},
    {.op = "sum_to",
     .nin = 1,
     .in = {DESC(F32, 2, 4, 3)},
     .nattr = 1,
     .attr = {{"shape", TUTTI_ATTR_LIST, 0, 0, 0.0, NULL}}},
    {.op = "sum_to",
     .nin = 1,
     .in = {DESC(F32, 3, 2, 3, 4)},
     .nattr = 1,
     .attr = {{"shape", TUTTI_ATTR_LIST, 2, 0, 0.0, shape3}}},
    {.op = "sum_to",
     .nin = 1,
     .in = {DESC(F32, 2, 4, 3)},
     .nattr = 1,
     .attr = {{"shape", TUTTI_ATTR_LIST, 2, 0, 0.0, shape4}}},
    {.op = "sum_to",
     .nin = 1,
     .in = {DESC(F32, 4, 5, 6, 7, 8)},
     .nattr = 1,
     .attr = {{"shape", TUTTI_ATTR_LIST, 1, 0, 0.0, shape5}}},
    {.op = "sum_to",
     .nin = 1,
     .in = {DESC(F32, 4, 16, 32, 32, 16)},
     .nattr = 1,
     .attr = {{"shape", TUTTI_ATTR_LIST, 1, 0, 0.0, shape6}}},
};

OP_TEST_MAIN(sum_to)
