/* op_slots.h - operations with statistics of the batch: over all of its slots in place of one. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_INTERNAL_OP_SLOTS_H
#define TUTTI_INTERNAL_OP_SLOTS_H

#include "tutti/op_traits.h"

/* A slot is a microbatch of a batch that several processes share.  Where a run wants statistics of the whole batch the host
 * runs a batch's slots side by side, and replaces every operation whose fusions (op_traits.h) have both entries
 * below.  The numbers are none of those that op_traits.h may come to have. */

/* A role: result 0 is operand 0, F64, which the host then replaces by the sum over all slots; alone it is operand 0. */
enum { TUTTI_ROLE_SLOT_SUM = 1024 };

enum {
    /* `into` gives totals of operand 0, F64: what slots add up. */
    TUTTI_FUSE_SLOT_TOTALS = 1024,
    /* `into` gives all results from the totals of all slots.  It takes the operands that this operation always has,
     * then the totals, then the others.  Its gradient by operand 0 has what comes through the totals. */
    TUTTI_FUSE_ACROSS_SLOTS
};

#endif
