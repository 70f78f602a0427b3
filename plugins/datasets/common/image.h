/* image.h - JPEG and PNG in memory to u8 (H, W, C); shared by the datasets that hold images. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_DATASETS_IMAGE_H
#define PLUGIN_DATASETS_IMAGE_H

#include "tutti/tensor.h"

enum { IMAGE_WHY_SIZE = 256 };

/* Decoders kept for reuse by any thread. */
typedef struct image_pool image_pool;

/* NULL: no memory. */
image_pool *image_pool_make(void);
void image_pool_free(image_pool *pool);
/* From now on JPEGs come at 1/2, 1/4 or 1/8 of their size where both sides keep `least` pixels, which
 * takes less time than decoding them whole and scaling them; 0: as they are.  [control] */
void image_pool_shrink(image_pool *pool, int least);

typedef enum image_format { IMAGE_UNKNOWN, IMAGE_JPEG, IMAGE_PNG } image_format;

/* By the first bytes. */
image_format image_format_of(const void *data, uint64_t size);

/* The shape of an encoded image: (H, W, C) of u8 with C 1 for grey, 3 for colour, and 2 or 4 for
 * a PNG with an alpha channel, shrunk or not.  Reads the header alone.
 * Errors: E_FORMAT, E_NOMEM, with the cause in `why`.  [any] */
TUTTI_NODISCARD tutti_status image_shape(image_pool *pool, const void *data, uint64_t size,
                                         tutti_desc *ret_desc, char why[IMAGE_WHY_SIZE]);

/* Decodes into `pixels`, which has room for the bytes of image_shape().  A JPEG is decoded with
 * libjpeg-turbo's defaults (accurate DCT, smooth upsampling), which Pillow uses too; 16-bit PNGs
 * lose their low bytes.  Errors as above.  [any] */
TUTTI_NODISCARD tutti_status image_decode(image_pool *pool, const void *data, uint64_t size,
                                          uint8_t *pixels, char why[IMAGE_WHY_SIZE]);

/* The same with `channels` 3 (colour) or 1 (grey), whatever the image has: grey is repeated, colour
 * weighted as Pillow does, an alpha channel left out.  Errors as above.  [any] */
TUTTI_NODISCARD tutti_status image_decode_as(image_pool *pool, const void *data, uint64_t size,
                                             int64_t channels, uint8_t *pixels,
                                             char why[IMAGE_WHY_SIZE]);

#endif
