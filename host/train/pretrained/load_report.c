/* load_report.c - the table of what a file gave: parts of the model, then each weight that it did not give. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/pretrained/load_report.h"

#include "base/nearest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 16, MOST_WEIGHTS = 40, DEEPEST = 8, LINE = 640 };

tutti_status load_report_add(load_report *r, const char *name, const tutti_desc *here,
                             const tutti_tensor *there, int verdict, tutti_error *err)
{
    if (r->count == r->capacity) {
        const size_t capacity = r->capacity ? 2 * r->capacity : 64;
        load_row *rows = realloc(r->rows, capacity * sizeof *rows);
        if (!rows)
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory to compare %zu weights", capacity);
        r->rows = rows;
        r->capacity = capacity;
    }
    load_row *row = &r->rows[r->count++];
    *row = (load_row){.name = name, .here = *here, .verdict = verdict};
    if (there)
        row->there = *there;
    return TUTTI_OK;
}

void load_report_fini(load_report *r)
{
    free(r->rows);
    *r = (load_report){.rows = NULL};
}

size_t load_report_count(const load_report *r, int verdict)
{
    size_t n = 0;
    for (size_t k = 0; k < r->count; k++)
        n += r->rows[k].verdict == verdict;
    return n;
}

/* ---- names that the file has and nobody took ---- */

static bool is_taken(const load_report *r, const tutti_tensor *one)
{
    for (size_t k = 0; k < r->count; k++)
        if (r->rows[k].there.data == one->data)
            return true;
    return false;
}

/* NULL-terminated, borrowed from the file; the caller frees the list.  NULL: no memory.  Of a run's own checkpoint
 * names of weights alone: state of the optimizer is none that a weight could be meant by. */
static const char **free_names(const load_report *r, const checkpoint *c)
{
    size_t n = 0;
    const bool own = checkpoint_value(c, "plugins") != NULL;
    const char **names = calloc(checkpoint_count(c) + 1, sizeof *names);
    for (size_t k = 0; names && k < checkpoint_count(c); k++) {
        checkpoint_item item;
        checkpoint_at(c, k, &item);
        const bool weight = !own || strncmp(item.name, "model.", strlen("model.")) == 0;
        if (weight && !is_taken(r, &item.tensor))
            names[n++] = item.name;
    }
    return names;
}

/* ---- one weight ---- */

/* Why the weight is not taken, as the second half of a sentence. */
static void say_why(const load_row *row, const char *const *names, char *text, size_t size)
{
    char desc[96];
    const char *near = row->verdict == LOAD_MISSING ? nearest_word(row->name, names) : NULL;
    if (row->verdict == LOAD_IGNORED)
        (void)snprintf(text, size, "is left out by load_ignore_keys");
    else if (row->verdict == LOAD_SHAPE)
        (void)snprintf(text, size, "the file's is %s",
                       tutti_desc_text(&row->there.desc, desc, sizeof desc));
    else
        (void)snprintf(text, size, "the file has none of that name%s%s",
                       near ? "; the nearest is " : "", near ? near : "");
}

/* ---- errors ---- */

/* Of how many the first one, at `row`, is: nothing where it is the only one. */
static const char *say_others(const load_report *r, size_t wrong, char *text, size_t size)
{
    *text = '\0';
    if (wrong == r->count)
        (void)snprintf(text, size, "; none of this run's %zu weights fits", r->count);
    else if (wrong > 1)
        (void)snprintf(
            text, size,
            "; %zu of this run's %zu weights do not fit, \"load_strict\": false takes "
            "the others",
            wrong, r->count);
    return text;
}

static tutti_status refuse(const load_report *r, const load_row *row, size_t wrong,
                           const char *path, const checkpoint *c, tutti_error *err)
{
    char have[96], want[96], others[128];
    const char **names = row->verdict == LOAD_MISSING ? free_names(r, c) : NULL;
    const char *near = nearest_word(row->name, names);
    (void)say_others(r, wrong, others, sizeof others);
    const tutti_status s =
        row->verdict == LOAD_MISSING
            ? tutti_fail(err, TUTTI_E_NOTFOUND, "%s: has no %s, which the model needs%s%s%s",
                         path, row->name, near ? "; the nearest is " : "", near ? near : "",
                         others)
            : tutti_fail(err, TUTTI_E_SHAPE, "%s: %s is %s, the model's is %s%s", path,
                         row->name, tutti_desc_text(&row->there.desc, have, sizeof have),
                         tutti_desc_text(&row->here, want, sizeof want), others);
    free(names);
    return s;
}

