/* autotune_choices.c - autotuning on GPUs: what was measured for those of this name, in the file of the CPU's choices. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/device_calls.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { KEY_MOST = 512 };

/* "NVIDIA H100 80GB HBM3: matmul ..." */
static bool full_key(const cuda_device *d, const char *key, char full[KEY_MOST])
{
    return snprintf(full, KEY_MOST, "%s: %s", d->name, key) < KEY_MOST;
}

static bool copy_choice(const choices *c, const char *key, char *ret_choice, uint64_t size)
{
    const char *found = choices_find(c, key);
    if (found && strlen(found) < size)
        memcpy(ret_choice, found, strlen(found) + 1);
    return found && strlen(found) < size;
}

/* A broken file holds nothing, and is replaced when there is something to keep. */
static void look(cuda_device *d, const char *path)
{
    tutti_error broken = TUTTI_ERROR_INIT;
    choices_fini(&d->tuned.known);
    if (choices_read(&d->tuned.known, path, &broken))
        choices_fini(&d->tuned.known);
    d->tuned.looked = true;
}

tutti_status cuda_recall(void *ctx, const char *key, char *ret_choice, uint64_t size)
{
    cuda_device *d = ctx;
    char path[PATH_MAX], full[KEY_MOST];
    if (d->wanted.first || !choices_path(path, sizeof path) || !full_key(d, key, full))
        return TUTTI_E_UNSUPPORTED;
    if (!d->tuned.looked)
        look(d, path);
    return copy_choice(&d->tuned.known, full, ret_choice, size) ? TUTTI_OK : TUTTI_E_NOTFOUND;
}

tutti_status cuda_keep(void *ctx, const char *key, char *text, uint64_t size, tutti_error *err)
{
    cuda_device *d = ctx;
    char path[PATH_MAX], full[KEY_MOST];
    if (d->wanted.first || !choices_path(path, sizeof path) || !full_key(d, key, full))
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: choices are not kept", d->label);
    const int lock = choices_lock(path, err);
    if (lock < 0)
        return TUTTI_E_IO;
    look(d, path);
    tutti_status s = TUTTI_OK;
    if (!copy_choice(&d->tuned.known, full, text, size)) {
        s = choices_set(&d->tuned.known, full, text, err);
        if (!s)
            s = choices_write(&d->tuned.known, path, err);
    }
    (void)close(lock);
    return s;
}
