/* folder_check.h - a folder of a test's own, which goes with everything in it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FOLDER_CHECK_H
#define FOLDER_CHECK_H

#include "tutti_check.h"

#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

enum { FOLDER_SIZE = 64 };

/* Makes a new folder and writes its path. */
static inline void folder_make(char path[FOLDER_SIZE])
{
    (void)snprintf(path, FOLDER_SIZE, "/tmp/tutti_test.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(path));
}

static inline int folder_remove_one(const char *path, const struct stat *st, int type,
                                    struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

/* Removes a folder that folder_make made, and nothing else. */
static inline void folder_remove(const char *path)
{
    if (strncmp(path, "/tmp/tutti_test.", 16) == 0)
        (void)nftw(path, folder_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
