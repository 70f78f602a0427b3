/* serve.c - the stub of report/serve.c in a build without libmicrohttpd. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "report/serve.h"

tutti_status serve(const serve_calls *calls, uint16_t port, tutti_error *err)
{
    (void)calls, (void)port;
    return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                      "this tutti was built without libmicrohttpd (libmicrohttpd-dev), which "
                      "serves pages; without --live report writes the page to a file");
}
