/* profile_file.c - a profiler's trace files, in the Chrome trace event format. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/monotonic.h"
#include "base/text.h"
#include "engine/profile/profile_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- life ---- */

/* Adds the value of the placeholder that `text` starts with; returns its length, 0 for none. */
static size_t fill(const profiler *p, const char *text, text_buffer *b)
{
    const struct {
        const char *word;
        long long number; /* -1: the name of the run */
    } words[] = {{"{run_name}", -1},
                 {"{rank}", 0},
                 {"{epoch}", p->run.time->epoch},
                 {"{batch}", p->run.time->batch}};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        const size_t size = strlen(words[k].word);
        if (strncmp(text, words[k].word, size) != 0)
            continue;
        if (words[k].number < 0)
            text_add(b, "%s", p->run.name);
        else
            text_add(b, "%lld", words[k].number);
        return size;
    }
    return 0;
}

char *profile_path(const profiler *p, const char *text)
{
    text_buffer b = {0};
    text_add(&b, "%s/", p->folder);
    while (*text) {
        const size_t filled = fill(p, text, &b);
        if (!filled)
            text_add(&b, "%c", *text);
        text += filled ? filled : 1;
    }
    return b.data;
}

/* Makes the folder and those above it. */
static tutti_status make_folder(char *path, tutti_error *err)
{
    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = '\0';
        struct stat there;
        int failed = mkdir(path, 0777) ? errno : 0;
        if (failed == EEXIST)
            failed = stat(path, &there) ? errno : S_ISDIR(there.st_mode) ? 0 : ENOTDIR;
        if (slash)
            *slash = '/';
        if (failed)
            return tutti_fail(err, TUTTI_E_IO, "%s: cannot make the folder of traces: %s", path,
                              strerror(failed));
        if (!slash)
            return TUTTI_OK;
    }
}

tutti_status profiler_create(const profiler_options *options, const profiler_run *run,
                             profiler **ret_profiler, tutti_error *err)
{
    text_buffer folder = {0};
    profiler *p = calloc(1, sizeof *p);
    const bool absolute = options->folder[0] == '/';
    text_add(&folder, "%s%s%s", absolute ? "" : run->folder, absolute ? "" : "/",
             options->folder);
    if (!p || folder.failed) {
        free(p);
        free(folder.data);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the profiler");
    }
    p->options = *options;
    p->run = *run;
    p->thread = gettid();
    p->folder = folder.data;
    *ret_profiler = p;
    return TUTTI_OK;
}

tutti_status profiler_start(profiler *p, bool resumes, tutti_error *err)
{
    char *merged = profile_path(p, p->options.merged_trace_filename);
    tutti_status s = merged ? make_folder(p->folder, err)
                            : tutti_fail(err, TUTTI_E_NOMEM, "no memory for the profiler");
    if (s == TUTTI_OK && !resumes && !p->options.overwrite && access(merged, F_OK) == 0)
        s = tutti_fail(err, TUTTI_E_EXISTS,
                       "%s is there already: choose another folder, or set overwrite", merged);
    if (s == TUTTI_OK && !resumes)
        (void)unlink(merged);
    free(merged);
    return s;
}

void profiler_destroy(profiler *p)
{
    if (!p)
        return;
    for (uint32_t k = 0; k < p->nmarkers; k++) {
        free(p->markers[k].name);
        free(p->markers[k].categories);
    }
    for (size_t k = 0; k < p->nfiles; k++)
        free(p->files[k]);
    free(p->files);
    free(p->markers);
    free(p->table);
    free(p->records);
    free(p->values);
    free(p->open);
    free(p->folder);
    free(p);
}

char *profiler_merged_path(const profiler *p)
{
    return profile_path(p, p->options.merged_trace_filename);
}

/* ---- files ---- */

static void put_text(FILE *f, const char *text)
{
    (void)fputc('"', f);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            (void)fprintf(f, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            (void)fprintf(f, "\\u%04x", (unsigned)*text);
        else
            (void)fputc(*text, f);
    }
    (void)fputc('"', f);
}

/* What tells a viewer whose time line this is. */
static void put_header(const profiler *p, FILE *f)
{
    struct timespec real;
    (void)clock_gettime(CLOCK_REALTIME, &real);
    const int64_t sync =
        ((int64_t)real.tv_sec * 1000000000 + real.tv_nsec - monotonic_ns()) / 1000;
    const struct {
        const char *name;
        const char *key;
        const char *text; /* or NULL: the number */
        long long number;
    } rows[] = {{"process_name", "name", "Rank 0 training loop process", 0},
                {"thread_name", "name", "Training Loop", 0},
                {"thread_sort_index", "sort_index", NULL, 0},
                {"process_sort_index", "sort_index", NULL, 0},
                {"global_rank", "value", NULL, 0},
                /* what to add to ts for microseconds since 1970 */
                {"clock_sync_timestamp_us", "value", NULL, (long long)sync}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        (void)fprintf(f,
                      "%s{\"name\": \"%s\", \"ph\": \"M\", \"ts\": 0, \"pid\": 0, \"tid\": %d, "
                      "\"args\": {\"%s\": ",
                      k ? ",\n" : "", rows[k].name, (int)p->thread, rows[k].key);
        if (rows[k].text)
            put_text(f, rows[k].text);
        else
            (void)fprintf(f, "%lld", rows[k].number);
        (void)fputs("}}", f);
    }
}

