/* duration.h - the grammar of training time. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_BASE_DURATION_H
#define HOST_BASE_DURATION_H

#include "tutti/time.h"

/* Reads "10ep", "3e10sp", "0.5dur", "1h20m40s": Composer's grammar, of which bare numbers, the empty
 * string, a part of a wall-clock text without its letter, NaN and infinities are refused.  [any]
 * Errors: E_ARG "1.5ep is not a whole number of epochs"; E_FORMAT for anything else. */
TUTTI_NODISCARD tutti_status duration_parse(const char *text, tutti_time *ret_time,
                                            tutti_error *err);

/* "10ep", "0.5dur"; "none" when the unit is NONE.  Returns `text`. */
const char *duration_text(tutti_time t, char *text, size_t size);

/* "ep"; NULL for NONE and what is no unit. */
const char *duration_unit(int32_t unit);

#endif
