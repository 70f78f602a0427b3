/* begun.c - a second try goes on with the same data and settings alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/data/begun.h"
#include "base/whole_io.h"

#include "base/folders.h"
#include "base/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

tutti_status begun_write(const char *path, const text_buffer *b, tutti_error *err)
{
    char part[PATH_SIZE + 8];
    (void)snprintf(part, sizeof part, "%s.part", path);
    const int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const bool good = fd >= 0 && whole_write(fd, b->data, b->size, WHOLE_IO_HERE) == b->size &&
                      fsync(fd) == 0;
    const int why = errno;
    if (fd >= 0)
        (void)close(fd);
    if (good && rename(part, path) == 0)
        return folders_sync(path, err);
    return tutti_fail(err, TUTTI_E_IO, "%s: %s", good ? path : part,
                      strerror(good ? errno : why));
}

void begun_describe(text_buffer *b, const data_set *d, const convert_options *o)
{
    struct stat st;
    char *real = realpath(o->from, NULL);
    text_add(b, "{\"from\": ");
    text_add_quoted(b, real ? real : o->from);
    free(real);
    if (stat(o->from, &st) == 0)
        text_add(b, ", \"bytes\": %lld, \"modified\": %lld.%09ld", (long long)st.st_size,
                 (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    text_add(b, ", \"dataset\": ");
    text_add_quoted(b, object_describe(instance_object(d->instance))->name);
    text_add(b, ", \"settings\": [");
    for (size_t k = 0; k < o->nsets; k++) {
        text_add(b, k ? ", " : "");
        text_add_quoted(b, o->sets[k]);
    }
    text_add(b, "], \"samples\": %lld", (long long)d->info.samples);
}

static bool is_same_file(const char *path, const text_buffer *b)
{
    FILE *f = NULL;
    (void)!input_file_open(path, &f, NULL);
    char *have = malloc(b->size + 1);
    const bool same = f && have && fread(have, 1, b->size + 1, f) == b->size &&
                      memcmp(have, b->data, b->size) == 0;
    free(have);
    if (f)
        (void)fclose(f);
    return same;
}

tutti_status begun_compare(const char *plan, const text_buffer *b, const char *what,
                           const char *kind, bool *ret_goes_on, tutti_error *err)
{
    if (b->failed)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory");
    *ret_goes_on = access(plan, F_OK) == 0;
    if (!*ret_goes_on || is_same_file(plan, b))
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_STATE,
                      "%s: was begun from other data or with other settings; remove it, or "
                      "name another %s",
                      what, kind);
}
