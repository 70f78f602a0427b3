/* op_table_level.h - builds for one level of instruction sets alone: what the generated op_table.c asks of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_OP_TABLE_LEVEL_H
#define KERNELS_OP_TABLE_LEVEL_H

#include "tutti/tutti.h"

/* Where `only`, a level of tutti/isa.h or -1, is below this CPU's: sets TUTTI_ISA to it, so that all that asks for the level in
 * use, plugins as well, hears of the one whose kernels run.  Before anything asks. */
void op_table_pin(int32_t only);

/* E_UNSUPPORTED where `level`, the one in use, is not `only`: kernels for no level at all would run, and with other bits than
 * that level has elsewhere. */
tutti_status op_table_fits(int32_t only, int32_t level, tutti_error *err);

#endif
