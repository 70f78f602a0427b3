/* remote.c - whether a file that was fetched is what the index says. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "remote.h"

#include "digest.h"

#include "../common/whole_file.h"

#include <strings.h>

typedef struct wanted {
    const mds_file *file;
    int32_t verify;
} wanted;

static tutti_status mds_check_file(void *ctx, const char *path, uint64_t size,
                                   const char *address, tutti_error *err)
{
    char have[MDS_DIGEST_SIZE] = "";
    const wanted *w = ctx;
    const mds_file *want = w->file;
    void *data = NULL;
    uint64_t bytes = 0;
    if (size != want->bytes)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: has %llu bytes, the index says %llu",
                          address, (unsigned long long)size, (unsigned long long)want->bytes);
    if (!w->verify || !want->hash)
        return TUTTI_OK;
    tutti_status s = whole_file(path, &data, &bytes, err);
    if (s == TUTTI_OK &&
        (!mds_digest(want->hash_kind, data, bytes, have) || strcasecmp(have, want->hash) != 0))
        s = tutti_fail(err, TUTTI_E_FORMAT, "%s: its %s is %s, the index says %s", address,
                       want->hash_kind, have, want->hash);
    free(data);
    return s;
}

tutti_status mds_remote_fetch(remote *r, const char *name, const char *path,
                              const mds_file *want, int32_t verify, tutti_error *err)
{
    wanted w = {want, verify};
    const remote_check check = {.most = want ? want->bytes : UINT64_C(1) << 30,
                                .check = want ? mds_check_file : NULL,
                                .ctx = &w,
                                .shared = true};
    return remote_fetch(r, name, path, &check, err);
}
