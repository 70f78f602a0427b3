/* op_table.h - the table of all operations, generated from the folders beside this file. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_OP_TABLE_H
#define KERNELS_OP_TABLE_H

#include "tutti/op.h"

/* NULL-terminated, sorted by name; the variants for this CPU.  Filled before main. */
extern const tutti_op *tutti_op_table[];

/* The level of tutti/isa.h whose variants alone were built (TUTTI_ISA_ONLY of CMake), -1 where all were.  A CPU above it is
 * taken for one of that level. */
extern const int32_t tutti_op_table_only;

/* E_UNSUPPORTED where that is not the level in use: a lower CPU, or the environment's TUTTI_ISA.  Any thread. */
tutti_status tutti_op_table_check(tutti_error *err);

/* Fills the table with the variants of a level that this CPU has, for tests: before other threads run. */
void tutti_op_table_fill(int32_t level);

#endif
