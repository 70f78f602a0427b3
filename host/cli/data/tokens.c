/* tokens.c - the tokens of a data set, one after the other, as a file of llm.c's format: threads read, the file grows in order. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output_file.h"
#include "base/whole_io.h"
#include "cli/data/begun.h"
#include "cli/data/progress.h"

#include "base/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_INTS = 256, NARROW = 1 << 16, PATH_SIZE = 4096, BLOCK_TOKENS = 1 << 20 };

/* Blocks of samples become parts of the file, which is whole up to its end at any time. */
typedef struct token_file {
    const data_set *set;
    const convert_options *options;
    char *target; /* where the path leads */
    char part[PATH_SIZE + 16], plan[PATH_SIZE + 16];
    int fd;
    size_t bytes;   /* of a token */
    int64_t length; /* tokens of a sample */
    int64_t block;  /* samples of a block; the last one may have fewer */
    int64_t blocks;
    int64_t written; /* blocks that the file has */
    int32_t last;    /* the target's last, which the next sample begins with; -1: none yet */
} token_file;

/* The tokens of a block, and with what it joins its neighbours. */
typedef struct token_block {
    void *data;
    int64_t count;
    int32_t first, last;
} token_block;

static tutti_status file_failed(const char *path, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_IO, "%s: %s", path, strerror(errno));
}

/* ---- blocks ---- */

static tutti_status does_not_join(int64_t sample, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                      "sample %lld does not begin with the token that the one before it ends "
                      "with; want \"stride\" to be \"length\"",
                      (long long)sample);
}

static int64_t samples_of(const token_file *f, int64_t block)
{
    const int64_t left = f->set->info.samples - block * f->block;
    return left < f->block ? left : f->block;
}

static tutti_status read_block(const token_file *f, data_set *d, int64_t block, token_block *b,
                               tutti_error *err)
{
    const int64_t n = samples_of(f, block);
    uint16_t *narrow = b->data;
    uint32_t *wide = b->data;
    b->count = 0;
    for (int64_t k = 0; k < n; k++) {
        const int64_t index = block * f->block + k;
        const tutti_status s = data_set_read(d, index, err);
        if (s)
            return s;
        const int32_t *in = d->columns[0].data, *out = d->columns[1].data;
        if (k && in[0] != b->last)
            return does_not_join(index, err);
        b->first = k ? b->first : in[0];
        for (int64_t t = 0; t < f->length; t++, b->count++) {
            if (f->bytes == 2)
                narrow[b->count] = (uint16_t)in[t];
            else
                wide[b->count] = (uint32_t)in[t];
        }
        b->last = out[f->length - 1];
    }
    return TUTTI_OK;
}

static tutti_status write_at(const token_file *f, const void *data, size_t size, int64_t at,
                             tutti_error *err)
{
    return whole_write(f->fd, data, size, at) == size ? TUTTI_OK : file_failed(f->part, err);
}

static int64_t place_of(const token_file *f, int64_t sample)
{
    return (int64_t)sizeof(int32_t) * HEADER_INTS + sample * f->length * (int64_t)f->bytes;
}

/* Behind all blocks before it; what a loss of power leaves is whole too. */
static tutti_status append_block(token_file *f, int64_t block, const token_block *b,
                                 tutti_error *err)
{
    if (f->last >= 0 && b->first != f->last)
        return does_not_join(block * f->block, err);
    const tutti_status s =
        write_at(f, b->data, (size_t)b->count * f->bytes, place_of(f, block * f->block), err);
    f->last = b->last;
    return s || fdatasync(f->fd) == 0 ? s : file_failed(f->part, err);
}

static tutti_status write_blocks(token_file *f, tutti_error *err)
{
    progress shown = progress_begin(f->set->info.samples);
    tutti_status all = TUTTI_OK;
    const size_t capacity = (size_t)(f->block * f->length) * f->bytes;
    if (f->written)
        progress_add(&shown, f->written * f->block, false);
#pragma omp parallel num_threads((int)f->options->threads)
    {
        data_set own = data_set_share(f->set);
        token_block b = {.data = malloc(capacity)};
#pragma omp for ordered schedule(dynamic, 1)
        for (int64_t k = f->written; k < f->blocks; k++) {
            tutti_error e = TUTTI_ERROR_INIT;
            tutti_status known, s;
#pragma omp atomic read
            known = all;
            s = known    ? known
                : b.data ? read_block(f, &own, k, &b, &e)
                         : tutti_fail(&e, TUTTI_E_NOMEM, "no memory for tokens");
#pragma omp ordered
            if (!all) { /* else a block before this one failed */
                s = s ? s : append_block(f, k, &b, &e);
                if (s)
                    (void)tutti_fail(err, s, "%s", e.text);
                else
                    progress_add(&shown, samples_of(f, k), true);
#pragma omp atomic write
                all = s;
            }
        }
        free(b.data);
        data_set_unshare(&own);
    }
    progress_end(&shown);
    return all;
}

/* ---- the file ---- */