static void put_record(const profiler *p, const record *r, FILE *f)
{
    const marker *m = &p->markers[r->marker];
    (void)fputs(",\n{\"name\": ", f);
    put_text(f, m->name);
    (void)fputs(", \"cat\": ", f);
    put_text(f, m->categories);
    (void)fprintf(f, ", \"ph\": \"%c\", \"ts\": %lld.%03lld, \"pid\": 0, \"tid\": %d", r->phase,
                  (long long)(r->at_ns / 1000), (long long)(r->at_ns % 1000), (int)p->thread);
    if (r->phase == 'i')
        (void)fputs(", \"s\": \"p\"", f);
    (void)fputs(", \"args\": {", f);
    for (uint32_t k = 0; k < r->count; k++) {
        char number[TEXT_REAL_SIZE];
        const counted *c = &p->values[r->first + k];
        (void)fputs(k ? ", " : "", f);
        put_text(f, c->name);
        (void)fprintf(f, ": %s", isfinite(c->value) ? text_real(c->value, number) : "0");
    }
    if (r->phase != 'C')
        (void)fprintf(f, "\"epoch\": %lld, \"batch\": %lld", (long long)r->epoch,
                      (long long)r->batch);
    (void)fputs("}}", f);
}

static const char file_end[] = "\n]\n";

/* Appends to the merged trace, which is whole after every call. */
static bool put_merged(const profiler *p, FILE *f)
{
    const bool fresh = fseek(f, 0, SEEK_END) == 0 && ftell(f) == 0;
    if (fresh) {
        (void)fputs("[\n", f);
        put_header(p, f);
    } else if (fseek(f, -(long)(sizeof file_end - 1), SEEK_END)) {
        return false;
    }
    for (size_t k = 0; k < p->nrecords; k++)
        put_record(p, &p->records[k], f);
    (void)fputs(file_end, f);
    return !ferror(f);
}

static bool put_single(const profiler *p, FILE *f)
{
    (void)fputs("[\n", f);
    put_header(p, f);
    for (size_t k = 0; k < p->nrecords; k++)
        put_record(p, &p->records[k], f);
    (void)fputs(file_end, f);
    return !ferror(f);
}

static tutti_status write_file(const profiler *p, const char *path, const char *mode,
                               bool (*put)(const profiler *, FILE *), tutti_error *err)
{
    FILE *f = fopen(path, mode);
    bool written = f && put(p, f);
    if (f && fclose(f))
        written = false;
    if (written)
        return TUTTI_OK;
    return tutti_fail(err, errno == EEXIST ? TUTTI_E_EXISTS : TUTTI_E_IO,
                      "%s: cannot write the trace: %s", path, strerror(errno));
}

/* Keeps the list of files short; `path` becomes the list's. */
static void rotate(profiler *p, char *path)
{
    char **files = realloc(p->files, (p->nfiles + 1) * sizeof *files);
    if (!files) {
        free(path);
        return;
    }
    p->files = files;
    files[p->nfiles++] = path;
    while (p->options.num_traces_to_keep >= 0 &&
           p->nfiles > (size_t)p->options.num_traces_to_keep) {
        (void)unlink(files[0]);
        free(files[0]);
        memmove(files, files + 1, --p->nfiles * sizeof *files);
    }
}

tutti_status profile_save(profiler *p, tutti_error *err)
{
    if (p->lost)
        return TUTTI_OK;
    for (uint32_t k = p->nopen; k > 0; k--)
        if (p->open[k - 1].recorded)
            profile_record(p, 'E', p->open[k - 1].marker, NULL, 0);
    char *path = profile_path(p, p->options.filename);
    char *merged = profile_path(p, p->options.merged_trace_filename);
    tutti_status s =
        path && merged ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "no memory for a trace");
    if (s == TUTTI_OK)
        s = write_file(p, path, p->options.overwrite ? "w" : "wx", put_single, err);
    if (s == TUTTI_OK)
        s = write_file(p, merged, access(merged, F_OK) == 0 ? "r+" : "w+", put_merged, err);
    free(merged);
    if (s == TUTTI_OK)
        rotate(p, path);
    else
        free(path);
    p->lost = s != TUTTI_OK;
    p->nrecords = 0;
    p->nvalues = 0;
    for (uint32_t k = 0; k < p->nopen; k++)
        if (p->open[k].recorded)
            profile_record(p, 'B', p->open[k].marker, NULL, 0);
    p->worth_saving = false;
    return s;
}

tutti_status profiler_finish(profiler *p, tutti_error *err)
{
    return p->worth_saving ? profile_save(p, err) : TUTTI_OK;
}
