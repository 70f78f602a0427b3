/* picture.h - images that are logged, as PNG files: one of them, or all side by side. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOGGERS_PICTURE_H
#define LOGGERS_PICTURE_H

#include "tutti/base.h"

struct tutti_images; /* of minor 1 */

/* Bytes of a PNG file. */
typedef struct picture {
    unsigned char *png; /* the caller's to free */
    size_t size;
    int64_t height, width;
    int32_t channels; /* 1, 3 or 4; of masks 3 */
} picture;

/* Image k.  Numbers are cut to 0 to 1 and multiplied by 255, the rest behind the point is dropped.  `who` begins
 * sentences.  Errors: E_NOMEM; E_RANGE it has more than 2^31 pixels.  [any] */
TUTTI_NODISCARD tutti_status picture_one(const char *who, const struct tutti_images *images,
                                         int64_t k, picture *ret, tutti_error *err);
/* All of them, eight in a row, as torch.utils.tensorboard lays them out; what is left of the last row is black. */
TUTTI_NODISCARD tutti_status picture_grid(const char *who, const struct tutti_images *images,
                                          picture *ret, tutti_error *err);
/* Mask m of image k, in colours as below. */
TUTTI_NODISCARD tutti_status picture_mask_one(const char *who,
                                              const struct tutti_images *images, uint32_t m,
                                              int64_t k, picture *ret, tutti_error *err);
/* Mask m in the same places: class k in the k-th colour of the PASCAL VOC data sets, and 255 for what is above. */
TUTTI_NODISCARD tutti_status picture_mask(const char *who, const struct tutti_images *images,
                                          uint32_t m, picture *ret, tutti_error *err);

#endif
