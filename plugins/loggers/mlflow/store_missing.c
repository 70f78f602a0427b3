/* store_missing.c - a build without libyaml: no folder can be used, and the sentence says why. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

tutti_status store_open(store *s, const char *uri, tutti_error *err)
{
    (void)s;
    return tutti_fail(
        err, TUTTI_E_UNSUPPORTED,
        "mlflow: tracking_uri is %.300s, and this build knows tracking servers "
        "alone, for want of libyaml; install libyaml-dev and build again, or give "
        "an address as http://localhost:5000",
        uri);
}

tutti_status store_send(store *s, const outbox_record *record, tutti_error *err)
{
    (void)s, (void)record;
    return tutti_fail(err, TUTTI_E_UNSUPPORTED, "mlflow: this build has no libyaml");
}
