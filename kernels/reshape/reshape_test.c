/* reshape_test.c - reshape against its definition and finite differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_test.h"

static const int64_t shape0[] = {12};
static const int64_t shape1[] = {6, -1};

static const op_case cases[] = {
    {.op = "reshape",
     .nin = 1,
     .in = {DESC(F32, 2, 4, 3)},
     .nattr = 1,
     .attr = {{"shape", TUTTI_ATTR_LIST, 1, 0, 0.0, shape0}}},
    {.op = "reshape",
     .nin = 1,
     .in = {DESC(F32, 3, 2, 3, 4)},
     .nattr = 1,
     .attr = {{"shape", TUTTI_ATTR_LIST, 2, 0, 0.0, shape1}}},
    {.op = "reshape",
     .nin = 1,
     .in = {DESC(F32, 1, 1)},
     .nattr = 1,
     .attr = {{"shape", TUTTI_ATTR_LIST, 0, 0, 0.0, NULL}}},
};

OP_TEST_MAIN(reshape)
