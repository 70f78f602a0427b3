/* trace_file.c - traces as lines of text or JSON. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/folders.h"
#include "base/json_members.h"
#include "base/text.h"
#include "engine/trace.h"
#include "tutti/rng.h"
#include "tutti/tutti.h"

#include <errno.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct trace_file {
    FILE *file;
    char *path;
    int64_t before;  /* bytes of earlier processes; -1: it is no regular file */
    int64_t begin;   /* where this process' lines begin; more than `before` after half a line */
    trace_mark mark; /* so far they hold; -1: all do */
    int64_t units[TRACE_UNITS]; /* where each that is open begins, else -1 */
    bool json;
    bool shared; /* two write to the file: no place in it is known to both */
    bool again;  /* and another one was the first */
};

static const char *upper(const char *name, char *text, size_t size)
{
    size_t k = 0;
    for (; name[k] && k + 1 < size; k++)
        text[k] = (char)(name[k] >= 'a' && name[k] <= 'z' ? name[k] - 'a' + 'A' : name[k]);
    text[k] = '\0';
    return text;
}

const char *trace_line(const tutti_trace *t, char *text, size_t size)
{
    char event[64];
    (void)snprintf(text, size, "[STEP=%llu][%s/%s=%d]", (unsigned long long)t->step, t->name,
                   upper(t->event_name, event, sizeof event), t->ran ? 1 : 0);
    return text;
}

static const char *const formats[] = {"lines", "json", NULL};

static const json_member trace_rows[] = {
    {.name = "file",
     .type = MEMBER_STRING,
     .flags = MEMBER_REQUIRED,
     .want = "the name of a file",
     MEMBER_AT(trace_spec, file)},
    {.name = "format", .type = MEMBER_CHOICE, .words = formats, MEMBER_AT(trace_spec, json)},
    {.name = "all", .type = MEMBER_BOOL, MEMBER_AT(trace_spec, all)},
    {.name = NULL},
};

void traces_read(const json_node *list, trace_specs *ret_specs, faults *f)
{
    ret_specs->items = json_array_alloc(list, sizeof *ret_specs->items,
                                        "an array of trace files", &ret_specs->count, f);
    for (size_t k = 0; k < ret_specs->count; k++) {
        ret_specs->items[k].all = true;
        (void)json_object_read(json_at(list, k), "an object with the name of a \"file\"",
                               trace_rows, &ret_specs->items[k], f);
    }
}

