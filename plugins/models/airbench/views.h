/* views.h - several views of each image, and the mean of what a network says of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AIRBENCH_VIEWS_H
#define AIRBENCH_VIEWS_H

#include "tutti/ops.h"

/* As the manifest has them. */
enum { VIEWS_ONE, VIEWS_MIRROR, VIEWS_MIRROR_SHIFT };

/* (B, H, W, C) -> (V B, H, W, C), view by view: x; with MIRROR_SHIFT x one pixel down and right and one up and left, the
 * edge reflected; then the mirror images of these. */
tutti_value views_make(tutti_graph *g, int64_t views, tutti_value x);
/* (V B, N) -> (B, N).  What is shifted counts as much as what is not, a mirror image as much as its image. */
tutti_value views_mean(tutti_graph *g, int64_t views, tutti_value y);

#endif
