/* config.c - finding and reading the operator's files. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/trust/config.h"
#include "base/env.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tutti_status add(config_folders *c, const char *path, size_t size, tutti_error *err)
{
    if (!size)
        return TUTTI_OK;
    if (c->count == CONFIG_MAX)
        return tutti_fail(err, TUTTI_E_RANGE, "TUTTI_CONFIG_PATH: has more than %d folders",
                          CONFIG_MAX);
    c->paths[c->count] = strndup(path, size);
    if (!c->paths[c->count])
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the folders of policies");
    c->count++;
    return TUTTI_OK;
}

static const char *get(config_folders *c, int variable)
{
    const char *ignored;
    const char *text = env_get(variable, &ignored);
    c->ignored = ignored ? ignored : c->ignored;
    return text;
}

static tutti_status add_standard(config_folders *c, tutti_error *err)
{
    char path[PATH_MAX];
    const char *config = get(c, ENV_CONFIG_HOME);
    const char *home = config ? NULL : get(c, ENV_HOME);
    tutti_status status = add(c, "/etc/tutti", strlen("/etc/tutti"), err);
    const int size = snprintf(path, sizeof path, "%s%s/tutti", config ? config : home,
                              config ? "" : "/.config");
    if (!status && (config || home) && path[0] == '/' && size < (int)sizeof path)
        status = add(c, path, (size_t)size, err);
    return status;
}

tutti_status config_find(config_folders *ret, tutti_error *err)
{
    config_folders c = {0};
    const char *list = get(&c, ENV_CONFIG_PATH);
    tutti_status status = list ? TUTTI_OK : add_standard(&c, err);
    while (list && *list && !status) {
        const size_t size = strcspn(list, ":");
        status = add(&c, list, size, err);
        list += size + (list[size] == ':');
    }
    if (status)
        config_fini(&c);
    else
        *ret = c;
    return status;
}

void config_fini(config_folders *c)
{
    for (size_t k = 0; k < c->count; k++)
        free(c->paths[k]);
    *c = (config_folders){0};
}

tutti_status config_read(const char *what, const char *path, size_t limit, bytes *ret,
                         tutti_error *err)
{
    tutti_error cause = TUTTI_ERROR_INIT;
    held file = {0};
    tutti_status status = trust_path(path, (trust_rule){.owner = true}, &file, &cause);
    if (!status)
        status = bytes_read(&file, limit, ret, &cause);
    held_close(&file);
    if (status == TUTTI_E_TRUST)
        return tutti_fail(err, status, "the %s %s is not used: %s", what, path, cause.text);
    return status ? tutti_fail(err, status, "%s", cause.text) : TUTTI_OK;
}
