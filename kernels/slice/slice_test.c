/* slice_test.c - slice against its definition and finite differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_test.h"

static const int64_t b0[] = {0, 1}, e0[] = {4, 3}, b1[] = {0, 0, 0, 0}, e1[] = {2, 6, 5, 3},
                     s1[] = {1, 2, 2, 1};

static const op_case cases[] = {
    {.op = "slice",
     .nin = 1,
     .in = {DESC(F32, 2, 4, 3)},
     .nattr = 2,
     .attr = {{"begin", TUTTI_ATTR_LIST, 2, 0, 0.0, b0},
              {"end", TUTTI_ATTR_LIST, 2, 0, 0.0, e0}}},
    {.op = "slice",
     .nin = 1,
     .in = {DESC(F32, 4, 2, 6, 5, 3)},
     .nattr = 3,
     .attr = {{"begin", TUTTI_ATTR_LIST, 4, 0, 0.0, b1},
              {"end", TUTTI_ATTR_LIST, 4, 0, 0.0, e1},
              {"stride", TUTTI_ATTR_LIST, 4, 0, 0.0, s1}}},
};

OP_TEST_MAIN(slice)