/* Takes what an earlier try wrote, up to a whole block. */
static tutti_status take_up(token_file *f, bool goes_on, tutti_error *err)
{
    struct stat st;
    if (fstat(f->fd, &st) != 0)
        return file_failed(f->part, err);
    const int64_t there = (int64_t)st.st_size - place_of(f, 0);
    const int64_t whole = place_of(f, f->block) - place_of(f, 0);
    f->written = goes_on && there > 0 ? there / whole : 0;
    if (ftruncate(f->fd, place_of(f, f->written * f->block)) != 0)
        return file_failed(f->part, err);
    if (!f->written)
        return TUTTI_OK;
    data_set own = data_set_share(f->set);
    const tutti_status s = data_set_read(&own, f->written * f->block - 1, err);
    if (!s)
        f->last = ((const int32_t *)own.columns[1].data)[f->length - 1];
    data_set_unshare(&own);
    return s;
}

static tutti_status begin_file(token_file *f, tutti_error *err)
{
    text_buffer b = {.data = NULL};
    bool goes_on = false;
    begun_describe(&b, f->set, f->options);
    text_add(&b, ", \"length\": %lld, \"bytes\": %d}\n", (long long)f->length, (int)f->bytes);
    tutti_status s = begun_compare(f->plan, &b, f->plan, "file", &goes_on, err);
    if (!s)
        s = take_up(f, goes_on, err);
    if (!s && !goes_on)
        s = begun_write(f->plan, &b, err);
    free(b.data);
    return s;
}

/* The last token, and the header in the place of zeros. */
static tutti_status end_file(const token_file *f, tutti_error *err)
{
    const int64_t samples = f->set->info.samples, count = samples * f->length + 1;
    const int32_t header[HEADER_INTS] = {f->bytes == 2 ? 20240520 : 20240801,
                                         f->bytes == 2 ? 1 : 7, (int32_t)count};
    const uint32_t last = (uint32_t)f->last; /* of little endian */
    tutti_status s = write_at(f, &last, f->bytes, place_of(f, samples), err);
    if (!s)
        s = write_at(f, header, sizeof header, 0, err);
    if (s)
        return s;
    if (fsync(f->fd) != 0)
        return file_failed(f->part, err);
    if (rename(f->part, f->target) != 0)
        return file_failed(f->target, err);
    (void)unlink(f->plan);
    return folders_sync(f->target, err);
}

static tutti_status open_file(token_file *f, tutti_error *err)
{
    f->fd = open(f->part, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (f->fd < 0)
        return file_failed(f->part, err);
    return flock(f->fd, LOCK_EX | LOCK_NB) == 0
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_STATE, "%s: another process writes it", f->part);
}

static tutti_status check_tokens(const token_file *f, tutti_error *err)
{
    const char *to = f->options->to;
    if (!shard_is_text(f->set))
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "%s: a file of tokens takes samples of tokens, whose target is the "
                          "input one further",
                          to);
    if (f->set->info.samples < 1)
        return tutti_fail(err, TUTTI_E_ARG, "there are no samples");
    if (f->set->info.samples >= INT32_MAX / f->length)
        return tutti_fail(err, TUTTI_E_RANGE, "%s: more than 2147483646 tokens in a file", to);
    return access(to, F_OK) == 0 ? tutti_fail(err, TUTTI_E_STATE, "%s: is there already", to)
                                 : TUTTI_OK;
}

static tutti_status name_files(token_file *f, tutti_error *err)
{
    const tutti_status s = output_file_target(f->options->to, &f->target, err);
    if (s)
        return s;
    (void)snprintf(f->part, sizeof f->part, "%s.part", f->target);
    (void)snprintf(f->plan, sizeof f->plan, "%s.part.json", f->target);
    return folders_make(f->target, err);
}

/* With what an earlier try has left. */
static tutti_status write_file(token_file *f, tutti_error *err)
{
    tutti_status s = open_file(f, err);
    const bool owns = !s;
    if (!s)
        s = begin_file(f, err);
    const bool began = !s;
    if (!s)
        s = write_blocks(f, err);
    if (!s)
        s = end_file(f, err);
    if (s && owns && (began ? s != TUTTI_E_IO : access(f->plan, F_OK) != 0)) {
        (void)unlink(f->part); /* a second try would fail alike */
        (void)unlink(f->plan);
    }
    if (f->fd >= 0)
        (void)close(f->fd);
    return s;
}

tutti_status convert_tokens(const data_set *d, const convert_options *o, tutti_error *err)
{
    token_file f = {.set = d, .options = o, .fd = -1, .last = -1};
    f.bytes = d->info.columns[0].classes <= NARROW ? 2 : 4;
    f.length = d->info.columns[0].desc.dim[0] > 0 ? d->info.columns[0].desc.dim[0] : 1;
    f.block = BLOCK_TOKENS / f.length + 1;
    f.blocks = (d->info.samples + f.block - 1) / f.block;
    tutti_status s = check_tokens(&f, err);
    if (!s)
        s = name_files(&f, err);
    if (!s)
        s = write_file(&f, err);
    free(f.target);
    return s;
}
