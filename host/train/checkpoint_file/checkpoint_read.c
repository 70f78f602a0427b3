/* checkpoint_read.c - checkpoints as safetensors files: verified when read. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/counts.h"
#include "train/checkpoint_file/checkpoint.h"
#include "train/checkpoint_file/checkpoint_format.h"

#include "base/nearest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#define CHECKSUM_KEY_1 "xxh3_64" /* version 1: the hash of all tensor bytes, 16 digits */
#define HEADER_LIMIT (100u << 20)

static tutti_status damaged(const checkpoint *c, const char *why, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_FORMAT, "%s: the checkpoint is damaged: %s", c->path, why);
}

static int32_t dtype_find(const char *word)
{
    for (int32_t d = TUTTI_DTYPE_NONE + 1; word && d < DTYPE_END; d++)
        if (strcmp(tutti_dtype_name(d), word) == 0)
            return d;
    return TUTTI_DTYPE_NONE;
}

/* Whether elements and bytes can be counted; before this, tutti_nbytes would overflow. */
static bool countable(const tutti_desc *d)
{
    int64_t n = (int64_t)tutti_dtype_size(d->dtype);
    for (int32_t r = 0; r < d->rank; r++)
        if (d->dim[r] < 0 || __builtin_mul_overflow(n, d->dim[r], &n))
            return false;
    return true;
}

static tutti_status read_item(checkpoint *c, const json_node *n, const char *data,
                              uint64_t bytes, tutti_error *err)
{
    checkpoint_item *item = &c->items[c->count];
    const json_node *shape = json_get(n, "shape"), *offsets = json_get(n, "data_offsets");
    const json_node *word = json_get(n, "dtype");
    tutti_desc *d = &item->tensor.desc;
    if (!shape || !offsets || !word || json_type(shape) != JSON_ARRAY ||
        json_count(shape) > TUTTI_MAX_RANK || json_count(offsets) != 2)
        return damaged(c, "a tensor's entry lacks dtype, shape or data_offsets", err);
    d->dtype = dtype_find(json_string(word));
    d->rank = (int32_t)json_count(shape);
    for (int32_t r = 0; r < d->rank; r++)
        d->dim[r] = json_int(json_at(shape, (size_t)r));
    if (!countable(d))
        return damaged(c, "a tensor's shape is impossible", err);
    const uint64_t first = (uint64_t)json_int(json_at(offsets, 0));
    const uint64_t end = (uint64_t)json_int(json_at(offsets, 1));
    if (d->dtype == TUTTI_DTYPE_NONE)
        return damaged(c, "a tensor's dtype is unknown", err);
    if (end < first || end > bytes || end - first != tutti_nbytes(d))
        return damaged(c, "tensors overlap or leave gaps", err);
    item->name = json_key(n);
    item->tensor.data = (void *)(uintptr_t)(data + first);
    item->tensor.device = TUTTI_DEVICE_CPU;
    c->words[c->count++] = item->name;
    return TUTTI_OK;
}

/* By place, an empty tensor before what begins where it lies. */
static int by_place(const void *a, const void *b)
{
    const tutti_tensor *x = &(*(const checkpoint_item *const *)a)->tensor;
    const tutti_tensor *y = &(*(const checkpoint_item *const *)b)->tensor;
    const uintptr_t px = (uintptr_t)x->data, py = (uintptr_t)y->data;
    const uintptr_t ex = px + tutti_nbytes(&x->desc), ey = py + tutti_nbytes(&y->desc);
    return px != py ? (px > py) - (px < py) : (ex > ey) - (ex < ey);
}

