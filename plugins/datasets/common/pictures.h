/* pictures.h - a column of images of one number of channels and of one size or of many. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_DATASETS_PICTURES_H
#define PLUGIN_DATASETS_PICTURES_H

#include "image.h"

#include "tutti/params.h"

enum { PICTURES_PROBES = 16 }; /* images whose size a dataset should look at while it opens */

typedef struct pictures {
    image_pool *pool;
    tutti_desc desc; /* u8 (H, W, C); -1 for a side in which images differ; rank 0: none seen */
    int64_t channels;
    int32_t vary;    /* sides are open whatever the first images say */
    int32_t shrinks; /* JPEGs may come smaller than they are */
} pictures;

/* Reads the settings `channels` (rgb, grey), `sizes` (probe, vary) and `shrink`.  `p` is for pictures_close even
 * after an error. */
TUTTI_NODISCARD tutti_status pictures_open(pictures *p, const tutti_params *params,
                                           tutti_error *err);
void pictures_close(pictures *p);

/* Takes an encoded image into account for `desc`.  Errors: the cause in `why`.  [control] */
TUTTI_NODISCARD tutti_status pictures_probe(pictures *p, const void *data, uint64_t size,
                                            char why[IMAGE_WHY_SIZE]);

/* Decodes an image into to->data, of `capacity` bytes, and sets to->desc.  Errors: the cause in `why`,
 * E_SHAPE if it is of another size than those probed.  [any] */
TUTTI_NODISCARD tutti_status pictures_read(const pictures *p, const void *data, uint64_t size,
                                           tutti_tensor *to, uint64_t capacity,
                                           char why[IMAGE_WHY_SIZE]);

/* For tutti.stored/1: copies an encoded image, as that has it, if decoding it alone gives what pictures_read does: it is
 * of as many channels, and is not shrunk.  Error: E_NOMEM, with the cause in `why`.  [any] */
TUTTI_NODISCARD tutti_status pictures_copy(const pictures *p, const void *data, uint64_t size,
                                           void *to, uint64_t capacity, uint64_t *ret_size,
                                           char why[IMAGE_WHY_SIZE]);

#endif
