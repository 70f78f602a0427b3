/* place.c - what an address of a bucket or folder stands for. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1
#include "place.h"

#include <string.h>

static const char file_scheme[] = "file://";

enum { RETRIES = 5 }; /* of what is fetched; uploads are tried for as long as the run lasts */

/* The folder of a bucket, for files, and the bucket, for names. */
static tutti_status open_bucket(place *p, const remote_options *options, tutti_error *err)
{
    char bucket[REMOTE_ADDRESS];
    remote_options of_bucket = *options;
    const size_t scheme = strlen("s3://");
    const size_t n = scheme + strcspn(options->url + scheme, "/");
    const tutti_status s = remote_open(options, &p->remote, err);
    if (s)
        return s;
    (void)snprintf(bucket, sizeof bucket, "%.*s", (int)n, options->url);
    of_bucket.url = bucket;
    p->head = options->url + n + strspn(options->url + n, "/");
    return remote_open(&of_bucket, &p->bucket, err);
}

tutti_status place_open(place *p, const char *uri, const char *endpoint, double silence_s,
                        tutti_error *err)
{
    const remote_options options = {.who = "remote_uploader: bucket_uri",
                                    .url = uri,
                                    .endpoint = endpoint,
                                    .retries = RETRIES,
                                    .silence_s = silence_s};
    if (strncmp(uri, "s3://", 5) == 0)
        return open_bucket(p, &options, err);
    if (strncmp(uri, file_scheme, sizeof file_scheme - 1) != 0 ||
        uri[sizeof file_scheme - 1] != '/')
        return tutti_fail(err, TUTTI_E_ARG,
                          "remote_uploader: bucket_uri is %.200s, want s3://bucket/folder or "
                          "file:///folder",
                          uri);
    const int n = snprintf(p->folder, sizeof p->folder, "%s", uri + sizeof file_scheme - 1);
    return n > 0 && (size_t)n < sizeof p->folder
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_RANGE,
                            "remote_uploader: bucket_uri is longer than %zu characters",
                            sizeof p->folder - 1);
}

void place_close(place *p)
{
    remote_close(p->remote);
    remote_close(p->bucket);
    p->remote = p->bucket = NULL;
}

tutti_status place_put(const place *p, job *j, tutti_error *err)
{
    return p->remote ? s3_put(p, j, err) : folder_put(p, j, err);
}

/* ---- back ---- */

/* Of whoever asks for files beside the run's. */
typedef struct asking {
    const place *place;
    int32_t (*must_end)(void *asker);
    void *asker;
} asking;

static bool remote_uploader_asking_must_end(void *ctx)
{
    const asking *a = ctx;
    return a->place->must_end(a->place->ctx) || (a->must_end && a->must_end(a->asker));
}

static place place_asked(asking *a)
{
    place p = *a->place;
    p.must_end = remote_uploader_asking_must_end;
    p.ctx = a;
    return p;
}

tutti_status place_get(const place *p, const char *name, const tutti_download *what,
                       tutti_error *err)
{
    asking a = {p, what->must_end, what->asker};
    const place asked = place_asked(&a);
    const remote_check check = {
        .most = UINT64_MAX, .must_end = remote_uploader_asking_must_end, .ctx = &a};
    return p->remote ? remote_fetch(p->remote, name, what->path, &check, err)
                     : folder_get(&asked, name, what->path, err);
}

tutti_status place_list(const place *p, const tutti_listing *what, tutti_error *err)
{
    asking a = {p, what->must_end, what->asker};
    const place asked = place_asked(&a);
    return p->remote ? s3_list(&asked, what, err) : folder_list(&asked, what, err);
}
