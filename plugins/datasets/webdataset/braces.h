/* braces.h - one text that stands for many, as in a shell. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_WEBDATASET_BRACES_H
#define PLUGIN_WEBDATASET_BRACES_H

#include "tutti/base.h"

enum { BRACES_MAX = 1 << 20 }; /* texts at most */

typedef struct braces {
    char **texts;
    uint32_t count;
    uint32_t reserved;
} braces;

/* "a{1..3}{x,y}" gives a1x a1y a2x ...: lists, and whole numbers from one to another, either way,
 * padded with zeros to the longer one if one begins with a zero.  Braces may hold braces; a pair that
 * is neither stays as it is.  `b` is for braces_free even after an error.
 * Errors: E_RANGE more than BRACES_MAX texts; E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status braces_expand(braces *b, const char *text, tutti_error *err);
void braces_free(braces *b);

#endif
