/* convert.c - threads write shards, each whole or not at all; the index comes last. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/data/begun.h"
#include "cli/data/progress.h"

#include "base/folder_lock.h"
#include "base/folders.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, PROBES = 16, SHARD_BYTES = 32 << 20, MOST_SAMPLES = 1 << 20 };

typedef struct conversion {
    const convert_options *options;
    const data_set *set;
    shard_layout layout;
    int64_t shard_samples;
    int64_t shards;
    uint64_t *bytes; /* of each shard */
    bool goes_on;    /* shards that are there are of an earlier try */
} conversion;

/* ---- files ---- */

static void shard_path(const conversion *c, int64_t shard, char path[PATH_SIZE])
{
    (void)snprintf(path, PATH_SIZE, "%s/shard.%05lld.mds", c->options->to, (long long)shard);
}

static int64_t samples_of(const conversion *c, int64_t shard)
{
    const int64_t left = c->set->info.samples - shard * c->shard_samples;
    return left < c->shard_samples ? left : c->shard_samples;
}

/* ---- one shard ---- */

/* Whether an earlier try has written it; its size goes to *ret_bytes. */
static bool is_written(const conversion *c, int64_t shard, uint64_t *ret_bytes)
{
    char path[PATH_SIZE];
    struct stat st;
    uint32_t count = 0, end = 0;
    shard_path(c, shard, path);
    const int64_t n = samples_of(c, shard);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool whole = fd >= 0 && fstat(fd, &st) == 0 &&
                       pread(fd, &count, sizeof count, 0) == sizeof count &&
                       pread(fd, &end, sizeof end, 4 + 4 * n) == sizeof end && count == n &&
                       (uint64_t)st.st_size == end;
    if (fd >= 0)
        (void)close(fd);
    if (whole)
        *ret_bytes = (uint64_t)st.st_size;
    return whole;
}

static tutti_status write_shard(conversion *c, data_set *d, int64_t shard, tutti_error *err)
{
    const int64_t n = samples_of(c, shard), first = shard * c->shard_samples;
    const size_t header = 4 + 4 * ((size_t)n + 1);
    text_buffer b = {.data = NULL};
    uint32_t *offsets = calloc((size_t)n + 2, sizeof *offsets);
    char path[PATH_SIZE];
    if (!offsets)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a shard");
    tutti_status s = TUTTI_OK;
    offsets[0] = (uint32_t)n;
    text_add_bytes(&b, (const char *)offsets, header);
    offsets[1] = (uint32_t)header;
    for (int64_t k = 0; k < n && !s; k++) {
        s = data_set_read(d, first + k, err);
        if (!s)
            s = shard_add_sample(&c->layout, d, &b, err);
        if (!s && b.size > UINT32_MAX)
            s = tutti_fail(err, TUTTI_E_RANGE,
                           "shard %lld has more than 4 GiB; want a smaller --shard-samples",
                           (long long)shard);
        offsets[2 + k] = (uint32_t)b.size;
    }
    if (!s) {
        memcpy(b.data, offsets, header);
        c->bytes[shard] = b.size;
        shard_path(c, shard, path);
        s = begun_write(path, &b, err);
    }
    free(offsets);
    free(b.data);
    return s;
}

/* ---- all shards ---- */

static tutti_status write_shards(conversion *c, tutti_error *err)
{
    tutti_error cause = TUTTI_ERROR_INIT;
    progress shown = progress_begin(c->set->info.samples);
    int64_t bad = c->shards; /* the first shard that failed */
#pragma omp parallel num_threads((int)c->options->threads)
    {
        data_set own = data_set_share(c->set);
#pragma omp for schedule(dynamic, 1)
        for (int64_t k = 0; k < c->shards; k++) {
            tutti_error e = TUTTI_ERROR_INIT;
            int64_t known;
#pragma omp atomic read
            known = bad;
            if (known < k)
                continue;
            const bool there = c->goes_on && is_written(c, k, &c->bytes[k]);
            const tutti_status s = there ? TUTTI_OK : write_shard(c, &own, k, &e);
#pragma omp critical(convert_done)
            {
                if (s && k < bad) {
                    cause = e;
#pragma omp atomic write
                    bad = k;
                }
                progress_add(&shown, s ? 0 : samples_of(c, k), !there);
            }
        }
        data_set_unshare(&own);
    }
    progress_end(&shown);
    return bad < c->shards ? tutti_fail(err, cause.status, "%s", cause.text) : TUTTI_OK;
}

