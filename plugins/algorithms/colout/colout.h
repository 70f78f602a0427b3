/* colout.h - keeping some rows and columns of images. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_COLOUT_H
#define PLUGIN_COLOUT_H

#include "../shuffle.h"
#include "tutti/tutti.h"

/* Which of `size` rows (or columns) stay, ascending. */
typedef struct kept {
    const uint32_t *index;
    uint32_t count;
    uint32_t size;
} kept;

enum { RESIZE_AUTO, RESIZE_TRUE, RESIZE_FALSE }; /* as the manifest's values */

/* Whole part of (1 - p) * size. */
int64_t kept_count(int64_t size, double p);
/* Draws which ones stay; kept_fini frees them. */
tutti_status kept_draw(kept *k, tutti_stream *r, int64_t size, double p, tutti_error *err);
void kept_fini(kept *k);
/* Draws `count` of `size` into `index`, which has room for all. */
kept kept_among(tutti_stream *r, uint32_t *index, int64_t size, int64_t count);
/* The kept pixels of one image (rows->size, columns->size) of `pixel` bytes each. */
void kept_copy(const kept *rows, const kept *columns, const char *from, char *to,
               uint64_t pixel);

extern const tutti_object colout_transform_object;

#endif
