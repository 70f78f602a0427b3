/* missing.c - remote.h in a build without libcurl 7.88. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "remote.h"

static tutti_status lack_curl(const char *what, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                      "%s cannot be reached, this build is without libcurl 7.88 or newer "
                      "(Debian's libcurl4-openssl-dev)",
                      what);
}

tutti_status remote_open(const remote_options *options, remote **ret_remote, tutti_error *err)
{
    (void)ret_remote;
    return lack_curl(options->url, err);
}

void remote_close(remote *r)
{
    (void)r;
}

void remote_stop(remote *r)
{
    (void)r;
}

tutti_status remote_send(remote *r, const remote_request *request, remote_answer *ret_answer,
                         tutti_error *err)
{
    (void)r, (void)ret_answer;
    return lack_curl(request->name, err);
}

tutti_status remote_fetch(remote *r, const char *name, const char *path,
                          const remote_check *check, tutti_error *err)
{
    (void)r, (void)path, (void)check;
    return lack_curl(name, err);
}
