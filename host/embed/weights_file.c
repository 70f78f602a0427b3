/* weights_file.c - weights copied to the host, named and written; and read again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/weights_file.h"
#include "graph/runtime/device_memory.h"
#include "train/checkpoint_file/checkpoint.h"
#include "train/pretrained/pretrained.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is written: names "model." and a weight's path, tensors that the host can reach. */
typedef struct contents {
    checkpoint_item *items;
    char **names;
    void **copies; /* of what lies on a device */
    uint32_t count;
} contents;

static void contents_fini(contents *c)
{
    for (uint32_t k = 0; k < c->count; k++) {
        free(c->names ? c->names[k] : NULL);
        free(c->copies ? c->copies[k] : NULL);
    }
    free(c->items);
    free(c->names);
    free(c->copies);
}

static tutti_status fetch(const net *n, contents *c, uint32_t k, tutti_error *err)
{
    const tutti_weight *w = net_weight(n, k);
    const uint64_t bytes = tutti_nbytes(&w->data.desc);
    const tutti_device *d = net_device(n);
    if (asprintf(&c->names[k], "model.%s", w->path) < 0) {
        c->names[k] = NULL;
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the name of %s", w->path);
    }
    c->items[k] = (checkpoint_item){c->names[k], w->data};
    if (device_is_host(d))
        return TUTTI_OK;
    c->copies[k] = malloc(bytes + 1);
    if (!c->copies[k])
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a copy of %s", w->path);
    c->items[k].tensor.data = c->copies[k];
    c->items[k].tensor.device = TUTTI_DEVICE_CPU;
    return device_copy(d, c->copies[k], w->data.data, bytes, TUTTI_COPY_FROM_DEVICE, err);
}

tutti_status weights_file_write(const net *n, const char *path, tutti_error *err)
{
    contents c = {.count = net_weight_count(n)};
    tutti_status s = TUTTI_OK;
    c.items = calloc(c.count + 1, sizeof *c.items);
    c.names = calloc(c.count + 1, sizeof *c.names);
    c.copies = calloc(c.count + 1, sizeof *c.copies);
    if (!c.items || !c.names || !c.copies)
        s = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its contents", path);
    for (uint32_t k = 0; k < c.count && !s; k++)
        s = fetch(n, &c, k, err);
    if (!s)
        s = checkpoint_write(path, c.items, c.count, NULL, 0, err);
    contents_fini(&c);
    return s;
}

tutti_status weights_file_read(net *n, const char *path, tutti_error *err)
{
    uint64_t unused = 0;
    return pretrained_load(n, path, &unused, err);
}
