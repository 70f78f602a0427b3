/* docs.h - texts that the program makes of its tables: man pages and what a shell completes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CLI_DOCS_DOCS_H
#define HOST_CLI_DOCS_DOCS_H

#include "cli/options.h"

/* docs man [COMMAND]: the page tutti(1), or tutti-COMMAND(1). */
cli_function docs_man;
/* docs format SCHEMA.json [NAME]: the page NAME(5) of the JSON files that the schema describes. */
cli_function docs_format;
/* docs complete -- WORD...: what the last word may become, one a line with a tab and a sentence; a line
 * ":file" or ":folder": names of files too. */
cli_function docs_complete;

/* ---- roff, with the macros of man(7), on stdout ---- */

/* The first line of a page, and its section NAME. */
void roff_title(const char *name, int section, const char *what);
void roff_section(const char *name);
/* A paragraph with a hanging name in bold, then `value` in italics, or NULL; roff_text goes on.  No space
 * follows a name that ends with =. */
void roff_item(const char *name, const char *value);
/* Text with `this` in bold; a line feed begins a paragraph. */
void roff_text(const char *text);
/* Lines as they are. */
void roff_lines(const char *text);

#endif
