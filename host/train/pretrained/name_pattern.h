/* name_pattern.h - names of weights in published files, by those of a model: patterns with stars. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_PRETRAINED_NAME_PATTERN_H
#define HOST_TRAIN_PRETRAINED_NAME_PATTERN_H

#include "base/json.h"

enum { NAME_SIZE = 1024, NAME_STARS = 8 };

/* What the stars of a key stand for in a path, which outlives it. */
typedef struct name_stars {
    struct {
        const char *at;
        size_t size;
    } each[NAME_STARS];
} name_stars;

/* The value in `names` ("names" of a published.json; may be NULL) of the first key that fits the path; NULL: none does.
 * A * in a key stands for some bytes of one part of the path between dots, and its value has as many.  A value is a
 * name, or an array of names. */
const json_node *name_pattern_find(const json_node *names, const char *path, name_stars *ret);
/* How many names a value has, and the k-th with its stars filled in; a name that is too long is cut. */
size_t name_pattern_count(const json_node *value);
void name_pattern_fill(const json_node *value, size_t k, const name_stars *stars,
                       char ret[NAME_SIZE]);

#endif
