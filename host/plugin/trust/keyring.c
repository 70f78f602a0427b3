/* keyring.c - reading the folders of trusted public keys. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/trust/keyring.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = 4096 };

void keyring_fini(keyring *k)
{
    for (size_t n = 0; n < k->count; n++)
        free(k->keys[n].path);
    free(k->keys);
    *k = (keyring){0};
}

tutti_status keyring_add(keyring *k, const char *path, tutti_error *err)
{
    bytes text = {.fd = -1};
    public_key key;
    tutti_status status = config_read("key", path, KEY_BYTES, &text, err);
    if (!status)
        status = public_key_read(path, (const char *)text.data, &key, err);
    bytes_free(&text);
    if (status)
        return status;
    trusted_key *keys = realloc(k->keys, (k->count + 1) * sizeof *keys);
    char *copy = keys ? strdup(path) : NULL;
    if (keys)
        k->keys = keys;
    if (!copy)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for the key", path);
    keys[k->count++] = (trusted_key){key, copy};
    return TUTTI_OK;
}

static int is_key(const struct dirent *e)
{
    const size_t n = strlen(e->d_name);
    return n > 4 && e->d_name[0] != '.' && strcmp(e->d_name + n - 4, ".pub") == 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

tutti_status keyring_read(keyring *k, const config_folders *where,
                          void (*tell)(void *ctx, const char *text), void *ctx,
                          tutti_error *err)
{
    tutti_status status = TUTTI_OK;
    for (size_t n = 0; n < where->count; n++) {
        char folder[PATH_MAX], path[PATH_MAX + 256];
        struct dirent **entries = NULL;
        if (snprintf(folder, sizeof folder, "%s/trusted.d", where->paths[n]) >=
            (int)sizeof folder)
            continue;
        const int count = scandir(folder, &entries, is_key, by_bytes);
        for (int m = 0; m < count; m++) {
            tutti_error cause = TUTTI_ERROR_INIT;
            (void)snprintf(path, sizeof path, "%s/%s", folder, entries[m]->d_name);
            const tutti_status one = status ? status : keyring_add(k, path, &cause);
            if (one == TUTTI_E_NOMEM && !status)
                status = tutti_fail(err, one, "%s", cause.text);
            else if (one && !status)
                tell(ctx, cause.text);
            free(entries[m]);
        }
        free(entries);
    }
    return status;
}

const trusted_key *keyring_find(const keyring *k, const unsigned char *id)
{
    for (size_t n = 0; n < k->count; n++)
        if (memcmp(k->keys[n].key.id, id, sizeof k->keys[n].key.id) == 0)
            return &k->keys[n];
    return NULL;
}
