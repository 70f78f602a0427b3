/* publish_weights.c - the weights of a model under the names, and in the layouts, of published files. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "graph/runtime/device_memory.h"
#include "train/checkpoint_file/checkpoint_index.h"
#include "train/pretrained/name_pattern.h"
#include "train/pretrained/weight_source.h"
#include "train/publish/publish_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t usual_shard = 5000000000;

/* The tensors of a file; `owned` has what their data and names lie in. */
typedef struct tensors {
    checkpoint_item *items;
    int32_t *shards; /* of each item, from 0 */
    void **owned;
    size_t count, nowned, capacity;
} tensors;

static void tensors_fini(tensors *t)
{
    for (size_t k = 0; k < t->nowned; k++)
        free(t->owned[k]);
    free(t->owned);
    free(t->items);
    free(t->shards);
}

static bool own(tensors *t, void *p)
{
    if (p)
        t->owned[t->nowned++] = p;
    return p != NULL;
}

static tutti_status no_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the weights of a folder");
}

/* The numbers of a weight, where the host can read them. */
static tutti_status reach(const net *n, const tutti_tensor *weight, tensors *t,
                          tutti_tensor *ret, tutti_error *err)
{
    const tutti_device *d = net_device(n);
    const uint64_t bytes = tutti_nbytes(&weight->desc);
    *ret = *weight;
    if (device_is_host(d))
        return TUTTI_OK;
    ret->data = malloc(bytes + 1);
    ret->device = TUTTI_DEVICE_CPU;
    return own(t, ret->data)
               ? device_copy(d, ret->data, weight->data, bytes, TUTTI_COPY_FROM_DEVICE, err)
               : no_memory(err);
}

/* (Cout, K, K, Cin) as (Cout, Cin, K, K). */
static tutti_status transpose(tutti_tensor *x, tensors *t, tutti_error *err)
{
    const int64_t out = x->desc.dim[0], in = x->desc.dim[3];
    const int64_t taps = x->desc.dim[1] * x->desc.dim[2];
    const uint64_t size = tutti_dtype_size(x->desc.dtype);
    char *to = malloc(tutti_nbytes(&x->desc) + 1);
    if (!own(t, to))
        return no_memory(err);
    for (int64_t o = 0; o < out; o++)
        for (int64_t i = 0; i < in; i++)
            for (int64_t k = 0; k < taps; k++)
                memcpy(to + (uint64_t)((o * in + i) * taps + k) * size,
                       (const char *)x->data + (uint64_t)((o * taps + k) * in + i) * size,
                       size);
    x->data = to;
    x->desc.dim[3] = x->desc.dim[2];
    x->desc.dim[2] = x->desc.dim[1];
    x->desc.dim[1] = in;
    return TUTTI_OK;
}

/* One more tensor of the file. */
static tutti_status add(tensors *t, const char *prefix, const char *name, tutti_tensor x,
                        tutti_error *err)
{
    char *full = NULL;
    if (asprintf(&full, "%s%s", prefix, name) < 0 || !own(t, full))
        return no_memory(err);
    t->items[t->count++] = (checkpoint_item){full, x};
    return TUTTI_OK;
}

/* The weight under its names in "names": as many parts along the first dimension, all of one size. */
static tutti_status add_named(tensors *t, const json_node *names, const tutti_weight *w,
                              tutti_tensor x, tutti_error *err)
{
    name_stars stars;
    const json_node *value = name_pattern_find(names, w->path, &stars);
    const size_t n = value ? name_pattern_count(value) : 0;
    if (!n || n > SOURCE_PARTS ||
        (n > 1 && (x.desc.rank == 0 || x.desc.dim[0] % (int64_t)n != 0)))
        return tutti_fail(err, TUTTI_E_STATE, "%s has no name in published files", w->path);
    if (n > 1)
        x.desc.dim[0] /= (int64_t)n;
    for (size_t k = 0; k < n; k++) {
        char name[NAME_SIZE];
        name_pattern_fill(value, k, &stars, name);
        const tutti_status s = add(t, "", name, x, err);
        if (s)
            return s;
        x.data = (char *)x.data + tutti_nbytes(&x.desc);
    }
    return TUTTI_OK;
}

