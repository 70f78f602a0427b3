/* run_log_files.c - files of the run to and from elsewhere, by its loggers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/released.h"
#include "train/context/run_log_each.h"

/* Every logger gets it, also behind one that fails. */
static tutti_status files_upload(void *ctx, const tutti_upload *what, tutti_error *err)
{
    run_log *l = ctx;
    tutti_status s = RELEASED_TAKE(tutti_upload, what, err);
    if (s)
        return s;
    s = TUTTI_E_NOTFOUND;
    FOR_EACH_LOGGER(l, i, table, "upload")
    {
        const tutti_files_v1 *files = instance_query(i, TUTTI_FILES_V1);
        const tutti_status one =
            files && files->upload ? files->upload(files->ctx, what, err) : s;
        s = s == TUTTI_E_NOTFOUND || s == TUTTI_OK ? one : s;
    }
    return s == TUTTI_E_NOTFOUND
               ? tutti_fail(err, s, "%s is not sent: no logger of the run takes files",
                            what->path)
               : s;
}

/* The first that has it; where none has, what the last one says. */
static tutti_status files_download(void *ctx, const tutti_download *what, tutti_error *err)
{
    run_log *l = ctx;
    tutti_error why = TUTTI_ERROR_INIT;
    tutti_status s = RELEASED_TAKE(tutti_download, what, err);
    if (s)
        return s;
    s = tutti_fail(&why, TUTTI_E_NOTFOUND, "%s is not fetched: no logger of the run has files",
                   what->name);
    FOR_EACH_LOGGER(l, i, table, "download")
    {
        const tutti_files_v1 *files = instance_query(i, TUTTI_FILES_V1);
        if (s != TUTTI_E_NOTFOUND || !files || !files->download)
            continue;
        why = (tutti_error)TUTTI_ERROR_INIT;
        s = files->download(files->ctx, what, &why);
    }
    return s ? tutti_fail(err, s, "%s", why.text) : TUTTI_OK;
}

static tutti_status files_list(void *ctx, const tutti_listing *what, tutti_error *err)
{
    run_log *l = ctx;
    tutti_status s = RELEASED_TAKE(tutti_listing, what, err);
    if (s)
        return s;
    s = TUTTI_E_NOTFOUND;
    FOR_EACH_LOGGER(l, i, table, "list")
    {
        const tutti_files_v1 *files = instance_query(i, TUTTI_FILES_V1);
        if ((s == TUTTI_E_NOTFOUND || s == TUTTI_OK) && files && files->list)
            s = files->list(files->ctx, what, err);
    }
    return s == TUTTI_E_NOTFOUND
               ? tutti_fail(err, s, "%s: no logger of the run has files", what->prefix)
               : s;
}

const tutti_files_v1 *run_log_files(run_log *l)
{
    l->files = (tutti_files_v1){.struct_size = sizeof l->files,
                                .ctx = l,
                                .upload = files_upload,
                                .download = files_download,
                                .list = files_list};
    return &l->files;
}