/* The tensors, in whatever order the header names them, fill `bytes` bytes one after the other. */
static tutti_status check_places(const checkpoint *c, const char *data, uint64_t bytes,
                                 tutti_error *err)
{
    const checkpoint_item **order = calloc(c->count + 1, sizeof *order);
    uint64_t at = 0;
    tutti_status s = TUTTI_OK;
    if (!order)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to read it", c->path);
    for (size_t k = 0; k < c->count; k++)
        order[k] = &c->items[k];
    qsort(order, c->count, sizeof *order, by_place);
    for (size_t k = 0; k < c->count && !s; k++) {
        if ((const char *)order[k]->tensor.data != data + at)
            s = damaged(c, "tensors overlap or leave gaps", err);
        at += tutti_nbytes(&order[k]->tensor.desc);
    }
    if (!s && at != bytes)
        s = damaged(c, "bytes follow the last tensor", err);
    free(order);
    return s;
}

/* Version 1. */
static tutti_status verify_tensors(checkpoint *c, const char *data, uint64_t bytes,
                                   tutti_error *err)
{
    const char *want = checkpoint_value(c, CHECKSUM_KEY_1);
    char have[17];
    (void)snprintf(have, sizeof have, "%016" PRIx64, (uint64_t)XXH3_64bits(data, bytes));
    if (want && strcmp(want, have) != 0)
        return damaged(c, "its bytes do not match the checksum", err);
    return TUTTI_OK;
}

static tutti_status verify_file(checkpoint *c, tutti_error *err)
{
    const char *map = c->map, *digits = map + 8 + SEAL_HEAD_SIZE;
    const char *rest = digits + SEAL_DIGITS;
    char have[SEAL_DIGITS + 1];
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to verify it", c->path);
    (void)XXH3_64bits_reset(state);
    (void)XXH3_64bits_update(state, map, 8 + SEAL_HEAD_SIZE);
    (void)XXH3_64bits_update(state, SEAL_NONE, SEAL_DIGITS);
    (void)XXH3_64bits_update(state, rest, (size_t)(map + c->size - rest));
    (void)snprintf(have, sizeof have, "%016" PRIx64, (uint64_t)XXH3_64bits_digest(state));
    (void)XXH3_freeState(state);
    if (memcmp(have, digits, SEAL_DIGITS) != 0)
        return damaged(c, "its bytes do not match the checksum", err);
    return TUTTI_OK;
}

static tutti_status verify(checkpoint *c, const char *data, uint64_t bytes, tutti_error *err)
{
    const char *version = checkpoint_value(c, "tutti"), *header = (const char *)c->map + 8;
    c->sealed = data - header > SEAL_HEAD_SIZE + SEAL_DIGITS &&
                memcmp(header, SEAL_HEAD, SEAL_HEAD_SIZE) == 0;
    if (c->sealed)
        return verify_file(c, err);
    if (version && strcmp(version, "1") != 0)
        return damaged(c, "it lacks its checksum", err);
    return verify_tensors(c, data, bytes, err);
}

static tutti_status read_header(checkpoint *c, tutti_error *err)
{
    const unsigned char *p = c->map;
    uint64_t length = 0;
    if (c->size < 8)
        return damaged(c, "it ends within the header", err);
    for (int k = 7; k >= 0; k--)
        length = length << 8 | p[k];
    if (length > HEADER_LIMIT || length > c->size - 8)
        return damaged(c, "it ends within the header", err);
    tutti_error why = TUTTI_ERROR_INIT;
    const tutti_status read =
        json_parse(c->path, (const char *)p + 8, (size_t)length, &c->header, &why);
    if (read == TUTTI_E_NOMEM)
        return tutti_fail(err, read, "%s", why.text);
    if (read || json_type(json_root(c->header)) != JSON_OBJECT)
        return damaged(c, "its header is not a JSON object", err);
    const json_node *root = json_root(c->header);
    const size_t n = json_count(root);
    c->items = calloc(n + 1, sizeof *c->items);
    c->words = calloc(n + 1, sizeof *c->words);
    if (!c->items || !c->words)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to read it", c->path);
    const char *data = (const char *)p + 8 + length;
    const uint64_t bytes = c->size - 8 - length;
    tutti_status s;
    for (size_t k = 0; k < n; k++) {
        const json_node *node = json_at(root, k);
        if (strcmp(json_key(node), "__metadata__") == 0)
            continue;
        const json_node *offsets = json_get(node, "data_offsets");
        if (offsets && (uint64_t)json_int(json_at(offsets, 1)) > bytes)
            return damaged(c, "it is shorter than its tensors", err);
        if ((s = read_item(c, node, data, bytes, err)))
            return s;
    }
    s = check_places(c, data, bytes, err);
    return s ? s : verify(c, data, bytes, err);
}

