/* op_table.h - the table of all operations, generated from the folders beside this file. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_OP_TABLE_H
#define KERNELS_OP_TABLE_H

#include "tutti/op.h"

extern const tutti_op *const tutti_op_table[]; /* NULL-terminated, sorted by name */

#endif
