/* checkpoint.c - safetensors files: written whole or not at all, verified when read. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint.h"
#include "base/counts.h"

#include "base/faults.h"
#include "base/json.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

/* A header of version 2 begins with this, then 16 hexadecimal digits: XXH3 of the whole file with zeros
 * for these digits. */
static const char seal_head[] = "{\"__metadata__\":{\"xxh3_64_file\":\"";
static const char seal_none[] = "0000000000000000";
enum { SEAL_HEAD = sizeof seal_head - 1, SEAL_DIGITS = sizeof seal_none - 1 };

#define VERSION "2"
#define CHECKSUM_KEY_1 "xxh3_64" /* version 1: the hash of all tensor bytes, 16 digits */
#define HEADER_LIMIT (100u << 20)
enum { MOST_INTERRUPTIONS = 1000 };

/* ---- writing ---- */

static tutti_status make_folders(const char *path, tutti_error *err)
{
    char part[4096];
    if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part)
        return tutti_fail(err, TUTTI_E_RANGE, "%.80s...: the path is too long", path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return tutti_fail(err, TUTTI_E_IO, "%s: cannot make the folder: %s", part,
                              strerror(errno));
        *slash = '/';
    }
    return TUTTI_OK;
}

static tutti_status write_all(int fd, const char *path, const void *data, uint64_t size,
                              tutti_error *err)
{
    const char *at = data;
    int interrupted = 0; /* in a row: a file system that knows nothing else is broken */
    while (size > 0) {
        const size_t part = size < (1u << 30) ? (size_t)size : (1u << 30);
        const ssize_t n = write(fd, at, part);
        if (n < 0 && errno == EINTR && ++interrupted < MOST_INTERRUPTIONS)
            continue;
        if (n <= 0)
            return tutti_fail(err, TUTTI_E_IO, "%s: cannot write the checkpoint: %s", path,
                              strerror(n < 0 ? errno : ENOSPC));
        interrupted = 0;
        at += n;
        size -= (uint64_t)n;
    }
    return TUTTI_OK;
}

/* The header's length as the file has it. */
static void put_length(unsigned char to[8], uint64_t length)
{
    for (int k = 0; k < 8; k++)
        to[k] = (unsigned char)(length >> (8 * k));
}

/* Puts the digits into a header that has none yet. */
static tutti_status seal(text_buffer *header, const checkpoint_item *items, size_t n)
{
    unsigned char length[8];
    char digits[SEAL_DIGITS + 1];
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return TUTTI_E_NOMEM;
    put_length(length, header->size);
    (void)XXH3_64bits_reset(state);
    (void)XXH3_64bits_update(state, length, sizeof length);
    (void)XXH3_64bits_update(state, header->data, header->size);
    for (size_t k = 0; k < n; k++)
        (void)XXH3_64bits_update(state, items[k].tensor.data,
                                 tutti_nbytes(&items[k].tensor.desc));
    (void)snprintf(digits, sizeof digits, "%016" PRIx64, (uint64_t)XXH3_64bits_digest(state));
    (void)XXH3_freeState(state);
    memcpy(header->data + SEAL_HEAD, digits, SEAL_DIGITS);
    return TUTTI_OK;
}

