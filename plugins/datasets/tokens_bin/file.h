/* file.h - one token file of llm.c, mapped into memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOKENS_BIN_FILE_H
#define TOKENS_BIN_FILE_H

#include "../common/mapped_file.h"

/* A zeroed one is closed. */
typedef struct token_file {
    char *path;
    mapped_file map;
    const void *tokens; /* in the map */
    int64_t count;      /* of tokens */
    int64_t vocabulary; /* of the model that the format is for */
    int32_t wide;       /* tokens are u32, else u16 */
    int32_t reserved;
} token_file;

/* The map lives until token_file_close.  Errors: E_IO, E_FORMAT, E_VERSION, E_NOMEM. */
TUTTI_NODISCARD tutti_status token_file_open(token_file *f, const char *path, tutti_error *err);
void token_file_close(token_file *f);

#endif