tutti_status checkpoint_open_file(const char *path, checkpoint **ret_checkpoint,
                                  tutti_error *err)
{
    tutti_status s;
    struct stat st;
    checkpoint *c = calloc(1, sizeof *c);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe does not wait */
    if (!c || !(c->path = strdup(path))) {
        s = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to read it", path);
        goto fail;
    }
    if (fd < 0 || fstat(fd, &st) != 0) {
        s = tutti_fail(err, TUTTI_E_IO, "%s: cannot open the checkpoint: %s", path,
                       strerror(errno));
        goto fail;
    }
    if (!S_ISREG(st.st_mode)) {
        s = tutti_fail(err, TUTTI_E_FORMAT, "%s: is no regular file", path);
        goto fail;
    }
    c->size = (uint64_t)st.st_size;
    if (c->size == 0) {
        s = damaged(c, "it is empty", err);
        goto fail;
    }
    c->map = mmap(NULL, (size_t)c->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (c->map == MAP_FAILED) {
        c->map = NULL;
        s = tutti_fail(err, TUTTI_E_IO, "%s: cannot map the checkpoint: %s", path,
                       strerror(errno));
        goto fail;
    }
    if ((s = read_header(c, err)))
        goto fail;
    (void)close(fd);
    *ret_checkpoint = c;
    return TUTTI_OK;

fail:
    if (fd >= 0)
        (void)close(fd);
    checkpoint_close(c);
    return s;
}

void checkpoint_close(checkpoint *c)
{
    if (!c)
        return;
    for (size_t k = 0; k < c->nshards; k++)
        checkpoint_close(c->shards[k]);
    free((void *)c->shards);
    if (c->map)
        (void)munmap(c->map, (size_t)c->size);
    json_free(c->header);
    free(c->items);
    free((void *)c->words);
    free(c->path);
    free(c);
}

void checkpoint_rename(checkpoint *c, const char *name)
{
    char *copy = strdup(name);
    if (!copy)
        return;
    free(c->path);
    c->path = copy;
}

size_t checkpoint_count(const checkpoint *c)
{
    return c->count;
}

void checkpoint_at(const checkpoint *c, size_t k, checkpoint_item *ret_item)
{
    *ret_item = c->items[k];
}

tutti_status checkpoint_find(const checkpoint *c, const char *name, tutti_tensor *ret_view,
                             tutti_error *err)
{
    for (size_t k = 0; k < c->count; k++)
        if (strcmp(c->items[k].name, name) == 0) {
            *ret_view = c->items[k].tensor;
            return TUTTI_OK;
        }
    const char *near = err ? nearest_word(name, c->words) : NULL;
    return tutti_fail(err, TUTTI_E_NOTFOUND, "%s: has no tensor %s%s%s%s", c->path, name,
                      near ? " (the nearest is " : "", near ? near : "", near ? ")" : "");
}

const char *checkpoint_value(const checkpoint *c, const char *key)
{
    const json_node *metadata = json_get(json_root(c->header), "__metadata__");
    const char *value = json_string(json_get(metadata, key));
    for (size_t k = 0; k < c->nshards && !value; k++)
        value = checkpoint_value(c->shards[k], key);
    return value;
}

bool checkpoint_is_sealed(const checkpoint *c)
{
    return c->sealed;
}
