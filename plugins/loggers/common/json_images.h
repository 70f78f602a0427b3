/* json_images.h - images that are logged, as an object of JSON that fits on a line. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOGGERS_JSON_IMAGES_H
#define LOGGERS_JSON_IMAGES_H

#include "tutti/base.h"

#include <stdio.h>

struct tutti_images; /* of minor 1 */

/* Writes one line with its newline, in which each image is a PNG file in base64.  `who` begins sentences.  Nothing is
 * written after an error: E_NOMEM; E_RANGE an image is too large.  Other errors are `out`'s.  [any] */
TUTTI_NODISCARD tutti_status json_line_images(FILE *out, const char *who,
                                              const struct tutti_images *images, uint64_t step,
                                              tutti_error *err);

#endif
