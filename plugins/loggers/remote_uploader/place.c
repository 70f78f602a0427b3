/* place.c - what an address of a bucket or folder stands for. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

#include <string.h>

static const char file_scheme[] = "file://";

tutti_status place_open(place *p, const char *uri, const char *endpoint, double silence_s,
                        tutti_error *err)
{
    const remote_options options = {.who = "remote_uploader: bucket_uri",
                                    .url = uri,
                                    .endpoint = endpoint,
                                    .silence_s = silence_s};
    if (strncmp(uri, "s3://", 5) == 0)
        return remote_open(&options, &p->remote, err);
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
    p->remote = NULL;
}

tutti_status place_put(const place *p, job *j, tutti_error *err)
{
    return p->remote ? s3_put(p, j, err) : folder_put(p, j, err);
}
