/* list.h - the images below a folder, and their classes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_IMAGE_FOLDER_LIST_H
#define PLUGIN_IMAGE_FOLDER_LIST_H

#include "tutti/base.h"

typedef struct image_list {
    char **paths; /* sorted within a class, classes in order */
    int32_t *labels;
    int64_t count;
    int64_t capacity;
    int64_t classes;
    char **class_names; /* `classes` of them; of unlabelled images NULL */
} image_list;

enum { IMAGE_LIST_UNLABELLED = -100 }; /* counts in no loss and no metric */

/* Lists what lies below `folder`.  `l` is for image_list_free even after an error.
 * Errors: E_IO, E_FORMAT (no classes, a class without images), E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status image_list_make(image_list *l, const char *folder,
                                             tutti_error *err);
/* The same without classes: every image at any depth is IMAGE_LIST_UNLABELLED, and they come in byte order of
 * their paths. */
TUTTI_NODISCARD tutti_status image_list_make_unlabelled(image_list *l, const char *folder,
                                                        tutti_error *err);
void image_list_free(image_list *l);

#endif
