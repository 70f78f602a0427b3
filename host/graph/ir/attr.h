/* attr.h - from named attributes to an op's attribute struct. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_IR_ATTR_H
#define HOST_GRAPH_IR_ATTR_H

#include "tutti/op.h"

#include <stdbool.h>
#include <stdio.h>

/* Fills the op->attr_size bytes at `blob` with the defaults, then with attr[0..nattr).
 * Errors: E_ARG names the op, the attribute and all that the op has; blob is undefined then. */
TUTTI_NODISCARD tutti_status attr_decode(const tutti_op *op, const tutti_attr *attr,
                                         uint32_t nattr, void *blob, tutti_error *err);

/* Sets attribute `name` if the op has it; 0: it has not. */
int attr_raise(const tutti_op *op, void *blob, const char *name, int64_t to);
/* Whether it has an integer attribute `name`. */
bool attr_has(const tutti_op *op, const char *name);
/* Its integer attribute `name`; 0 where there is none. */
int64_t attr_get(const tutti_op *op, const void *blob, const char *name);

/* The way back: fills ret_attr[0..op->nfields); lists are borrowed from `lists`, as many. */
void attr_encode(const tutti_op *op, const void *blob, tutti_list *lists, tutti_attr *ret_attr);

/* Appends " name=value" for every attribute that is not at its default. */
void attr_dump(const tutti_op *op, const void *blob, FILE *file);

#endif
