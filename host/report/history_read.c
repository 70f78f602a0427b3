/* history_read.c - reads the lines of the logger jsonl, and files of traces. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/input_file.h"
#include "base/json.h"
#include "report/history_internal.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- metrics, which are nearly all lines, as the logger writes them ---- */

/* Steps past `word`; false where the text goes on otherwise. */
static bool skip(const char **at, const char *word)
{
    const size_t n = strlen(word);
    if (strncmp(*at, word, n) != 0)
        return false;
    *at += n;
    return true;
}

static bool number(const char **at, double *ret)
{
    char *end;
    if (**at != '-' && !isdigit((unsigned char)**at))
        return false;
    *ret = strtod(*at, &end);
    const bool good = end != *at;
    *at = end;
    return good;
}

/* A value: a number, or the texts for those that JSON does not have. */
static bool value(const char **at, double *ret)
{
    *ret = (double)NAN;
    if (skip(at, "\"NaN\""))
        return true;
    *ret = (double)INFINITY;
    if (skip(at, "\"Infinity\""))
        return true;
    *ret = -(double)INFINITY;
    return skip(at, "\"-Infinity\"") || number(at, ret);
}

/* "name": without escapes; the line is cut behind it. */
static bool key(char **at, const char **ret)
{
    char *end = **at == '"' ? *at + 1 + strcspn(*at + 1, "\"\\") : NULL;
    if (!end || *end != '"' || end[1] != ':')
        return false;
    *ret = *at + 1;
    *end = '\0';
    *at = end + 2;
    return true;
}

/* The whole line, or nothing of it: `line` is read twice, the second time it is cut. */
static bool is_plain(const char *line, double *ret_time, double *ret_batch,
                     const char **ret_values)
{
    double epoch;
    const char *at = line;
    const size_t n = strlen(line);
    if (n < 3 || strcmp(line + n - 3, "}}\n") != 0 || strchr(line, '\\'))
        return false;
    if (!skip(&at, "{\"time\":") || !number(&at, ret_time) ||
        !skip(&at, ",\"kind\":\"metrics\",\"batch\":") || !number(&at, ret_batch) ||
        !skip(&at, ",\"epoch\":") || !number(&at, &epoch) || !skip(&at, ",\"values\":{"))
        return false;
    *ret_values = at;
    return true;
}

static void note_time(history *h, double time)
{
    if (time <= 0)
        return;
    h->first = h->first > 0 ? h->first : time;
    h->last = time;
}

static bool take_plain(history *h, char *line)
{
    double time, batch, v;
    const char *values, *name;
    if (!is_plain(line, &time, &batch, &values))
        return false;
    char *at = line + (values - line);
    note_time(h, time);
    while (key(&at, &name)) {
        const char *rest = at;
        if (!value(&rest, &v))
            break;
        history_add(h, name, batch, time, v);
        at += rest - at;
        at += *at == ',';
    }
    return true;
}

/* ---- all other lines ---- */

static double value_of(const json_node *node)
{
    const char *text = json_string(node);
    return !text                            ? json_real(node)
           : strcmp(text, "Infinity") == 0  ? (double)INFINITY
           : strcmp(text, "-Infinity") == 0 ? -(double)INFINITY
                                            : (double)NAN;
}

static void take_metrics(history *h, const json_node *root, double time)
{
    const json_node *values = json_get(root, "values");
    for (size_t k = 0; k < json_count(values); k++)
        history_add(h, json_key(json_at(values, k)), json_real(json_get(root, "batch")), time,
                    value_of(json_at(values, k)));
}

static void take_message(history *h, const json_node *root, double time)
{
    log_message m = {.time = time,
                     .level = (char *)json_string(json_get(root, "level")),
                     .component = (char *)json_string(json_get(root, "component")),
                     .text = (char *)json_string(json_get(root, "text"))};
    if (m.level && m.component && m.text)
        history_add_message(h, &m);
}

static void take_media(history *h, const json_node *root, bool images)
{
    const char *name = json_string(json_get(root, "name"));
    if (name)
        history_add_media(h, name, json_int(json_get(root, "batch")), images);
}

static void take_trace(history *h, const json_node *root)
{
    const char *algorithm = json_string(json_get(root, "algorithm"));
    const char *event = json_string(json_get(root, "event"));
    const log_call call = {.batch = json_int(json_get(root, "batch")),
                           .us = (float)(json_real(json_get(root, "duration_ns")) * 1e-3),
                           .ran = json_bool(json_get(root, "ran"))};
    if (algorithm && event)
        history_add_call(h, algorithm, event, &call);
}

