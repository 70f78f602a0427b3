/* pass.h - tutti.pass/1: code that orders algorithms where manifest rules cannot say it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_PASS_H
#define TUTTI_PASS_H

#include "base.h"

TUTTI_C_BEGIN

#define TUTTI_PASS_V1 "tutti.pass/1"

typedef struct tutti_pass_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    /* The matched algorithms of `event` in their present order by name -> the new order, as indices
     * into `names`, each at most once (leaving one out drops it).  `order` has room for n.  The
     * result must depend on the arguments alone: the host keeps it.  [step] */
    tutti_status (*order)(void *self, int32_t event, const char *const *names, uint32_t n,
                          uint32_t *order, uint32_t *ret_count, tutti_error *err);
} tutti_pass_v1;

TUTTI_C_END
#endif