static tutti_status gather(const publish_model *m, const json_node *says, const json_node *form,
                           tensors *t, tutti_error *err)
{
    enum { PARTS = SOURCE_PARTS, OWNED = PARTS + 2 }; /* of a weight */
    const json_node *names =
        json_bool(json_get(form, "names")) ? json_get(says, "names") : NULL;
    const char *prefix = json_string(json_get(form, "prefix"));
    const size_t count = net_weight_count(m->net);
    t->capacity = count * PARTS + 1;
    t->items = calloc(t->capacity, sizeof *t->items);
    t->shards = calloc(t->capacity, sizeof *t->shards);
    t->owned = calloc(count * OWNED + 1, sizeof *t->owned);
    tutti_status s = t->items && t->shards && t->owned ? TUTTI_OK : no_memory(err);
    for (uint32_t k = 0; k < count && !s; k++) {
        const tutti_weight *w = net_weight(m->net, k);
        tutti_tensor x;
        s = reach(m->net, &w->data, t, &x, err);
        if (!s && x.desc.rank == 4)
            s = transpose(&x, t, err);
        if (!s)
            s = names ? add_named(t, names, w, x, err)
                      : add(t, prefix ? prefix : "", w->path, x, err);
    }
    return s;
}

/* Gives each tensor its shard and returns how many there are; a tensor of more than `most` bytes has its own. */
static int32_t deal(tensors *t, uint64_t most)
{
    uint64_t used = 0;
    int32_t shard = 0;
    for (size_t k = 0; k < t->count; k++) {
        const uint64_t bytes = tutti_nbytes(&t->items[k].tensor.desc);
        if (used && used + bytes > most) {
            shard++;
            used = 0;
        }
        used += bytes;
        t->shards[k] = shard;
    }
    return shard + 1;
}

static tutti_status write_shards(const tensors *t, const char *index, int32_t count,
                                 tutti_error *err)
{
    static const checkpoint_text format = {"format", "pt"};
    tutti_status s = TUTTI_OK;
    size_t from = 0;
    for (int32_t k = 0; k < count && !s; k++) {
        size_t n = 0;
        while (from + n < t->count && t->shards[from + n] == k)
            n++;
        char *path = index_shard(index, NULL, k, count);
        s = path ? checkpoint_write(path, t->items + from, n, &format, 1, err) : no_memory(err);
        free(path);
        from += n;
    }
    char *text = s ? NULL : index_text(index, NULL, t->items, t->shards, t->count, count);
    if (!s)
        s = text ? index_write(index, text, 0, err) : no_memory(err);
    free(text);
    return s;
}

tutti_status publish_weights(const publish_model *m, const json_node *says,
                             const json_node *form, const char *folder, uint64_t shard_bytes,
                             publish_report *report, tutti_error *err)
{
    static const checkpoint_text format = {"format", "pt"};
    tensors t = {.items = NULL};
    char *file = NULL, *index = NULL;
    tutti_status s = asprintf(&file, "%s/model.safetensors", folder) > 0 &&
                             asprintf(&index, "%s/model.safetensors.index.json", folder) > 0
                         ? gather(m, says, form, &t, err)
                         : no_memory(err);
    const int32_t count = s ? 0 : deal(&t, shard_bytes ? shard_bytes : usual_shard);
    if (!s && count > 1) {
        s = write_shards(&t, index, count, err);
        if (!s)
            (void)unlink(file); /* readers look for it first */
    } else if (!s) {
        s = checkpoint_write(file, t.items, t.count, &format, 1, err);
        if (!s)
            index_remove(index);
    }
    for (size_t k = 0; k < t.count; k++)
        report->bytes += tutti_nbytes(&t.items[k].tensor.desc);
    report->tensors = (uint32_t)t.count;
    report->shards = (uint32_t)count;
    tensors_fini(&t);
    free(file);
    free(index);
    return s;
}
