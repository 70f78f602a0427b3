/* report_samples.c - tables and images of a run, as far as a page has room for them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/input_file.h"
#include "report/report_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OF_NAME = 12, MOST_ROWS = 100, MOST_CELLS = 160000, MOST_IMAGES = 64 };

/* ---- which ---- */

static bool same_name(const log_media *a, const log_media *b)
{
    return a->images == b->images && strcmp(a->name, b->name) == 0;
}

/* Whether the k-th is one of at most MOST_OF_NAME of its name that lie evenly apart; the first and the last are. */
static bool is_kept(const history *h, size_t k)
{
    size_t before = 0, all = 0;
    for (size_t i = 0; i < h->nmedia; i++) {
        const bool same = same_name(&h->media[i], &h->media[k]);
        before += same && i < k;
        all += same;
    }
    if (all <= MOST_OF_NAME)
        return true;
    for (size_t p = 0; p < MOST_OF_NAME; p++)
        if (p * (all - 1) / (MOST_OF_NAME - 1) == before)
            return true;
    return false;
}

/* ---- tables ---- */

/* The number of the column that says whether an answer is right; -1: there is none. */
static int64_t find_correct(const json_node *columns)
{
    for (size_t k = 0; k < json_count(columns); k++) {
        const char *name = json_string(json_at(columns, k));
        if (name && strcmp(name, "correct") == 0)
            return (int64_t)k;
    }
    return -1;
}

/* The first rows, and beyond them the first wrong answers. */
static void add_rows(text_buffer *b, const json_node *table)
{
    const json_node *rows = json_get(table, "data"), *columns = json_get(table, "columns");
    const int64_t correct = find_correct(columns);
    const size_t cells = json_count(columns) * json_count(rows);
    const bool matrix = json_count(columns) == json_count(rows) + 1 && cells <= MOST_CELLS;
    const size_t capacity = matrix ? json_count(rows) : MOST_ROWS;
    size_t wrong = 0, written = 0;
    for (size_t k = 0; k < json_count(rows); k++) {
        const json_node *answer =
            correct < 0 ? NULL : json_at(json_at(rows, k), (size_t)correct);
        const bool is_wrong = answer && json_type(answer) == JSON_BOOL && !json_bool(answer);
        if (k >= capacity && (!is_wrong || wrong++ >= MOST_ROWS))
            continue;
        text_add(b, written++ ? ",\n" : "");
        report_node(b, json_at(rows, k));
    }
}

static void add_table(text_buffer *b, const json_node *table)
{
    text_add(b, ",\"rows\":%zu,\"columns\":", json_count(json_get(table, "data")));
    report_node(b, json_get(table, "columns"));
    text_add(b, ",\"data\":[");
    add_rows(b, table);
    text_add(b, "]");
}

/* ---- images ---- */

static void add_list(text_buffer *b, const json_node *list)
{
    for (size_t k = 0; k < json_count(list) && k < MOST_IMAGES; k++) {
        text_add(b, k ? "," : "[");
        report_node(b, json_at(list, k));
    }
    text_add(b, json_count(list) ? "]" : "[]");
}

static void add_images(text_buffer *b, const json_node *line)
{
    static const char *const plain[] = {"height", "width", "classes"};
    static const char *const lists[] = {"predicted", "expected", "images"};
    const json_node *masks = json_get(line, "masks");
    for (size_t k = 0; k < sizeof plain / sizeof *plain; k++) {
        text_add(b, ",\"%s\":", plain[k]);
        report_node(b, json_get(line, plain[k]));
    }
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        text_add(b, ",\"%s\":", lists[k]);
        add_list(b, json_get(line, lists[k]));
    }
    text_add(b, ",\"all\":%zu,\"masks\":[", json_count(json_get(line, "images")));
    for (size_t k = 0; k < json_count(masks); k++) {
        text_add(b, "%s{\"name\":", k ? "," : "");
        report_string(b, json_key(json_at(masks, k)));
        text_add(b, ",\"images\":");
        add_list(b, json_at(masks, k));
        text_add(b, "}");
    }
    text_add(b, "]");
}

/* ---- the whole ---- */

/* The line of the log as it is there now; NULL: it is not, or is another one, or with *ret_lacks there is no memory. */
static json_doc *read_line(FILE *log, const log_media *m, int *ret_lacks)
{
    char *line = NULL;
    size_t capacity = 0;
    json_doc *doc = NULL;
    errno = 0;
    if (fseeko(log, (off_t)m->offset, SEEK_SET) == 0 && getline(&line, &capacity, log) > 0)
        *ret_lacks |= json_parse("line", line, strlen(line), &doc, NULL) == TUTTI_E_NOMEM;
    else
        *ret_lacks |= errno == ENOMEM;
    free(line);
    const char *kind = doc ? json_string(json_get(json_root(doc), "kind")) : NULL;
    if (kind && strcmp(kind, m->images ? "images" : "table") == 0)
        return doc;
    json_free(doc);
    return NULL;
}

void report_media(text_buffer *b, const run_folder *r, size_t from)
{
    FILE *log = NULL;
    if (r->log.nmedia > from && input_file_open(r->log_path, &log, NULL) == TUTTI_E_NOMEM)
        b->failed = 1;
    const char *comma = "";
    text_add(b, ",\n\"media\":[");
    for (size_t k = from; log && k < r->log.nmedia; k++) {
        const log_media *m = &r->log.media[k];
        json_doc *doc = is_kept(&r->log, k) ? read_line(log, m, &b->failed) : NULL;
        if (!doc)
            continue;
        text_add(b, "%s\n{\"name\":", comma);
        report_string(b, m->name);
        text_add(b, ",\"batch\":%lld", (long long)m->batch);
        (m->images ? add_images : add_table)(b, json_root(doc));
        text_add(b, "}");
        comma = ",";
        json_free(doc);
    }
    text_add(b, "]");
    if (log)
        (void)fclose(log);
}
