/* trace_file.c - traces as lines of text or JSON. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "engine/trace.h"
#include "tutti/tutti.h"

#include <errno.h>
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

void traces_read(const json_node *list, trace_specs *ret_specs, faults *f)
{
    *ret_specs = (trace_specs){NULL, 0};
    if (!list)
        return;
    if (json_type(list) != JSON_ARRAY) {
        faults_add(f, list, "is %s, want an array of trace files", json_type_name(list));
        return;
    }
    ret_specs->items = calloc(json_count(list) + 1, sizeof *ret_specs->items);
    if (!ret_specs->items) {
        faults_add(f, list, "out of memory");
        return;
    }
    ret_specs->count = json_count(list);
    for (size_t k = 0; k < ret_specs->count; k++) {
        const json_node *one = json_at(list, k);
        const json_node *file = json_get(one, "file"), *format = json_get(one, "format"),
                        *all = json_get(one, "all");
        const char *word = format ? json_string(format) : "lines";
        trace_spec *spec = &ret_specs->items[k];
        spec->file = file ? json_string(file) : NULL;
        spec->json = word && strcmp(word, "json") == 0;
        spec->all = !all || json_bool(all);
        if (!spec->file || !*spec->file)
            faults_add(f, file ? file : one, "want an object with the name of a \"file\"");
        if (!word || (!spec->json && strcmp(word, "lines") != 0))
            faults_add(f, format, "want lines or json");
        if (all && json_type(all) != JSON_BOOL)
            faults_add(f, all, "is %s, want true or false", json_type_name(all));
        for (size_t m = 0; m < json_count(one) && json_type(one) == JSON_OBJECT; m++) {
            const json_node *member = json_at(one, m);
            if (member != file && member != format && member != all)
                faults_add(f, member, "unknown key; there are file, format and all");
        }
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
    (void)snprintf(line, sizeof line, "%s/%s", t->name, t->event_name);
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