static int64_t size_of(const trace_file *f)
{
    struct stat st;
    return fstat(fileno(f->file), &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : -1;
}

tutti_status trace_file_open(const trace_spec *spec, const char *folder, trace_file **ret_file,
                             tutti_error *err)
{
    text_buffer path = {0};
    tutti_status s = TUTTI_OK;
    if (spec->file[0] != '/')
        text_add(&path, "%s/", folder);
    text_add(&path, "%s", spec->file);
    trace_file *f = calloc(1, sizeof *f);
    struct stat st;
    char last = '\n';
    if (spec->file[0] != '/' && !path.failed)
        (void)!folders_make(path.data, NULL); /* opening the file tells what is wrong */
    const bool pipe = path.data && stat(path.data, &st) == 0 && !S_ISREG(st.st_mode);
    if (!f || path.failed)
        s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for traces");
    else if (!(f->file = fopen(path.data, pipe ? "ae" : "a+e"))) /* no reader of its own pipe */
        s = tutti_fail(err, TUTTI_E_IO, "%s: cannot write traces: %s", path.data,
                       strerror(errno));
    if (s) {
        free(path.data);
        free(f);
        return s;
    }
    f->json = spec->json;
    f->path = path.data;
    f->before = f->begin = size_of(f);
    if (f->before > 0 && pread(fileno(f->file), &last, 1, f->before - 1) == 1 && last != '\n')
        f->begin +=
            fputc('\n', f->file) == '\n'; /* behind a line that a killed process did not end */
    if (f->before == 0)
        (void)!folders_sync(path.data, NULL);
    f->mark.bytes = -1;
    for (int k = 0; k < TRACE_UNITS; k++)
        f->units[k] = -1;
    *ret_file = f;
    return TUTTI_OK;
}

/* Of the last bytes before `end`. */
static uint64_t hash_before(const trace_file *f, int64_t end)
{
    char part[TRACE_MARK_BYTES + 1] = "";
    const int64_t n = end < TRACE_MARK_BYTES ? end : TRACE_MARK_BYTES;
    return pread(fileno(f->file), part, (size_t)n, end - n) == n ? tutti_hash(part) : 0;
}

/* Where the first unit that is open begins: `end` where none is. */
static int64_t first_open(const trace_file *f, int64_t end)
{
    int64_t first = end;
    for (int k = 0; k < TRACE_UNITS; k++)
        first = f->units[k] >= 0 && f->units[k] < first ? f->units[k] : first;
    return first;
}

trace_mark trace_file_mark(const trace_file *f)
{
    trace_mark mark = {-1, 0};
    const bool kept = fflush(f->file) == 0 && f->before >= 0 &&
                      (fsync(fileno(f->file)) == 0 || errno == EINVAL);
    if (kept)
        mark.bytes = first_open(f, size_of(f));
    if (mark.bytes >= 0)
        mark.hash = hash_before(f, mark.bytes);
    return mark;
}

/* Adds the bytes from `first` to `last` to another file, or to the same one. */
static bool copy_bytes(const trace_file *f, int64_t first, int64_t last, FILE *to)
{
    char part[4096];
    while (first < last) {
        const int64_t want = last - first;
        const size_t capacity = want < (int64_t)sizeof part ? (size_t)want : sizeof part;
        const ssize_t n = pread(fileno(f->file), part, capacity, first);
        if (n <= 0 || fwrite(part, 1, (size_t)n, to) != (size_t)n)
            return false;
        first += n;
    }
    return fflush(to) == 0;
}

/* What earlier processes have from `first` on; what this one has taken since it opened the file stays at its end. */
static bool move_earlier(trace_file *f, int64_t first, FILE *undone)
{
    char *own = NULL;
    size_t size = 0;
    FILE *kept = open_memstream(&own, &size);
    bool good = kept && fflush(f->file) == 0 && copy_bytes(f, f->begin, size_of(f), kept);
    good = (!kept || fclose(kept) == 0) && good && copy_bytes(f, first, f->before, undone) &&
           fsync(fileno(undone)) == 0 && ftruncate(fileno(f->file), first) == 0 &&
           fwrite(own, 1, size, f->file) == size && fflush(f->file) == 0;
    free(own);
    if (good)
        f->before = f->begin = first;
    return good;
}

/* What this process has taken from `first` on. */
static bool move_own(trace_file *f, int64_t first, FILE *undone)
{
    return copy_bytes(f, first, size_of(f), undone) && fsync(fileno(undone)) == 0 &&
           ftruncate(fileno(f->file), first) == 0;
}

/* Lines that are undone go to a file beside this one. */
static tutti_status set_aside(trace_file *f, int64_t first,
                              bool (*move)(trace_file *f, int64_t first, FILE *undone),
                              tutti_error *err)
{
    text_buffer aside = {0};
    text_add(&aside, "%s.undone", f->path);
    FILE *undone = aside.failed ? NULL : fopen(aside.data, "ae");
    const bool good = undone && move(f, first, undone);
    const int cause = errno;
    if (undone)
        (void)fclose(undone);
    free(aside.data);
    return good ? TUTTI_OK
                : tutti_fail(err, TUTTI_E_IO, "%s: traces that are undone cannot be moved: %s",
                             f->path, strerror(cause));
}

void trace_file_set_mark(trace_file *f, trace_mark mark)
{
    f->mark = mark;
}

tutti_status trace_file_rewind(trace_file *f, tutti_error *err)
{
    const trace_mark mark = f->mark;
    if (f->before < 0 || mark.bytes < 0 || mark.bytes == f->before)
        return TUTTI_OK;
    if (mark.bytes > f->before || (mark.bytes > 0 && hash_before(f, mark.bytes) != mark.hash))
        return tutti_fail(
            err, TUTTI_E_FORMAT,
            "%s has not the traces that the checkpoint knows; lines are added to it", f->path);
    return set_aside(f, mark.bytes, move_earlier, err);
}

void trace_file_share(trace_file *f, trace_file *earlier)
{
    struct stat a, b;
    if (fstat(fileno(f->file), &a) == 0 && fstat(fileno(earlier->file), &b) == 0 &&
        a.st_dev == b.st_dev && a.st_ino == b.st_ino)
        f->shared = f->again = earlier->shared = true;
}

bool trace_file_is_first(const trace_file *f)
{
    return !f->again;
}

void trace_file_open_unit(trace_file *f, int unit)
{
    /* ftell knows the end of such a stream only once it has been written to */
    if (f->before >= 0 && !f->shared && f->units[unit] < 0)
        f->units[unit] = size_of(f) + (int64_t)__fpending(f->file);
}

void trace_file_close_unit(trace_file *f, int unit)
{
    f->units[unit] = -1;
}

tutti_status trace_file_take_back(trace_file *f, int unit, tutti_error *err)
{
    const int64_t first = f->units[unit];
    f->units[unit] = -1;
    if (first < 0 || fflush(f->file) != 0 || size_of(f) <= first)
        return TUTTI_OK; /* what could not be written is told when the file is closed */
    return set_aside(f, first, move_own, err);
}

void trace_file_take(void *file, const tutti_trace *t)
{
    const trace_file *f = file;
    char line[256];
    if (!f->json) {
        (void)fprintf(f->file, "%s\n", trace_line(t, line, sizeof line));
        return;
    }
    text_buffer key = {0};
    char event[64];
    (void)snprintf(line, sizeof line, "%s/Event.%s", t->name,
                   upper(t->event_name, event, sizeof event));
    text_add_quoted(&key, line);
    (void)fprintf(f->file, "{\"step\": %llu, \"key\": %s, \"ran\": %s",
                  (unsigned long long)t->step, key.data ? key.data : "null",
                  t->ran ? "true" : "false");
    free(key.data);
    if (t->ran)
        (void)fprintf(f->file, ", \"order\": %d, \"duration_us\": %llu.%03llu", t->order,
                      (unsigned long long)(t->duration_ns / 1000),
                      (unsigned long long)(t->duration_ns % 1000));
    if (t->ran && t->exit_code != TUTTI_EXIT_NONE)
        (void)fprintf(f->file, ", \"exit_code\": %lld", (long long)t->exit_code);
    else
        (void)fputs(", \"exit_code\": null", f->file);
    (void)fputs("}\n", f->file);
}

tutti_status trace_file_close(trace_file *file, tutti_error *err)
{
    if (!file)
        return TUTTI_OK;
    const bool bad = ferror(file->file);
    const bool failed = fclose(file->file) != 0 || bad;
    free(file->path);
    free(file);
    return failed ? tutti_fail(err, TUTTI_E_IO, "traces could not be written in full")
                  : TUTTI_OK;
}