/* The header: length, then JSON padded with spaces so that the data begins at a multiple of 8. */
static tutti_status make_header(const checkpoint_item *items, size_t nitems,
                                const checkpoint_text *texts, size_t ntexts, text_buffer *b)
{
    text_add(b, "%s%s\",\"tutti\":\"" VERSION "\"", seal_head, seal_none);
    for (size_t k = 0; k < ntexts; k++) {
        text_add(b, ",");
        text_add_quoted(b, texts[k].key);
        text_add(b, ":");
        text_add_quoted(b, texts[k].value);
    }
    text_add(b, "}");
    uint64_t at = 0;
    for (size_t k = 0; k < nitems; k++) {
        const tutti_desc *d = &items[k].tensor.desc;
        const uint64_t end = at + tutti_nbytes(d);
        text_add(b, ",");
        text_add_quoted(b, items[k].name);
        text_add(b, ":{\"dtype\":\"%s\",\"shape\":[", tutti_dtype_name(d->dtype));
        for (int32_t r = 0; r < d->rank; r++)
            text_add(b, "%s%" PRId64, r ? "," : "", d->dim[r]);
        text_add(b, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", at, end);
        at = end;
    }
    text_add(b, "}");
    while (!b->failed && b->size % 8)
        text_add(b, " ");
    return b->failed ? TUTTI_E_NOMEM : seal(b, items, nitems);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A name that is given twice makes a file that nobody can read. */
static tutti_status check_names(const char *path, const checkpoint_item *items, size_t n,
                                tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    const char **names = calloc(n + 1, sizeof *names);
    if (!names)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to write it", path);
    for (size_t k = 0; k < n; k++)
        names[k] = items[k].name;
    qsort((void *)names, n, sizeof *names, by_name);
    for (size_t k = 1; k < n && !s; k++)
        if (strcmp(names[k - 1], names[k]) == 0)
            s = tutti_fail(err, TUTTI_E_EXISTS, "%s: two tensors are called %s", path,
                           names[k]);
    free((void *)names);
    return s;
}

static tutti_status sync_folder(const char *path, tutti_error *err)
{
    char folder[4096];
    (void)snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    const int fd =
        open(slash ? (*folder ? folder : "/") : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return tutti_fail(err, TUTTI_E_IO, "%s: cannot open its folder: %s", path,
                          strerror(errno));
    const int failed = fsync(fd);
    (void)close(fd);
    return failed ? tutti_fail(err, TUTTI_E_IO, "%s: cannot sync its folder: %s", path,
                               strerror(errno))
                  : TUTTI_OK;
}

tutti_status checkpoint_write(const char *path, const checkpoint_item *items, size_t nitems,
                              const checkpoint_text *texts, size_t ntexts, tutti_error *err)
{
    char temporary[4096];
    text_buffer header = {0};
    int fd = -1;
    tutti_status s = check_names(path, items, nitems, err);
    if (s || (s = make_folders(path, err)))
        return s;
    if (snprintf(temporary, sizeof temporary, "%s.tmp-XXXXXX", path) >= (int)sizeof temporary)
        return tutti_fail(err, TUTTI_E_RANGE, "%.80s...: the path is too long", path);
    if ((s = make_header(items, nitems, texts, ntexts, &header))) {
        free(header.data);
        return tutti_fail(err, s, "%s: no memory for the header", path);
    }
    fd = mkstemp(temporary);
    if (fd < 0) {
        free(header.data);
        return tutti_fail(err, TUTTI_E_IO, "%s: cannot make a temporary file beside it: %s",
                          path, strerror(errno));
    }
    (void)fchmod(fd, 0644);
    unsigned char length[8];
    put_length(length, header.size);
    if ((s = write_all(fd, path, length, sizeof length, err)) ||
        (s = write_all(fd, path, header.data, header.size, err)))
        goto fail;
    for (size_t k = 0; k < nitems; k++)
        if ((s = write_all(fd, path, items[k].tensor.data, tutti_nbytes(&items[k].tensor.desc),
                           err)))
            goto fail;
    if (fsync(fd) != 0) {
        s = tutti_fail(err, TUTTI_E_IO, "%s: cannot sync the checkpoint: %s", path,
                       strerror(errno));
        goto fail;
    }
    free(header.data);
    if (close(fd) != 0 || rename(temporary, path) != 0) {
        s = tutti_fail(err, TUTTI_E_IO, "%s: cannot put the checkpoint in place: %s", path,
                       strerror(errno));
        (void)unlink(temporary);
        return s;
    }
    return sync_folder(path, err);

fail:
    free(header.data);
    (void)close(fd);
    (void)unlink(temporary);
    return s;
}

tutti_status checkpoint_link(const char *link, const char *target, tutti_error *err)
{
    char temporary[4096];
    if (snprintf(temporary, sizeof temporary, "%s.new", link) >= (int)sizeof temporary)
        return tutti_fail(err, TUTTI_E_RANGE, "%.80s...: the path is too long", link);
    const char *name = strrchr(target, '/');
    (void)unlink(temporary);
    if (symlink(name ? name + 1 : target, temporary) != 0 || rename(temporary, link) != 0)
        return tutti_fail(err, TUTTI_E_IO, "%s: cannot point the link at %s: %s", link, target,
                          strerror(errno));
    return TUTTI_OK;
}

/* ---- reading ---- */

struct checkpoint {
    char *path;
    void *map;
    uint64_t size;
    json_doc *header;
    checkpoint_item *items;
    const char **words; /* the names, NULL-terminated */
    size_t count;
    bool sealed;
};

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
    const char *map = c->map, *digits = map + 8 + SEAL_HEAD;
    const char *rest = digits + SEAL_DIGITS;
    char have[SEAL_DIGITS + 1];
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to verify it", c->path);
    (void)XXH3_64bits_reset(state);
    (void)XXH3_64bits_update(state, map, 8 + SEAL_HEAD);
    (void)XXH3_64bits_update(state, seal_none, SEAL_DIGITS);
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
    c->sealed =
        data - header > SEAL_HEAD + SEAL_DIGITS && memcmp(header, seal_head, SEAL_HEAD) == 0;
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
    if (json_parse(c->path, (const char *)p + 8, (size_t)length, &c->header, &why) ||
        json_type(json_root(c->header)) != JSON_OBJECT)
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

tutti_status checkpoint_open(const char *path, checkpoint **ret_checkpoint, tutti_error *err)
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
    if (c->map)
        (void)munmap(c->map, (size_t)c->size);
    json_free(c->header);
    free(c->items);
    free((void *)c->words);
    free(c->path);
    free(c);
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
    const char *near = nearest_word(name, c->words);
    return tutti_fail(err, TUTTI_E_NOTFOUND, "%s: has no tensor %s%s%s%s", c->path, name,
                      near ? " (the nearest is " : "", near ? near : "", near ? ")" : "");
}

const char *checkpoint_value(const checkpoint *c, const char *key)
{
    const json_node *metadata = json_get(json_root(c->header), "__metadata__");
    const json_node *value = metadata ? json_get(metadata, key) : NULL;
    return value ? json_string(value) : NULL;
}

bool checkpoint_is_sealed(const checkpoint *c)
{
    return c->sealed;
}
