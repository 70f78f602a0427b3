/* picture_fuzz.c - any bytes as a JPEG or a PNG: a cause, or pixels, whole and shrunk, as they are and as colours. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "datasets/common/image.h"

#include <stdlib.h>

enum { MOST_BYTES = 1 << 22 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void decode(image_pool *pool, const void *data, size_t size)
{
    char why[IMAGE_WHY_SIZE] = "";
    tutti_desc desc;
    if (image_shape(pool, data, size, &desc, why)) {
        if (!why[0])
            abort();
        return;
    }
    const uint64_t bytes = tutti_nbytes(&desc), colours = bytes / (uint64_t)desc.dim[2] * 3;
    if (bytes > MOST_BYTES)
        return;
    uint8_t *pixels = malloc(colours > bytes ? colours : bytes);
    if (!pixels)
        abort();
    why[0] = '\0';
    if (image_decode(pool, data, size, pixels, why) && !why[0])
        abort();
    why[0] = '\0';
    if (image_decode_as(pool, data, size, 3, pixels, why) && !why[0])
        abort();
    free(pixels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int least = 0; least <= 8; least += 8) {
        image_pool *pool = image_pool_make();
        if (!pool)
            abort();
        if (least)
            image_pool_shrink(pool, least);
        decode(pool, data, size);
        image_pool_free(pool);
    }
    return 0;
}
