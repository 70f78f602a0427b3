/* trust.h - whether a file may be read and loaded: who owns every part of its path. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_TRUST_H
#define HOST_PLUGIN_TRUST_H

#include "plugin/owner.h"

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
    uint32_t *refusals;           /* counts what owner_judge refuses */
} trust_rule;

/* The folder `path` without symbolic links, every part and every link on the way judged by
 * `rule`.  The caller frees *ret_real.
 * Errors: E_NOTFOUND; E_TRUST names the part; E_IO. */
TUTTI_NODISCARD tutti_status trust_folder(const char *path, trust_rule rule, char **ret_real,
                                          tutti_error *err);

/* The regular file `name` ("a/b.so", no "..") below a folder that trust_folder gave; no part of
 * `name` may be a symbolic link.  The caller frees *ret_path.  Errors as trust_folder. */
TUTTI_NODISCARD tutti_status trust_file(const char *folder, const char *name, trust_rule rule,
                                        char **ret_path, file_mark *ret_mark, tutti_error *err);

/* The file at `path` is still what it was.  Error: E_TRUST. */
TUTTI_NODISCARD tutti_status trust_same(const char *path, const file_mark *mark,
                                        tutti_error *err);
/* The same of an open file; `path` stands in messages. */
TUTTI_NODISCARD tutti_status trust_same_open(int fd, const char *path, const file_mark *mark,
                                             tutti_error *err);

#define TRUST_HEX_SIZE 65
/* SHA-256 of a file in lower-case hexadecimal digits.  Errors: E_IO; E_NOMEM. */
TUTTI_NODISCARD tutti_status trust_sha256(const char *path, char *hex, tutti_error *err);

/* The file must stand with its SHA-256 in the operator's lock file, which has the lines that
 * sha256sum writes: digits, two spaces, absolute path.  Errors: E_TRUST; E_IO. */
TUTTI_NODISCARD tutti_status trust_pinned(const char *lock_file, const char *path,
                                          tutti_error *err);

bool mark_equal(const file_mark *a, const file_mark *b);

#endif
