/* checkpoint_index.c - checkpoints of several files: shards, and an index that says which tensor is where. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint_file/checkpoint_index.h"

#include "base/json.h"
#include "base/text.h"
#include "train/checkpoint_file/checkpoint_format.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define INDEX ".index.json"
#define TENSORS ".safetensors"
enum { INDEX_LIMIT = 100 << 20 };

static bool ends_with(const char *text, size_t size, const char *end)
{
    return size > strlen(end) && memcmp(text + size - strlen(end), end, strlen(end)) == 0;
}

bool checkpoint_is_index(const char *path)
{
    char *real = realpath(path, NULL);
    const char *name = real ? real : path;
    const bool is = ends_with(name, strlen(name), INDEX);
    free(real);
    return is;
}

static const char *name_in(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *index_shard(const char *path, const char *token, int32_t k, int32_t count)
{
    text_buffer b = {0};
    size_t stem = strlen(path) - strlen(INDEX);
    if (ends_with(path, stem, TENSORS))
        stem -= strlen(TENSORS);
    text_add_bytes(&b, path, stem);
    text_add(&b, "%s%s-%05" PRId32 "-of-%05" PRId32 TENSORS, token ? "-" : "",
             token ? token : "", k + 1, count);
    if (b.failed)
        free(b.data);
    return b.failed ? NULL : b.data;
}

char *index_text(const char *path, const char *token, const checkpoint_item *items,
                 const int32_t *ranks, size_t nitems, int32_t count)
{
    text_buffer b = {0};
    uint64_t total = 0;
    for (size_t k = 0; k < nitems; k++)
        total += tutti_nbytes(&items[k].tensor.desc);
    text_add(&b, "{\"metadata\": {\"total_size\": %" PRIu64, total);
    if (token)
        text_add(&b, ", \"" INDEX_SAVE_KEY "\": \"%s\"", token);
    text_add(&b, "},\n \"weight_map\": {");
    for (size_t k = 0; k < nitems && !b.failed; k++) {
        char *shard = index_shard(path, token, ranks[k], count);
        text_add(&b, k ? ",\n  " : "\n  ");
        text_add_quoted(&b, items[k].name);
        text_add(&b, ": ");
        text_add_quoted(&b, shard ? name_in(shard) : "");
        b.failed = b.failed || !shard;
        free(shard);
    }
    text_add(&b, "}}\n");
    if (b.failed)
        free(b.data);
    return b.failed ? NULL : b.data;
}

/* ---- reading ---- */

static tutti_status damaged(const char *path, const char *what, const char *name,
                            tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_FORMAT, "%s: the checkpoint is damaged: %s %.200s", path,
                      what, name);
}

/* The path of the file that the index `path` calls `name`. */
static char *beside(const char *path, const char *name)
{
    text_buffer b = {0};
    text_add_bytes(&b, path, (size_t)(name_in(path) - path));
    text_add(&b, "%s", name);
    if (b.failed)
        free(b.data);
    return b.failed ? NULL : b.data;
}

/* Whether a shard is of the save that its index names. */
static bool is_of_save(const checkpoint *c, const checkpoint *shard)
{
    const json_node *metadata = json_get(json_root(c->header), "metadata");
    const char *want = json_string(json_get(metadata, INDEX_SAVE_KEY));
    const char *have = checkpoint_value(shard, INDEX_SAVE_KEY);
    return !want || (have && strcmp(want, have) == 0);
}

/* The shard called `name`; opened at its first tensor.  `words` has the names of those that are. */
static tutti_status find_shard(checkpoint *c, const char *path, const char *name,
                               const char **words, checkpoint **ret, tutti_error *err)
{
    for (size_t k = 0; k < c->nshards; k++)
        if (strcmp(words[k], name) == 0) {
            *ret = c->shards[k];
            return TUTTI_OK;
        }
    if (strchr(name, '/') || name[0] == '\0')
        return damaged(path, "its index names a file outside of its folder:", name, err);
    char *file = beside(path, name);
    if (!file)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to read it", path);
    const bool gone = access(file, F_OK) != 0 && errno == ENOENT;
    const tutti_status s = gone ? damaged(path, "a file of it is not there:", name, err)
                                : checkpoint_open_file(file, ret, err);
    free(file);
    if (s)
        return s;
    words[c->nshards] = name;
    c->shards[c->nshards++] = *ret;
    return is_of_save(c, *ret) ? TUTTI_OK
                               : damaged(path, "a file of it is of another save:", name, err);
}

