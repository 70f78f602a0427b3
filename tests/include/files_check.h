/* files_check.h - a made-up tutti.files/1 that writes down what it is given. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILES_CHECK_H
#define FILES_CHECK_H

#include "run_check.h"
#include "tutti/files.h"

#include <sys/stat.h>

static char files_given
    [4096]; /* "NAME of BYTES bytes, over" a line each; ", over" where it may be written over */
static tutti_status files_fail; /* what it answers with */

static inline tutti_status files_take(void *ctx, const tutti_upload *what, tutti_error *err)
{
    struct stat st;
    const size_t used = strlen(files_given);
    (void)ctx;
    if (files_fail)
        return tutti_fail(err, files_fail, "%s is not sent: no logger of the run takes files",
                          what->remote_name);
    ck_assert_int_eq(stat(what->path, &st), 0);
    (void)snprintf(files_given + used, sizeof files_given - used, "%s of %lld bytes%s\n",
                   what->remote_name, (long long)st.st_size, what->overwrite ? ", over" : "");
    return TUTTI_OK;
}

/* As the k-th service of the run; 6 is the first that is free. */
static inline void files_check_init(stage *s, int k)
{
    static const tutti_files_v1 table = {.struct_size = sizeof table, .upload = files_take};
    files_given[0] = '\0';
    files_fail = TUTTI_OK;
    s->services[k] = (service){TUTTI_FILES_V1, &table};
}

#endif
