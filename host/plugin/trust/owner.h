/* owner.h - who may exchange a file: its owner, and whom its mode and its folder let write. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_TRUST_OWNER_H
#define HOST_PLUGIN_TRUST_OWNER_H

#include "tutti/base.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/* Who may exchange the program, by writing to its file or to its folder. */
typedef struct program_owners {
    char folder
        [PATH_MAX]; /* of the program, without symbolic links; empty when it is not known */
    uid_t owner[2];
    gid_t group[2];
    bool group_writes[2];
    bool everyone_writes;
} program_owners;

/* exe: the program's path without symbolic links. */
void program_owners_of(const char *exe, program_owners *ret);

/* One part of a plugin's path, a "folder", "file" or "link": it must belong to root or to us and be
 * writable by its owner alone, where a sticky folder is nobody's to change and a group that only the
 * owner is in (it has his name and no other member) is the owner.
 * beside: the part is below the program or beside it, where whoever may exchange the program may
 * write as well: there is nothing to be gained.  NULL: it lies elsewhere.
 * Error: E_TRUST names the part. */
TUTTI_NODISCARD tutti_status owner_judge(const char *path, const struct stat *s,
                                         const char *what, const program_owners *beside,
                                         tutti_error *err);

/* Whether `group` is the private group of `user`: named alike, his own, and nobody else's. */
bool owner_is_group(uid_t user, gid_t group);

#endif
