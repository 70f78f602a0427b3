/* trust.h - whether a file may be read and loaded: who owns every part of its path. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_TRUST_TRUST_H
#define HOST_PLUGIN_TRUST_TRUST_H

#include "plugin/trust/owner.h"

/* What a file was when it was judged; it must be the same when it is loaded. */
typedef struct file_mark {
    uint64_t device;
    uint64_t inode;
    int64_t size;
    int64_t changed_ns;
} file_mark;

/* What is asked of a path. */
typedef struct trust_rule {
    bool owner; /* its parts are judged by owner_judge; else only what they are */
    const program_owners *beside; /* as owner_judge takes it */
    uint32_t *refusals;           /* counts what owner_judge refuses; may be NULL */
} trust_rule;

/* A folder or a regular file that is open.  What its descriptor shows has been judged, whatever its path
 * leads to by now.  Zeros: nothing is held. */
typedef struct held {
    char *path; /* absolute, without symbolic links; NULL: nothing is held */
    int fd;     /* of a folder only good for what lies below it */
    file_mark mark;
} held;
void held_close(held *h);

/* The folder `path`: every part and every link on the way is opened, then judged by `rule`, so that nothing
 * can be exchanged in between.  The caller closes *ret.
 * Errors: E_NOTFOUND; E_TRUST names the part; E_IO; E_NOMEM. */
TUTTI_NODISCARD tutti_status trust_folder(const char *path, trust_rule rule, held *ret,
                                          tutti_error *err);
/* The same for the folder or link `name` below a held folder, which `rule` has judged: what lies above it
 * is not walked again. */
TUTTI_NODISCARD tutti_status trust_folder_below(const held *folder, const char *name,
                                                trust_rule rule, held *ret, tutti_error *err);
/* The same for a regular file, itself judged too: one that an operator names. */
TUTTI_NODISCARD tutti_status trust_path(const char *path, trust_rule rule, held *ret,
                                        tutti_error *err);

/* The regular file `name` ("a/b.so", no "..") below a held folder; no part of `name` may be a
 * symbolic link.  The caller closes *ret.  Errors as trust_folder. */
TUTTI_NODISCARD tutti_status trust_file(const held *folder, const char *name, trust_rule rule,
                                        held *ret, tutti_error *err);

/* The held file is still what it was when `mark` was taken.  Error: E_TRUST. */
TUTTI_NODISCARD tutti_status trust_same(const held *file, const file_mark *mark,
                                        tutti_error *err);
bool mark_equal(const file_mark *a, const file_mark *b);

#endif
