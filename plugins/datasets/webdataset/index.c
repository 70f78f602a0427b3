/* index.c - files of one name up to its first dot, next to each other, are a sample. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "index.h"
#include "../../common/json_memory.h"

#include "../common/npy_array.h"
#include "tar.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

#include <jansson.h>

enum { MAX_LABEL = 1 << 24, DIGITS = 20 };

/* One shard on its way into the index. */
typedef struct reading {
    wds_index *index;
    const shard *shard;
    const tutti_param *inputs; /* endings */
    const char *target;        /* ending, or NULL */
    const char *key;           /* of a json target */
    int64_t given;             /* classes that the run file tells, or 0 */
    char sample[TAR_NAME_SIZE];
    place place;
    uint64_t input; /* which of `inputs`, or their count: none yet */
    int32_t has_target;
    int32_t reserved;
} reading;

/* ---- targets ---- */

static tutti_status bad_target(const reading *r, const char *what, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_FORMAT, "%s: sample %s: %s %s", r->shard->path, r->sample,
                      r->target, what);
}

/* A label of the file `labels`. */
static tutti_status named_label(const reading *r, const char *data, uint64_t size, int64_t *ret,
                                tutti_error *err)
{
    char what[120];
    *ret = label_names_class(&r->index->names, data, size);
    if (*ret >= 0)
        return TUTTI_OK;
    (void)snprintf(what, sizeof what, "holds \"%.*s\", which is no label",
                   (int)(size < 60 ? size : 60), data);
    return bad_target(r, what, err);
}

/* Digits, or a label, between blanks. */
static tutti_status text_label(const reading *r, const char *data, uint64_t size, int64_t *ret,
                               tutti_error *err)
{
    char text[DIGITS + 1] = "";
    while (size > 0 && isspace((unsigned char)data[size - 1]))
        size--;
    for (; size > 0 && isspace((unsigned char)*data); size--)
        data++;
    if (size > 0 && size <= DIGITS)
        memcpy(text, data, size);
    char *end = text;
    *ret = strtoll(text, &end, 10);
    if (end != text && !*end)
        return TUTTI_OK;
    return r->index->names.count ? named_label(r, data, size, ret, err)
                                 : bad_target(r, "holds no whole number", err);
}

static tutti_status json_label(const reading *r, const char *data, uint64_t size, int64_t *ret,
                               tutti_error *err)
{
    json_error_t why;
    const unsigned long before = json_memory_watch();
    json_t *root = json_loadb(data, size, 0, &why);
    tutti_status s = json_memory_told(before, &root, r->shard->path, err);
    const json_t *value = json_object_get(root, r->key);
    if (s)
        return s;
    if (!root)
        s = bad_target(r, "is not JSON", err);
    else if (json_is_string(value) && r->index->names.count)
        s = named_label(r, json_string_value(value), json_string_length(value), ret, err);
    else if (!json_is_integer(value))
        s = tutti_fail(err, TUTTI_E_FORMAT, "%s: sample %s: %s has no whole number called %s",
                       r->shard->path, r->sample, r->target, r->key);
    else
        *ret = json_integer_value(value);
    json_decref(root);
    return s;
}

/* An array of one whole number. */
static tutti_status array_label(const reading *r, const char *data, uint64_t size, int64_t *ret,
                                tutti_error *err)
{
    npy_array a;
    const tutti_status s = npy_view(&a, r->shard->path, (const uint8_t *)data, size, err);
    if (s)
        return s;
    if (a.kind == 'f' || a.bytes != (uint64_t)a.width)
        return bad_target(r, "is no array of one whole number", err);
    *ret = npy_whole(&a, 0, 0);
    return TUTTI_OK;
}

static tutti_status take_target(reading *r, const tar_file *f, tutti_error *err)
{
    const char *data = (const char *)r->shard->file.data + f->at;
    const int64_t most = r->given ? r->given - 1 : MAX_LABEL;
    int64_t label = 0;
    const tutti_status s =
        strcasecmp(r->target, "json") == 0  ? json_label(r, data, f->size, &label, err)
        : strcasecmp(r->target, "npy") == 0 ? array_label(r, data, f->size, &label, err)
                                            : text_label(r, data, f->size, &label, err);
    if (s)
        return s;
    if (label < 0 || label > most)
        return tutti_fail(err, TUTTI_E_RANGE, "%s: sample %s: label %lld, want 0 to %lld",
                          r->shard->path, r->sample, (long long)label, (long long)most);
    if (label >= r->index->classes)
        r->index->classes = label + 1;
    r->place.label = (int32_t)label;
    r->has_target = 1;
    return TUTTI_OK;
}

/* ---- samples ---- */

static tutti_status finish_sample(reading *r, tutti_error *err)
{
    wds_index *x = r->index;
    const int has_input = r->input < r->inputs->count;
    const int has_target = r->has_target || !r->target;
    if (!has_input && !r->has_target)
        return TUTTI_OK; /* files that have nothing to do with us, or none yet */
    if (!has_input || !has_target)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: sample %s has no %s", r->shard->path,
                          r->sample, has_input ? r->target : r->inputs->items[0]->s);
    const int32_t kind = (int32_t)wds_kind_of(r->inputs->items[r->input]->s);
    if (x->count > 0 && kind != x->kind)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: sample %s has the input %s, which is of another kind than those "
                          "before it",
                          r->shard->path, r->sample, r->inputs->items[r->input]->s);
    x->kind = kind;
    if (x->count == x->capacity) {
        const int64_t capacity = x->capacity ? x->capacity * 2 : 1024;
        place *grown = realloc(x->places, (size_t)capacity * sizeof *grown);
        if (!grown)
            return tutti_fail(err, TUTTI_E_NOMEM, "webdataset: no memory for the index");
        x->places = grown;
        x->capacity = capacity;
    }
    x->places[x->count++] = r->place;
    return TUTTI_OK;
}

