/* trace_file.c - traces as lines of text or JSON. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_members.h"
#include "base/text.h"
#include "engine/trace.h"
#include "tutti/tutti.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct trace_file {
    FILE *file;
    bool json;
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

tutti_status trace_file_open(const trace_spec *spec, const char *folder, trace_file **ret_file,
                             tutti_error *err)
{
    text_buffer path = {0};
    tutti_status s = TUTTI_OK;
    if (spec->file[0] != '/') {
        text_add(&path, "%s/", folder);
        for (char *slash = path.data; slash && (slash = strchr(slash + 1, '/'));) {
            *slash = '\0';
            (void)mkdir(path.data, 0777); /* opening the file tells what is wrong */
            *slash = '/';
        }
    }
    text_add(&path, "%s", spec->file);
    trace_file *f = calloc(1, sizeof *f);
    if (!f || path.failed) {
        s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for traces");
    } else {
        f->json = spec->json;
        f->file = fopen(path.data, "a");
        if (!f->file)
            s = tutti_fail(err, TUTTI_E_IO, "%s: cannot write traces: %s", path.data,
                           strerror(errno));
    }
    free(path.data);
    if (s == TUTTI_OK)
        *ret_file = f;
    else
        free(f);
    return s;
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
    free(file);
    return failed ? tutti_fail(err, TUTTI_E_IO, "traces could not be written in full")
                  : TUTTI_OK;
}
