/* chain.h - random changes of a picture, one after the other. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUGMENTATION_CHAIN_H
#define AUGMENTATION_CHAIN_H

#include "../common/image_ops.h"

#include "tutti/rng.h"

/* As the manifest's values of augmentation_set. */
enum { SET_ALL, SET_SAFE, SET_ORIGINAL };

/* `depth` changes, each any of the set, with strengths up to `severity` (0 to 10).  `scratch` has
 * room for the picture. */
void chain_apply(const picture *x, tutti_stream *r, int set, double severity, int64_t depth,
                 uint8_t *scratch);

#endif
