/* blocks.h - a row of tokens as samples: blocks of T tokens and the tokens that follow them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_DATASETS_BLOCKS_H
#define PLUGIN_DATASETS_BLOCKS_H

#include "tutti/dataset.h"

#include <string.h>

/* Sample k has input t[kS] .. t[kS + T - 1] and target t[kS + 1] .. t[kS + T], both (T) i32. */
typedef struct blocks {
    const char *file;   /* named in errors */
    const void *tokens; /* of the chosen split */
    int64_t count;      /* of tokens */
    int64_t length;     /* T */
    int64_t stride;     /* S */
    int64_t classes;    /* size of the vocabulary */
    int32_t wide;       /* tokens are u32, else u16 */
    int32_t reserved;
} blocks;

static inline uint32_t blocks_token(const blocks *b, int64_t k)
{
    return b->wide ? ((const uint32_t *)b->tokens)[k] : ((const uint16_t *)b->tokens)[k];
}

static inline int64_t blocks_samples(const blocks *b)
{
    return b->count <= b->length ? 0 : (b->count - 1 - b->length) / b->stride + 1;
}

/* Keeps all, or the first 1 - part ("train") or the last part ("validation") of the tokens. */
static inline tutti_status blocks_split(blocks *b, const char *split, double part,
                                        tutti_error *err)
{
    const int64_t head = b->count - (int64_t)((double)b->count * part);
    if (strcmp(split, "train") == 0) {
        b->count = head;
    } else if (strcmp(split, "validation") == 0) {
        b->tokens = (const char *)b->tokens + (uint64_t)head * (b->wide ? 4 : 2);
        b->count -= head;
    }
    if (blocks_samples(b) == 0)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: %lld tokens in split %s, want at least %lld for one block",
                          b->file, (long long)b->count, split, (long long)b->length + 1);
    return TUTTI_OK;
}

static inline void blocks_info(const blocks *b, tutti_dataset_info *ret)
{
    static const char *const names[] = {"input", "target"};
    ret->samples = blocks_samples(b);
    ret->ncolumns = 2;
    memset(ret->columns, 0, sizeof ret->columns);
    for (int k = 0; k < 2; k++) {
        memcpy(ret->columns[k].name, names[k], strlen(names[k]));
        ret->columns[k].desc = (tutti_desc){{b->length}, 1, TUTTI_I32};
        ret->columns[k].classes = b->classes;
    }
}

static inline tutti_status blocks_read(const blocks *b, int64_t index, tutti_tensor *columns,
                                       const uint64_t *capacity, uint32_t ncolumns,
                                       tutti_error *err)
{
    const int64_t samples = blocks_samples(b);
    if (index < 0 || index >= samples || ncolumns != 2)
        return tutti_fail(err, TUTTI_E_RANGE, "%s: sample %lld, there are %lld", b->file,
                          (long long)index, (long long)samples);
    for (uint32_t k = 0; k < 2; k++) {
        columns[k].desc = (tutti_desc){{b->length}, 1, TUTTI_I32};
        if (capacity[k] < tutti_nbytes(&columns[k].desc))
            return tutti_fail(err, TUTTI_E_RANGE,
                              "%s: sample %lld does not fit into %llu bytes", b->file,
                              (long long)index, (unsigned long long)capacity[k]);
        int32_t *to = columns[k].data;
        for (int64_t t = 0; t < b->length; t++) {
            const int64_t at = index * b->stride + t + k;
            const uint32_t token = blocks_token(b, at);
            if (token >= b->classes)
                return tutti_fail(err, TUTTI_E_RANGE, "%s: token %lld is %u, want 0 to %lld",
                                  b->file, (long long)at, token, (long long)b->classes - 1);
            to[t] = (int32_t)token;
        }
    }
    return TUTTI_OK;
}

#endif