static void begin_sample(reading *r, const char *name, size_t length)
{
    memcpy(r->sample, name, length);
    r->sample[length] = '\0';
    r->place = (place){.shard = (uint32_t)(r->shard - r->index->shards.all)};
    r->input = r->inputs->count;
    r->has_target = 0;
}

static tutti_status webdataset_twice(const reading *r, const char *ending, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_FORMAT, "%s: sample %s has two files %s", r->shard->path,
                      r->sample, ending);
}

static tutti_status take_file(reading *r, const tar_file *f, tutti_error *err)
{
    const char *slash = strrchr(f->name, '/'), *base = slash ? slash + 1 : f->name;
    const char *dot = strchr(base, '.');
    if (!dot || dot == base || strncmp(base, "__", 2) == 0)
        return TUTTI_OK;
    const size_t length = (size_t)(dot - f->name);
    if (strlen(r->sample) != length || memcmp(r->sample, f->name, length) != 0) {
        const tutti_status s = finish_sample(r, err);
        if (s)
            return s;
        begin_sample(r, f->name, length);
    }
    for (uint64_t k = 0; k < r->inputs->count; k++) {
        if (strcasecmp(dot + 1, r->inputs->items[k]->s) != 0)
            continue;
        if (k == r->input)
            return webdataset_twice(r, dot + 1, err);
        if (k < r->input) {
            r->input = k;
            r->place.at = f->at;
            r->place.size = f->size;
        }
    }
    if (!r->target || strcasecmp(dot + 1, r->target) != 0)
        return TUTTI_OK;
    return r->has_target ? webdataset_twice(r, dot + 1, err) : take_target(r, f, err);
}

static tutti_status read_shard(reading *r, tutti_error *err)
{
    char why[TAR_WHY_SIZE];
    tar_file f;
    tar_reader *tar = malloc(sizeof *tar);
    if (!tar)
        return tutti_fail(err, TUTTI_E_NOMEM, "webdataset: no memory to read a shard");
    tar_begin(tar, r->shard->file.data, r->shard->file.size);
    begin_sample(r, "", 0);
    tutti_status s = TUTTI_OK;
    int32_t more = 1;
    while (s == TUTTI_OK && (more = tar_next(tar, &f, why)) == 1)
        s = take_file(r, &f, err);
    if (s == TUTTI_OK && more < 0)
        s = tutti_fail(err, more, "%s: %s", r->shard->path, why);
    free(tar);
    return s ? s : finish_sample(r, err);
}

/* ---- all shards ---- */

/* Classes by the file `path`, or NULL: by their numbers alone. */
static tutti_status name_classes(reading *r, const char *path, tutti_error *err)
{
    label_names *names = &r->index->names;
    if (!path)
        return TUTTI_OK;
    const tutti_status s = label_names_read(names, path, err);
    if (s)
        return s;
    if (r->given && r->given != names->count)
        return tutti_fail(err, TUTTI_E_ARG, "%s: has %lld labels, classes says %lld", path,
                          (long long)names->count, (long long)r->given);
    if (!names->count)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: holds no labels", path);
    r->given = names->count;
    return TUTTI_OK;
}

static tutti_status read_shards(reading *r, tutti_error *err)
{
    wds_index *x = r->index;
    wds_fetch fetch = {.source = &x->shards.source};
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; s == TUTTI_OK && k < x->shards.count; k++) {
        r->shard = &x->shards.all[k];
        x->shards.all[k].first = x->count;
        s = shards_first(&x->shards, &fetch, k, err);
        if (s == TUTTI_OK)
            s = read_shard(r, err);
        if (s == TUTTI_OK)
            s = shards_settle(&x->shards, k, err);
    }
    fetch_end(&fetch);
    return s;
}

tutti_status wds_open(wds_index *x, const tutti_params *params, const tutti_log_v1 *log,
                      tutti_error *err)
{
    memset(x, 0, sizeof *x);
    tutti_status s = shards_open(&x->shards, params, log, err);
    reading *r = calloc(1, sizeof *r);
    if (s == TUTTI_OK && !r)
        s = tutti_fail(err, TUTTI_E_NOMEM, "webdataset: no memory");
    if (s == TUTTI_OK)
        *r = (reading){.index = x,
                       .inputs = tutti_param_find(params, "inputs"),
                       .target = tutti_param_str(params, "target"),
                       .key = tutti_param_str(params, "target_key"),
                       .given = tutti_param_i64(params, "classes")};
    if (s == TUTTI_OK)
        s = name_classes(r, tutti_param_str(params, "labels"), err);
    if (s == TUTTI_OK)
        s = read_shards(r, err);
    if (s == TUTTI_OK && x->count == 0)
        s = tutti_fail(err, TUTTI_E_FORMAT, "%s: holds no samples", x->shards.all[0].path);
    if (s == TUTTI_OK && r->target && r->given)
        x->classes = r->given;
    free(r);
    return s;
}

void wds_close(wds_index *x)
{
    shards_close(&x->shards);
    free(x->places);
    label_names_free(&x->names);
    memset(x, 0, sizeof *x);
}
