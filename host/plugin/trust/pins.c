/* pins.c - reading the lock file, and looking a file up in it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/trust/pins.h"
#include "plugin/trust/config.h"

#include <string.h>

enum { MOST_BYTES = 1 << 24 };

tutti_status pins_read(const char *path, hashes **ret, tutti_error *err)
{
    bytes text = {.fd = -1};
    const tutti_status status = config_read("lock file", path, MOST_BYTES, &text, err);
    return status ? status : hashes_read(path, &text, true, ret, err);
}

tutti_status pins_admit(const hashes *pins, const char *path, const char *hex, tutti_error *err)
{
    const char *pinned = hashes_find(pins, path);
    if (!pinned)
        return tutti_fail(err, TUTTI_E_TRUST, "%s: not pinned in %s", path, hashes_name(pins));
    if (strcmp(pinned, hex) != 0)
        return tutti_fail(err, TUTTI_E_TRUST, "%s: has SHA-256 %s, but %s pins %s", path, hex,
                          hashes_name(pins), pinned);
    return TUTTI_OK;
}