static void add_names(text_buffer *b, const shard_layout *l, bool encodings)
{
    for (uint32_t k = 0; k < l->ncolumns; k++) {
        text_add(b, k ? ", " : "");
        text_add_quoted(b, encodings ? l->columns[k].encoding : l->columns[k].name);
    }
}

static void add_shard(text_buffer *b, const conversion *c, int64_t shard)
{
    const shard_layout *l = &c->layout;
    text_add(b, "%s{\"format\": \"mds\", \"version\": 2, \"column_names\": [",
             shard ? ",\n" : "");
    add_names(b, l, false);
    text_add(b, "], \"column_encodings\": [");
    add_names(b, l, true);
    text_add(b, "], \"column_sizes\": [");
    for (uint32_t k = 0; k < l->ncolumns; k++)
        if (l->columns[k].size < 0)
            text_add(b, "%snull", k ? ", " : "");
        else
            text_add(b, "%s%lld", k ? ", " : "", (long long)l->columns[k].size);
    text_add(
        b,
        "], \"samples\": %lld, \"size_limit\": null, \"hashes\": [], \"compression\": null, "
        "\"raw_data\": {\"basename\": \"shard.%05lld.mds\", \"bytes\": %llu, \"hashes\": {}}, "
        "\"zip_data\": null}",
        (long long)samples_of(c, shard), (long long)shard, (unsigned long long)c->bytes[shard]);
}

static tutti_status write_index(const conversion *c, tutti_error *err)
{
    text_buffer b = {.data = NULL};
    char path[PATH_SIZE];
    text_add(&b, "{\"version\": 2, \"shards\": [\n");
    for (int64_t k = 0; k < c->shards; k++)
        add_shard(&b, c, k);
    text_add(&b, "]}\n");
    (void)snprintf(path, sizeof path, "%s/index.json", c->options->to);
    const tutti_status s = b.failed ? tutti_fail(err, TUTTI_E_NOMEM, "no memory for an index")
                                    : begun_write(path, &b, err);
    free(b.data);
    return s;
}

/* What the classes are called, a line each, where all of them have names: the data set mds reads it beside the index. */
static tutti_status write_classes(const conversion *c, tutti_error *err)
{
    const int k = data_set_column(c->set, "target");
    const tutti_column *target = k < 0 ? NULL : &c->set->info.columns[k];
    text_buffer b = {.data = NULL};
    char path[PATH_SIZE];
    tutti_status s = TUTTI_OK;
    if (!target || !target->classes || target->desc.rank)
        return TUTTI_OK;
    for (int64_t i = 0; i < target->classes && !s; i++) {
        const char *name = data_set_class(c->set, target->name, i);
        if (!name)
            goto end;
        if (!*name || strchr(name, '\n') || name[strlen(name) - 1] == '\r')
            s = tutti_fail(err, TUTTI_E_UNSUPPORTED,
                           "class %lld is called \"%s\", which is no line of a file",
                           (long long)i, name);
        text_add(&b, "%s\n", name);
    }
    (void)snprintf(path, sizeof path, "%s/classes.txt", c->options->to);
    if (!s)
        s = b.failed ? tutti_fail(err, TUTTI_E_NOMEM, "no memory for names of classes")
                     : begun_write(path, &b, err);

end:
    free(b.data);
    return s;
}

/* ---- a second try ---- */

