/* inspect.c - columns, first samples and classes of a data set. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/data/inspect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 8, LINE = 60, BAR = 30 };

/* ---- classes ---- */

typedef struct classes {
    int64_t *counts; /* of each; NULL: samples have none */
    int64_t count;
    int64_t read; /* samples */
} classes;

static void count_target(classes *c, const tutti_tensor *t)
{
    const int64_t n = tutti_numel(&t->desc);
    for (int64_t k = 0; k < n; k++) {
        const double value = data_value(t, k);
        if (value >= 0 && value < (double)c->count) /* others are to be ignored */
            c->counts[(int64_t)value]++;
    }
}

/* Reads up to `most` samples that lie evenly apart.  Tokens are classes too, and are not counted. */
static tutti_status count_classes(data_set *d, int64_t most, classes *ret, tutti_error *err)
{
    const int target = data_set_column(d, "target");
    const int64_t samples = d->info.samples;
    *ret = (classes){NULL, target < 0 ? 0 : d->info.columns[target].classes, 0};
    if (ret->count < 1 || d->info.columns[target].desc.rank == 1)
        return TUTTI_OK;
    ret->read = most < samples ? most : samples;
    ret->counts = calloc((size_t)ret->count, sizeof *ret->counts);
    if (!ret->counts)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %lld classes",
                          (long long)ret->count);
    for (int64_t k = 0; k < ret->read; k++) {
        const int64_t index = (int64_t)((double)k * (double)samples / (double)ret->read);
        const tutti_status s = data_set_read(d, index, err);
        if (s)
            return s;
        count_target(ret, &d->columns[target]);
    }
    return TUTTI_OK;
}

static int64_t count_all(const classes *c)
{
    int64_t n = 0;
    for (int64_t k = 0; k < c->count; k++)
        n += c->counts[k];
    return n;
}

/* ---- samples ---- */

typedef struct range {
    double least, most, mean;
} range;

static range find_range(const tutti_tensor *t)
{
    const int64_t n = tutti_numel(&t->desc);
    range r = {INFINITY, -INFINITY, 0};
    for (int64_t k = 0; k < n; k++) {
        const double value = data_value(t, k);
        r.least = fmin(r.least, value);
        r.most = fmax(r.most, value);
        r.mean += value;
    }
    r.mean /= (double)(n ? n : 1);
    return r;
}

/* The beginning of the text that tokens stand for. */
static void add_tokens(text_buffer *b, const data_set *d, const tutti_tensor *t)
{
    text_buffer text = {.data = NULL};
    const int64_t n = tutti_numel(&t->desc);
    for (int64_t k = 0; k < n && text.size < LINE; k++) {
        uint64_t size = 0;
        const char *token =
            d->vocabulary->token(instance_self(d->instance), (int64_t)data_value(t, k), &size);
        if (token)
            text_add_bytes(&text, token, size);
    }
    for (size_t k = 0; k < text.size; k++)
        if ((unsigned char)text.data[k] < ' ')
            text.data[k] = ' ';
    text_add(b, "\"%s\"", text.data ? text.data : "");
    free(text.data);
}

static void add_numbers(text_buffer *b, const tutti_tensor *t, const char *between)
{
    const int64_t n = tutti_numel(&t->desc);
    char text[TEXT_REAL_SIZE];
    for (int64_t k = 0; k < n && k < FEW; k++)
        text_add(b, "%s%s", k ? between : "", text_real(data_value(t, k), text));
}

static void add_value(text_buffer *b, const data_set *d, uint32_t column)
{
    const tutti_tensor *t = &d->columns[column];
    const int64_t n = tutti_numel(&t->desc);
    char text[96];
    text_add(b, "  %-10.32s ", d->info.columns[column].name);
    if (t->desc.rank == 0)
        add_numbers(b, t, " ");
    else if (d->vocabulary && t->desc.rank == 1)
        add_tokens(b, d, t);
    else {
        const range r = find_range(t);
        text_add(b, "%s", tutti_desc_text(&t->desc, text, sizeof text));
        if (n)
            text_add(b, "  %.4g to %.4g, mean %.4g", r.least, r.most, r.mean);
        if (t->desc.rank == 1) {
            text_add(b, ": ");
            add_numbers(b, t, " ");
            text_add(b, n > FEW ? " ..." : "");
        }
    }
    text_add(b, "\n");
}

/* ---- the whole ---- */

static void add_columns(text_buffer *b, const data_set *d)
{
    for (uint32_t k = 0; k < d->info.ncolumns; k++) {
        const tutti_column *c = &d->info.columns[k];
        char text[96];
        text_add(b, "  %-10.32s %s", c->name, tutti_desc_text(&c->desc, text, sizeof text));
        if (c->classes)
            text_add(b, ", %lld classes", (long long)c->classes);
        text_add(b, "\n");
    }
}

static const char *class_name(const data_set *d, int64_t k)
{
    return data_set_class(d, NULL, k);
}

static void add_bars(text_buffer *b, const data_set *d, const classes *c)
{
    const int64_t all = count_all(c);
    int64_t most = 1;
    for (int64_t k = 0; k < c->count; k++)
        most = c->counts[k] > most ? c->counts[k] : most;
    for (int64_t k = 0; k < c->count; k++) {
        char number[24];
        const char *name = class_name(d, k);
        (void)snprintf(number, sizeof number, "%lld", (long long)k);
        text_add(b, "  %-10s %8lld  %5.1f%%  ", name ? name : number, (long long)c->counts[k],
                 100.0 * (double)c->counts[k] / (double)(all ? all : 1));
        for (int64_t i = 0; i < c->counts[k] * BAR / most; i++)
            text_add(b, "#");
        text_add(b, "\n");
    }
}

