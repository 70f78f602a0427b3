/* rank_code.h - that all ranks of a run have the same code: the program, and each plugin in use. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RANKS_RANK_CODE_H
#define HOST_TRAIN_RANKS_RANK_CODE_H

#include "plugin/registry.h"

/* What this rank runs, a line a file of each plugin that is loaded; the caller frees *ret_text.  Errors: E_NOMEM; those of
 * registry_sha256.  [control] */
TUTTI_NODISCARD tutti_status rank_code_text(const registry *r, char **ret_text,
                                            tutti_error *err);
/* Both are texts of rank_code_text, which are cut up.  A plugin with loggers may be in use on rank 0 alone.  Errors: E_ARG
 * names the first plugin that differs from rank 0's, and the difference; E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status rank_code_compare(char *mine, char *first, tutti_error *err);
/* Version and hash of the program, or of the library that this code is in.  [control] */
void rank_code_program(char *text, size_t size);

#endif