/* What decides the bytes of shards. */
static void add_plan(text_buffer *b, const conversion *c)
{
    begun_describe(b, c->set, c->options);
    text_add(b, ", \"shard_samples\": %lld, \"encodings\": [", (long long)c->shard_samples);
    add_names(b, &c->layout, true);
    text_add(b, "]}\n");
}

static void remove_shards(const conversion *c)
{
    char path[PATH_SIZE];
    for (int64_t k = 0; k < c->shards; k++) {
        shard_path(c, k, path);
        (void)unlink(path);
    }
}

/* The folder, and in it what is about to be done; of an earlier try it is the same. */
static tutti_status begin_folder(conversion *c, const char *plan, tutti_error *err)
{
    char index[PATH_SIZE];
    text_buffer b = {.data = NULL};
    (void)snprintf(index, sizeof index, "%s/index.json", c->options->to);
    if (access(index, F_OK) == 0)
        return tutti_fail(err, TUTTI_E_STATE, "%s: there is a set already", c->options->to);
    tutti_status s = folders_make(index, err);
    add_plan(&b, c);
    if (!s)
        s = begun_compare(plan, &b, c->options->to, "folder", &c->goes_on, err);
    if (!s && !c->goes_on) {
        remove_shards(c); /* nothing tells what they are */
        s = begun_write(plan, &b, err);
    }
    free(b.data);
    return s;
}

/* ---- the whole ---- */

/* Samples of a shard: as the user says, or as many as some samples tell. */
static tutti_status size_shards(conversion *c, tutti_error *err)
{
    data_set own = data_set_share(c->set);
    text_buffer b = {.data = NULL};
    const int64_t n = c->set->info.samples < PROBES ? c->set->info.samples : PROBES;
    tutti_status s = TUTTI_OK;
    for (int64_t k = 0; k < n && !s; k++)
        if (!(s = data_set_read(&own, c->set->info.samples * k / n, err)) &&
            !(s = shard_see_sample(&c->layout, &own, err)))
            s = shard_add_sample(&c->layout, &own, &b, err);
    const int64_t bytes = (int64_t)b.size / n + 1, fit = SHARD_BYTES / bytes + 1;
    c->shard_samples = c->options->shard_samples ? c->options->shard_samples
                       : fit < MOST_SAMPLES      ? fit
                                                 : MOST_SAMPLES;
    c->shards = (c->set->info.samples + c->shard_samples - 1) / c->shard_samples;
    data_set_unshare(&own);
    free(b.data);
    return s;
}

static tutti_status check_layout(const shard_layout *l, tutti_error *err)
{
    for (uint32_t k = 0; k < l->ncolumns; k++)
        if (strchr(l->columns[k].encoding, '?'))
            return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                              "column %s has a type that MDS cannot hold", l->columns[k].name);
    return TUTTI_OK;
}

tutti_status convert_data(const data_set *d, const convert_options *o, tutti_error *err)
{
    conversion c = {.options = o, .set = d};
    char plan[PATH_SIZE];
    shard_layout_make(d, &c.layout);
    (void)snprintf(plan, sizeof plan, "%s/conversion.json", o->to);
    folder_lock *lock = NULL;
    tutti_status s = d->info.samples < 1 ? tutti_fail(err, TUTTI_E_ARG, "there are no samples")
                                         : check_layout(&c.layout, err);
    if (s || (s = size_shards(&c, err)) || (s = folder_lock_take(&lock, o->to, err)) ||
        (s = begin_folder(&c, plan, err)))
        goto end;
    c.bytes = calloc((size_t)c.shards, sizeof *c.bytes);
    s = c.bytes ? write_shards(&c, err) : tutti_fail(err, TUTTI_E_NOMEM, "no memory");
    if (!s && !(s = write_classes(&c, err)) && !(s = write_index(&c, err)))
        (void)unlink(plan);

end:
    folder_lock_release(lock);
    free(c.bytes);
    return s;
}