static tutti_status read_map(checkpoint *c, const char *path, const json_node *map,
                             tutti_error *err)
{
    const size_t n = json_count(map);
    c->items = calloc(n + 1, sizeof *c->items);
    c->words = calloc(n + 1, sizeof *c->words);
    c->shards = calloc(n + 1, sizeof *c->shards);
    const char **words = calloc(n + 1, sizeof *words);
    tutti_status s = c->items && c->words && c->shards && words
                         ? TUTTI_OK
                         : tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to read it", path);
    c->sealed = true;
    for (size_t k = 0; k < n && !s; k++) {
        const json_node *one = json_at(map, k);
        checkpoint *shard = NULL;
        tutti_error unheard = TUTTI_ERROR_INIT;
        s = json_string(one)
                ? find_shard(c, path, json_string(one), words, &shard, err)
                : damaged(path, "its index says of no file where it is:", json_key(one), err);
        if (s)
            break;
        checkpoint_item *item = &c->items[k];
        item->name = c->words[k] = json_key(one);
        c->count = k + 1;
        c->sealed = c->sealed && shard->sealed;
        if (checkpoint_find(shard, item->name, &item->tensor, &unheard))
            s = damaged(path, "its files have no", item->name, err);
    }
    free((void *)words);
    return s;
}

static tutti_status open_index(const char *path, checkpoint **ret, tutti_error *err)
{
    tutti_error why = TUTTI_ERROR_INIT;
    checkpoint *c = calloc(1, sizeof *c);
    if (!c || !(c->path = strdup(path))) {
        free(c);
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to read it", path);
    }
    tutti_status s = json_read(path, INDEX_LIMIT, &c->header, &why);
    if (s == TUTTI_E_FORMAT || s == TUTTI_E_RANGE)
        s = damaged(path, "its index is no JSON:", why.text, err);
    else if (s)
        s = tutti_fail(err, s, "%s", why.text);
    const json_node *map = s ? NULL : json_get(json_root(c->header), "weight_map");
    if (!s && (!map || json_type(map) != JSON_OBJECT || json_count(map) == 0))
        s = damaged(path, "its index has no", "weight_map", err);
    if (!s)
        s = read_map(c, path, map, err);
    if (s)
        checkpoint_close(c);
    else
        *ret = c;
    return s;
}

tutti_status checkpoint_open(const char *path, checkpoint **ret_checkpoint, tutti_error *err)
{
    if (!checkpoint_is_index(path))
        return checkpoint_open_file(path, ret_checkpoint, err);
    char *real = realpath(path, NULL); /* files lie beside the index, not beside a link to it */
    const tutti_status s = open_index(real ? real : path, ret_checkpoint, err);
    free(real);
    return s;
}

/* ---- replacing ---- */

/* Files of `old` that `text` does not name. */
static void remove_shards(const char *path, const json_doc *old, const char *text)
{
    const json_node *map = json_get(json_root(old), "weight_map");
    const char *last = "";
    for (size_t k = 0; k < json_count(map); k++) {
        const char *name = json_string(json_at(map, k));
        if (!name || strchr(name, '/') || strcmp(name, last) == 0 || strstr(text, name))
            continue;
        char *file = beside(path, name);
        if (file)
            (void)unlink(file); /* what stays is in nobody's way */
        free(file);
        last = name;
    }
}

/* The first file of the index that is not there; NULL: all are. */
static const char *find_missing(const char *path, const json_node *map)
{
    const char *last = "";
    for (size_t k = 0; k < json_count(map); k++) {
        const char *name = json_string(json_at(map, k));
        if (!name || strcmp(name, last) == 0)
            continue;
        char *file = beside(path, name);
        const bool there = file && access(file, F_OK) == 0;
        free(file);
        if (!there)
            return name;
        last = name;
    }
    return NULL;
}

static tutti_status await_shards(const char *path, const char *text, int wait_ms,
                                 tutti_error *err)
{
    enum { STEP_MS = 50 };
    const struct timespec pause = {.tv_nsec = STEP_MS * 1000000L};
    json_doc *index = NULL;
    tutti_error why = TUTTI_ERROR_INIT;
    const tutti_status s = json_parse(path, text, strlen(text), &index, &why);
    if (s)
        return tutti_fail(err, s, "%s", why.text);
    const json_node *map = json_get(json_root(index), "weight_map");
    const char *missing = find_missing(path, map);
    for (int waited = 0; missing && waited < wait_ms; waited += STEP_MS) {
        (void)nanosleep(&pause, NULL);
        missing = find_missing(path, map);
    }
    const tutti_status found =
        missing ? tutti_fail(err, TUTTI_E_NOTFOUND,
                             "%s: a file of the checkpoint is not there, though it is written: "
                             "%.200s; want a folder that all ranks share",
                             path, missing)
                : TUTTI_OK;
    json_free(index);
    return found;
}

tutti_status index_write(const char *path, const char *text, int wait_ms, tutti_error *err)
{
    json_doc *old = NULL;
    tutti_error none = TUTTI_ERROR_INIT;
    tutti_status s = await_shards(path, text, wait_ms, err);
    if (s)
        return s;
    (void)!json_read(path, INDEX_LIMIT, &old, &none); /* NULL: there is none */
    s = checkpoint_write_text(path, text, err);
    if (!s && old)
        remove_shards(path, old, text);
    json_free(old);
    return s;
}

void index_remove(const char *path)
{
    json_doc *old = NULL;
    tutti_error none = TUTTI_ERROR_INIT;
    if (json_read(path, INDEX_LIMIT, &old, &none))
        return; /* no index, or no file of ours */
    (void)unlink(path);
    remove_shards(path, old, "");
    json_free(old);
}