tutti_status load_report_judge(const load_report *r, const char *path, const checkpoint *c,
                               bool strict, tutti_error *err)
{
    const size_t wrong = load_report_count(r, LOAD_MISSING) + load_report_count(r, LOAD_SHAPE);
    const load_row *first = r->rows;
    if (wrong == 0 || (!strict && wrong < r->count))
        return TUTTI_OK;
    while (first->verdict != LOAD_MISSING && first->verdict != LOAD_SHAPE)
        first++;
    return refuse(r, first, wrong, path, c, err);
}

/* ---- parts of the model ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const load_row *)a)->name, ((const load_row *)b)->name);
}

/* Bytes of `name` up to its `depth`-th dot, or its last one: the weight's own name is no part. */
static size_t part_size(const char *name, int depth)
{
    const char *at = strchr(name, '.');
    for (int k = 1; k < depth && at && strchr(at + 1, '.'); k++)
        at = strchr(at + 1, '.');
    return at ? (size_t)(at - name) : strlen(name);
}

static bool same_part(const load_row *a, const load_row *b, int depth)
{
    const size_t n = part_size(a->name, depth);
    return n == part_size(b->name, depth) && memcmp(a->name, b->name, n) == 0;
}

static size_t count_parts(const load_report *r, int depth)
{
    size_t parts = 0;
    for (size_t k = 0; k < r->count; k++)
        parts += k == 0 || !same_part(&r->rows[k - 1], &r->rows[k], depth);
    return parts;
}

/* The deepest cut of names that makes a table of few lines. */
static int depth_of(const load_report *r)
{
    int depth = 1;
    while (depth < DEEPEST && count_parts(r, depth + 1) <= MOST_PARTS)
        depth++;
    return depth;
}

static void tell_parts(const load_report *r, run_log *log)
{
    const int depth = depth_of(r);
    size_t width = 0, end, told = 0;
    for (size_t k = 0; k < r->count; k++) {
        const size_t n = part_size(r->rows[k].name, depth);
        width = n > width ? n : width;
    }
    for (size_t k = 0; k < r->count && told < MOST_PARTS; k = end, told++) {
        char line[LINE];
        size_t taken = 0;
        for (end = k; end < r->count && same_part(&r->rows[k], &r->rows[end], depth); end++)
            taken += r->rows[end].verdict == LOAD_TAKEN;
        (void)snprintf(line, sizeof line, "  %-*.*s  %zu of %zu", (int)width,
                       (int)part_size(r->rows[k].name, depth), r->rows[k].name, taken, end - k);
        run_log_message(log, TUTTI_LOG_WARNING, "train", line);
    }
}

static void tell_weights(const load_report *r, const char *const *names, run_log *log)
{
    size_t told = 0, left = r->count - load_report_count(r, LOAD_TAKEN);
    char line[LINE], why[256], desc[96];
    for (size_t k = 0; k < r->count && told < MOST_WEIGHTS; k++) {
        const load_row *row = &r->rows[k];
        if (row->verdict == LOAD_TAKEN)
            continue;
        say_why(row, names, why, sizeof why);
        (void)snprintf(line, sizeof line, "  not taken: %.120s, %s: %s", row->name,
                       tutti_desc_text(&row->here, desc, sizeof desc), why);
        run_log_message(log, TUTTI_LOG_WARNING, "train", line);
        told++;
    }
    if (told == left)
        return;
    (void)snprintf(line, sizeof line, "  and %zu more", left - told);
    run_log_message(log, TUTTI_LOG_WARNING, "train", line);
}

void load_report_tell(load_report *r, const char *path, const checkpoint *c, run_log *log)
{
    char line[LINE];
    const size_t taken = load_report_count(r, LOAD_TAKEN);
    const char **names = taken < r->count ? free_names(r, c) : NULL;
    if (taken == r->count)
        return;
    qsort(r->rows, r->count, sizeof *r->rows, by_name);
    (void)snprintf(line, sizeof line, "%.300s gives %zu of %zu weights; the others begin anew",
                   path, taken, r->count);
    run_log_message(log, TUTTI_LOG_WARNING, "train", line);
    tell_parts(r, log);
    tell_weights(r, names, log);
    free(names);
}
