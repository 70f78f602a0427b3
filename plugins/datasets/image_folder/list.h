/* list.h - the images below a folder, and their classes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_IMAGE_FOLDER_LIST_H
#define PLUGIN_IMAGE_FOLDER_LIST_H

#include "../common/label_names.h"

typedef struct image_list {
    char **paths; /* sorted within a class, classes in order */
    int32_t *labels;
    int64_t count;
    int64_t capacity;
    int64_t classes;
    label_names names; /* of the classes; none of unlabelled images */
} image_list;

enum { IMAGE_LIST_UNLABELLED = -100 }; /* counts in no loss and no metric */

/* Lists what lies below `folder`, of the classes that `class_file` names; NULL: of one for each folder.  `l` is for
 * image_list_free even after an error.
 * Errors: E_IO, E_FORMAT (no classes, a class without images, a folder that is no class), E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status image_list_make(image_list *l, const char *folder,
                                             const char *class_file, tutti_error *err);
/* The same without classes: every image at any depth is IMAGE_LIST_UNLABELLED, and they come in byte order of
 * their paths. */
TUTTI_NODISCARD tutti_status image_list_make_unlabelled(image_list *l, const char *folder,
                                                        tutti_error *err);
void image_list_free(image_list *l);

#endif