static void take_line(history *h, const json_node *root)
{
    const char *kind = json_string(json_get(root, "kind"));
    const double time = json_real(json_get(root, "time"));
    if (!kind)
        return;
    note_time(h, time);
    if (strcmp(kind, "metrics") == 0)
        take_metrics(h, root, time);
    else if (strcmp(kind, "message") == 0)
        take_message(h, root, time);
    else if (strcmp(kind, "trace") == 0)
        take_trace(h, root);
    else if (strcmp(kind, "table") == 0 || strcmp(kind, "images") == 0)
        take_media(h, root, *kind == 'i');
    else if (strcmp(kind, "hyperparameters") == 0)
        h->begins = true;
}

/* ---- files ---- */

typedef void line_taker(history *h, char *line);

/* False: it is no JSON, or there is no memory for it. */
static bool parse_line(history *h, const char *line, json_doc **ret_doc)
{
    const tutti_status s = json_parse("line", line, strlen(line), ret_doc, NULL);
    h->nomem = h->nomem || s == TUTTI_E_NOMEM;
    return s == TUTTI_OK;
}

static void take_log_line(history *h, char *line)
{
    json_doc *doc = NULL;
    if (take_plain(h, line) || !parse_line(h, line, &doc))
        return;
    take_line(h, json_root(doc));
    json_free(doc);
}

/* "mixup/Event.BEFORE_LOSS" and "layer_freezing/EPOCH_START": the algorithm, and the event in small letters. */
static bool divide(char *name, const char **ret_event)
{
    char *slash = strrchr(name, '/');
    if (!slash)
        return false;
    *slash = '\0';
    *ret_event = slash + 1 + (strncmp(slash + 1, "Event.", 6) == 0 ? 6 : 0);
    for (char *c = slash + 1; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return true;
}

static void take_json_trace(history *h, char *line)
{
    char name[256];
    const char *event;
    json_doc *doc = NULL;
    if (!parse_line(h, line, &doc))
        return;
    const json_node *root = json_root(doc);
    const log_call call = {.batch = json_int(json_get(root, "step")),
                           .us = (float)json_real(json_get(root, "duration_us")),
                           .ran = json_bool(json_get(root, "ran"))};
    const char *text = json_string(json_get(root, "key"));
    (void)snprintf(name, sizeof name, "%s", text ? text : "");
    if (divide(name, &event))
        history_add_call(h, name, event, &call);
    json_free(doc);
}

/* "[STEP=0][mixup/BEFORE_FORWARD=1]" */
static void take_text_trace(history *h, char *line)
{
    char name[256];
    const char *event;
    long long batch;
    int ran;
    if (sscanf(line, "[STEP=%lld][%255[^]=]=%d]", &batch, name, &ran) == 3 &&
        divide(name, &event)) {
        const log_call call = {.batch = batch, .ran = ran != 0};
        history_add_call(h, name, event, &call);
    }
}

static void take_trace_line(history *h, char *line)
{
    (*line == '{' ? take_json_trace : take_text_trace)(h, line);
}

static tutti_status read_lines(history *h, const char *path, line_taker *take, tutti_error *err)
{
    char *line = NULL;
    size_t capacity = 0;
    FILE *file;
    const tutti_status s = input_file_open(path, &file, err);
    if (s)
        return s == TUTTI_E_IO && errno == ENOENT
                   ? tutti_fail(err, TUTTI_E_NOTFOUND, "%s: %s", path, strerror(errno))
                   : s;
    bool failed = h->offset > 0 && fseeko(file, (off_t)h->offset, SEEK_SET) != 0;
    for (ssize_t n; !failed && !h->nomem && (n = getline(&line, &capacity, file)) > 0;) {
        if (line[n - 1] != '\n')
            break; /* who logs is in the middle of it */
        take(h, line);
        h->offset += n;
    }
    failed = failed || !feof(file); /* memory that ends is no error of the stream */
    const int cause = errno;
    free(line);
    (void)fclose(file);
    if (h->nomem)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to read it", path);
    return !failed ? TUTTI_OK
                   : tutti_fail(err, cause == ENOMEM ? TUTTI_E_NOMEM : TUTTI_E_IO, "%s: %s",
                                path, strerror(cause));
}

tutti_status history_read(history *h, const char *path, tutti_error *err)
{
    return read_lines(h, path, take_log_line, err);
}

tutti_status history_read_traces(history *h, const char *path, tutti_error *err)
{
    const int64_t log = h->offset; /* another file's */
    h->offset = 0;
    const tutti_status s = read_lines(h, path, take_trace_line, err);
    h->offset = log;
    return s;
}
