/* begun.h - what a conversion was begun from, for a second try. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CLI_DATA_BEGUN_H
#define HOST_CLI_DATA_BEGUN_H

#include "cli/data/convert.h"

/* Writes a file that is there whole or not at all.  Errors: E_IO. */
TUTTI_NODISCARD tutti_status begun_write(const char *path, const text_buffer *b,
                                         tutti_error *err);

/* Adds `{"from": ..., "settings": [...], "samples": N`: what decides samples, with size and time of the file or folder. */
void begun_describe(text_buffer *b, const data_set *d, const convert_options *o);

/* Compares the text with that of the file `plan`; *ret_goes_on: there is such a file.  Errors: E_STATE it says something else:
 * the sentence asks to remove `what` or to name another `kind`; E_NOMEM. */
TUTTI_NODISCARD tutti_status begun_compare(const char *plan, const text_buffer *b,
                                           const char *what, const char *kind,
                                           bool *ret_goes_on, tutti_error *err);

#endif
