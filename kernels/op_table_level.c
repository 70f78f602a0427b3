/* op_table_level.c - builds for one level of instruction sets alone: the level is pinned, and others are refused. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "op_table_level.h"
#include "tutti/isa.h"

#include <stdlib.h>

void op_table_pin(int32_t only)
{
    if (only >= 0 && only < tutti_isa_cpu() && !getenv("TUTTI_ISA"))
        (void)setenv("TUTTI_ISA", tutti_isa_name(only), 1);
}

tutti_status op_table_fits(int32_t only, int32_t level, tutti_error *err)
{
    if (only < 0 || only == level)
        return TUTTI_OK;
    return tutti_fail(
        err, TUTTI_E_UNSUPPORTED,
        "kernels were built for the instruction set %s alone, and this is %s, by the processor "
        "or by TUTTI_ISA; build again with TUTTI_ISA_ONLY empty (all levels), or native here",
        tutti_isa_name(only), tutti_isa_name(level));
}
