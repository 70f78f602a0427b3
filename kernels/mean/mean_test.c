/* mean_test.c - mean against its definition and finite differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_test.h"

static const int64_t axes1[] = {1};
static const int64_t axes2[] = {1, 2};
static const int64_t axes3[] = {0, 2};
static const int64_t axes4[] = {0, 1};
static const int64_t axes5[] = {-1};
static const int64_t axes6[] = {0};
static const int64_t axes7[] = {1};
static const int64_t axes9[] = {1};
static const int64_t axes10[] = {0};

static const op_case cases[] = {
    {.op = "mean", .nin = 1, .in = {DESC(F32, 2, 4, 3)}},
    {.op = "mean",
     .nin = 1,
     .in = {DESC(F32, 3, 2, 3, 4)},
     .nattr = 2,
     .attr = {{"axes", TUTTI_ATTR_LIST, 1, 0, 0.0, axes1},
              {"keepdim", TUTTI_ATTR_I64, 0, 0, 0.0, NULL}}},
    {.op = "mean",
     .nin = 1,
     .in = {DESC(F32, 4, 2, 3, 4, 5)},
     .nattr = 2,
     .attr = {{"axes", TUTTI_ATTR_LIST, 2, 0, 0.0, axes2},
              {"keepdim", TUTTI_ATTR_I64, 0, 1, 0.0, NULL}}},
    {.op = "mean",
     .nin = 1,
     .in = {DESC(F32, 4, 2, 3, 4, 5)},
     .nattr = 2,
     .attr = {{"axes", TUTTI_ATTR_LIST, 2, 0, 0.0, axes3},
              {"keepdim", TUTTI_ATTR_I64, 0, 0, 0.0, NULL}}},
    {.op = "mean",
     .nin = 1,
     .in = {DESC(F32, 3, 2, 3, 4)},
     .nattr = 2,
     .attr = {{"axes", TUTTI_ATTR_LIST, 2, 0, 0.0, axes4},
              {"keepdim", TUTTI_ATTR_I64, 0, 0, 0.0, NULL}}},
    {.op = "mean",
     .nin = 1,
     .in = {DESC(F32, 2, 3, 4)},
     .nattr = 2,
     .attr = {{"axes", TUTTI_ATTR_LIST, 1, 0, 0.0, axes5},
              {"keepdim", TUTTI_ATTR_I64, 0, 1, 0.0, NULL}}},
    {.op = "mean",
     .nin = 1,
     .in = {DESC(F32, 2, 3000, 17)},
     .nattr = 2,
     .attr = {{"axes", TUTTI_ATTR_LIST, 1, 0, 0.0, axes6},
              {"keepdim", TUTTI_ATTR_I64, 0, 0, 0.0, NULL}}},
    {.op = "mean",
     .nin = 1,
     .in = {DESC(F32, 2, 40, 1700)},
     .nattr = 2,
     .attr = {{"axes", TUTTI_ATTR_LIST, 1, 0, 0.0, axes7},
              {"keepdim", TUTTI_ATTR_I64, 0, 0, 0.0, NULL}}},
    {.op = "mean", .nin = 1, .in = {DESC(F32, 0)}},
    {.op = "mean",
     .nin = 1,
     .in = {DESC(F32, 3, 64, 50, 20)},
     .nattr = 2,
     .attr = {{"axes", TUTTI_ATTR_LIST, 1, 0, 0.0, axes9},
              {"keepdim", TUTTI_ATTR_I64, 0, 0, 0.0, NULL}}},
    {.op = "mean",
     .nin = 1,
     .in = {DESC(F32, 2, 4, 1)},
     .nattr = 2,
     .attr = {{"axes", TUTTI_ATTR_LIST, 1, 0, 0.0, axes10},
              {"keepdim", TUTTI_ATTR_I64, 0, 0, 0.0, NULL}}},
};

OP_TEST_MAIN(mean)
