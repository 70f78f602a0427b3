/* saved_names.h - the names of files that a run has saved, oldest first, as checkpoints keep them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_CHECKPOINT_SAVER_SAVED_NAMES_H
#define PLUGIN_CHECKPOINT_SAVER_SAVED_NAMES_H

#include <stdint.h>

/* One more than the manifest lets `keep` be: a new file is noted before an old one goes. */
enum { SAVED_ROOM = 65, SAVED_NAME = 128 };

typedef char saved_name
    [SAVED_NAME]; /* ends with a zero; of SAVED_ROOM those behind the last are empty */

uint32_t saved_count(saved_name *all);
void saved_drop(saved_name *all, uint32_t k);
/* Puts `name` last in the list; a full list forgets its oldest. */
void saved_add(saved_name *all, const char *name);
/* What a file says is made safe to use: ended names, no way out of the folder. */
void saved_mend(saved_name *all);

#endif
