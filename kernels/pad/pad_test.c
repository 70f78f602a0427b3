/* pad_test.c - pad against its definition and finite differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_test.h"

static const int64_t before[] = {0, 1}, after[] = {2, 3}, none[] = {0, 0, 0, 0},
                     last[] = {0, 0, 0, 4};

static const op_case cases[] = {
    {.op = "pad",
     .nin = 1,
     .in = {DESC(F32, 2, 4, 3)},
     .nattr = 3,
     .attr = {{"before", TUTTI_ATTR_LIST, 2, 0, 0.0, before},
              {"after", TUTTI_ATTR_LIST, 2, 0, 0.0, after},
              {"value", TUTTI_ATTR_F64, 0, 0, 0.5, NULL}}},
    {.op = "pad",
     .nin = 1,
     .in = {DESC(F32, 4, 2, 3, 3, 4)},
     .nattr = 2,
     .attr = {{"before", TUTTI_ATTR_LIST, 4, 0, 0.0, none},
              {"after", TUTTI_ATTR_LIST, 4, 0, 0.0, last}}},
    {.op = "pad",
     .nin = 1,
     .in = {DESC(F32, 2, 0, 3)},
     .nattr = 2,
     .attr = {{"before", TUTTI_ATTR_LIST, 2, 0, 0.0, before},
              {"after", TUTTI_ATTR_LIST, 2, 0, 0.0, after}}},
};

OP_TEST_MAIN(pad)