static tutti_status no_room(const text_buffer *b, tutti_error *err)
{
    return b->failed ? tutti_fail(err, TUTTI_E_NOMEM, "no memory to tell of the data set")
                     : TUTTI_OK;
}

/* Groups of samples, such as shards, that a shuffle in lanes deals; 0: there are none. */
static int64_t count_groups(const data_set *d)
{
    const tutti_sample_groups_v1 *table = instance_query(d->instance, TUTTI_SAMPLE_GROUPS_V1);
    if (!table)
        return 0;
    instance_call c = instance_enter(d->instance, "groups");
    const int64_t n = table->count(instance_self(d->instance));
    instance_leave(&c);
    return n;
}

tutti_status inspect_text(data_set *d, const char *path, int64_t shown, int64_t counted,
                          text_buffer *b, tutti_error *err)
{
    const char *name = object_describe(instance_object(d->instance))->name;
    classes c;
    const int64_t groups = count_groups(d);
    text_add(b, "%s: data set %s, %lld samples", path, name, (long long)d->info.samples);
    if (groups)
        text_add(b, " in %lld group%s", (long long)groups, groups == 1 ? "" : "s");
    text_add(b, "\n");
    add_columns(b, d);
    for (int64_t k = 0; k < shown && k < d->info.samples; k++) {
        const tutti_status s = data_set_read(d, k, err);
        if (s)
            return s;
        text_add(b, "sample %lld\n", (long long)k);
        for (uint32_t i = 0; i < d->info.ncolumns; i++)
            add_value(b, d, i);
    }
    const tutti_status s = count_classes(d, counted, &c, err);
    if (!s && c.counts) {
        text_add(b,
                 c.read < d->info.samples ? "classes, of %lld of the samples\n" : "classes\n",
                 (long long)c.read);
        add_bars(b, d, &c);
    }
    free(c.counts);
    return s ? s : no_room(b, err);
}

static void add_json_columns(text_buffer *b, const data_set *d)
{
    for (uint32_t k = 0; k < d->info.ncolumns; k++) {
        const tutti_column *c = &d->info.columns[k];
        text_add(b, "%s{\"name\": ", k ? ", " : "");
        text_add_quoted(b, c->name);
        text_add(b, ", \"type\": \"%s\", \"shape\": [", tutti_dtype_name(c->desc.dtype));
        for (int32_t i = 0; i < c->desc.rank; i++)
            text_add(b, "%s%lld", i ? ", " : "", (long long)c->desc.dim[i]);
        text_add(b, "], \"classes\": %lld}", (long long)c->classes);
    }
}

static tutti_status add_json_sample(text_buffer *b, data_set *d, int64_t index,
                                    tutti_error *err)
{
    const tutti_status s = data_set_read(d, index, err);
    for (uint32_t k = 0; k < d->info.ncolumns && !s; k++) {
        const tutti_tensor *t = &d->columns[k];
        const range r = find_range(t);
        const bool any = tutti_numel(&t->desc) > 0;
        text_add(b, "%s", k ? ", " : "{");
        text_add_quoted(b, d->info.columns[k].name);
        text_add(b, ": {\"shape\": [");
        for (int32_t i = 0; i < t->desc.rank; i++)
            text_add(b, "%s%lld", i ? ", " : "", (long long)t->desc.dim[i]);
        text_add(b, "], \"first\": [");
        if (isfinite(r.mean))
            add_numbers(b, t, ", ");
        text_add(b, "]");
        if (any && isfinite(r.mean))
            text_add(b, ", \"min\": %.17g, \"max\": %.17g, \"mean\": %.17g", r.least, r.most,
                     r.mean);
        text_add(b, "}");
    }
    text_add(b, "}");
    return s;
}

/* What classes are called, where the data set says it. */
static void add_json_names(text_buffer *b, const data_set *d, const classes *c)
{
    if (!c->counts || !class_name(d, 0))
        return;
    text_add(b, ", \"class_names\": [");
    for (int64_t k = 0; k < c->count; k++) {
        const char *name = class_name(d, k);
        text_add(b, "%s", k ? ", " : "");
        text_add_quoted(b, name ? name : "");
    }
    text_add(b, "]");
}

tutti_status inspect_json(data_set *d, const char *path, int64_t shown, int64_t counted,
                          text_buffer *b, tutti_error *err)
{
    classes c;
    tutti_status s = count_classes(d, counted, &c, err);
    text_add(b, "{\"path\": ");
    text_add_quoted(b, path);
    text_add(b, ", \"dataset\": ");
    text_add_quoted(b, object_describe(instance_object(d->instance))->name);
    text_add(b, ", \"samples\": %lld, \"groups\": %lld, \"columns\": [",
             (long long)d->info.samples, (long long)count_groups(d));
    add_json_columns(b, d);
    text_add(b, "], \"first\": [");
    for (int64_t k = 0; k < shown && k < d->info.samples && !s; k++) {
        text_add(b, "%s", k ? ", " : "");
        s = add_json_sample(b, d, k, err);
    }
    text_add(b, "], \"counted\": %lld, \"classes\": [", (long long)c.read);
    for (int64_t k = 0; c.counts && k < c.count; k++)
        text_add(b, "%s%lld", k ? ", " : "", (long long)c.counts[k]);
    text_add(b, "]");
    add_json_names(b, d, &c);
    text_add(b, "}\n");
    free(c.counts);
    return s ? s : no_room(b, err);
}
