/* text.h - lines of comments and of base64; for the sources of this folder. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_SIGNATURE_TEXT_H
#define HOST_SIGNATURE_TEXT_H

#include "tutti/base.h"

#include <stdbool.h>
#include <stddef.h>

/* The line at *at into `to` without its end, *at behind it; false: there is none, or it has no room. */
bool text_line(const char **at, char *to, size_t size);
/* A line of base64 that gives exactly `size` bytes. */
bool text_base64(const char **at, void *to, size_t size);
/* "untrusted comment: <comment>" and a line of base64; the caller frees it.  NULL: no memory. */
char *text_signed(const char *comment, const void *bytes, size_t size);
/* The same with two lines behind it: "trusted comment: <trusted>" and 64 bytes. */
char *text_trusted(const char *comment, const void *bytes, size_t size, const char *trusted,
                   const void *global);

#define UNTRUSTED "untrusted comment: "
#define TRUSTED "trusted comment: "

#endif
