/* class_check.h - whether a checkpoint's model was trained with the classes that this run's data have. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CHECKPOINT_CLASS_CHECK_H
#define HOST_TRAIN_CHECKPOINT_CLASS_CHECK_H

#include "train/checkpoint_file/checkpoint.h"

#include <stdbool.h>

typedef struct trainer trainer; /* step/trainer_state.h */

#define CLASS_NAMES_KEY "classes" /* class_names_json's text; not there: classes had no names */

/* Compares the names that `c` keeps with those of the training data and of each evaluation's.  A number that stands
 * for two classes is E_ARG with `strict`, else a warning; other numbers of classes are a message.  [control] */
TUTTI_NODISCARD tutti_status class_check(trainer *t, const char *path, const checkpoint *c,
                                         bool strict, tutti_error *err);
/* The same between the training data and those of evaluations. */
TUTTI_NODISCARD tutti_status class_check_evaluations(const trainer *t, tutti_error *err);
void class_check_announce(trainer *t);

#endif
