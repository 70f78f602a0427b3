/* tokens.c - the tokens of a data set, one after the other, as a file of llm.c's format. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/data/convert.h"

#include "base/folders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADER_INTS = 256, NARROW = 1 << 16, PATH_ROOM = 4096 };

typedef struct token_writer {
    FILE *file;
    size_t bytes; /* of a token */
    int64_t count;
    int32_t last; /* the target's last, which the next sample begins with; -1: none yet */
} token_writer;

static bool put_token(token_writer *w, int32_t token)
{
    const uint32_t value = (uint32_t)token; /* of little endian */
    w->count++;
    return fwrite(&value, w->bytes, 1, w->file) == 1;
}

/* The file has begun with zeros where the header goes. */
static bool put_header(token_writer *w)
{
    int32_t header[HEADER_INTS] = {w->bytes == 2 ? 20240520 : 20240801, w->bytes == 2 ? 1 : 7,
                                   (int32_t)w->count};
    return fseeko(w->file, 0, SEEK_SET) == 0 &&
           fwrite(header, sizeof header, 1, w->file) == 1 && fflush(w->file) == 0 &&
           fsync(fileno(w->file)) == 0;
}

/* The tokens of the sample that was read; those of neighbours follow one another. */
static tutti_status put_sample(token_writer *w, const data_set *d, int64_t index,
                               const char *to, tutti_error *err)
{
    const int32_t *in = d->columns[0].data, *out = d->columns[1].data;
    const int64_t n = tutti_numel(&d->columns[0].desc);
    if (w->last >= 0 && in[0] != w->last)
        return tutti_fail(
            err, TUTTI_E_UNSUPPORTED,
            "sample %lld does not begin with the token that the one before it ends "
            "with; want \"stride\" to be \"length\"",
            (long long)index);
    for (int64_t k = 0; k < n; k++)
        if (!put_token(w, in[k]))
            return tutti_fail(err, TUTTI_E_IO, "%s: %s", to, strerror(errno));
    w->last = out[n - 1];
    return w->count < INT32_MAX ? TUTTI_OK
                                : tutti_fail(err, TUTTI_E_RANGE,
                                             "%s: more than 2147483646 tokens in a file", to);
}

static tutti_status write_tokens(token_writer *w, data_set *d, const char *part,
                                 tutti_error *err)
{
    const int32_t none[HEADER_INTS] = {0};
    tutti_status s = TUTTI_OK;
    bool good = fwrite(none, sizeof none, 1, w->file) == 1;
    for (int64_t k = 0; k < d->info.samples && !s && good; k++)
        if (!(s = data_set_read(d, k, err)))
            s = put_sample(w, d, k, part, err);
    if (s)
        return s;
    good = good && put_token(w, w->last) && put_header(w);
    return good ? TUTTI_OK : tutti_fail(err, TUTTI_E_IO, "%s: %s", part, strerror(errno));
}

tutti_status convert_tokens(data_set *d, const char *to, tutti_error *err)
{
    char part[PATH_ROOM];
    (void)snprintf(part, sizeof part, "%s.part", to);
    if (!shard_is_text(d))
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "%s: a file of tokens takes samples of tokens, whose target is the "
                          "input one further",
                          to);
    if (access(to, F_OK) == 0)
        return tutti_fail(err, TUTTI_E_STATE, "%s: is there already", to);
    tutti_status s = folders_make(to, err);
    token_writer w = {NULL, d->info.columns[0].classes <= NARROW ? 2 : 4, 0, -1};
    if (s)
        return s;
    if (!(w.file = fopen(part, "wb")))
        return tutti_fail(err, TUTTI_E_IO, "%s: %s", part, strerror(errno));
    s = write_tokens(&w, d, part, err);
    if (fclose(w.file) != 0 && !s)
        s = tutti_fail(err, TUTTI_E_IO, "%s: %s", part, strerror(errno));
    if (!s && rename(part, to) != 0)
        s = tutti_fail(err, TUTTI_E_IO, "%s: %s", to, strerror(errno));
    if (s)
        (void)unlink(part);
    return s ? s : folders_sync(to, err);
}
