/* runs_compare.c - tutti runs compare: the settings in which runs differ, and their metrics side by side. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/runs.h"
#include "report/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMN = 24, MOST_NAME = 44 };

/* Last, best and what is known of a metric of one run. */
typedef struct metric_value {
    double last, best;
    bool known;
} metric_value;

static double real_of(const json_node *node)
{
    const char *text = json_string(node);
    return !node  ? (double)NAN
           : text ? strtod(text, NULL) /* "NaN", "Infinity" */
                  : json_real(node);
}

static metric_value value_of(const run_folder *r, const char *name)
{
    const bool less = history_less_is_better(name);
    const json_node *node = json_get(json_get(r->root, "metrics"), name);
    const series *s = node ? NULL : history_find(&r->log, name);
    double step;
    if (node)
        return (metric_value){real_of(json_get(node, "last")),
                              real_of(json_get(node, less ? "least" : "greatest")), true};
    if (s && s->count)
        return (metric_value){s->value[s->count - 1], series_best(s, less, &step), true};
    return (metric_value){(double)NAN, (double)NAN, false};
}

/* Clocks tell nothing about a run that its duration does not. */
static bool is_result(const char *name)
{
    return strncmp(name, "time/", 5) != 0;
}

static bool is_listed(char *const *names, size_t n, const char *name)
{
    for (size_t k = 0; k < n; k++)
        if (strcmp(names[k], name) == 0)
            return true;
    return false;
}

static void list_name(char ***names, size_t *n, const char *name)
{
    if (!is_result(name) || is_listed(*names, *n, name))
        return;
    char **more = realloc(*names, (*n + 1) * sizeof **names);
    if (!more)
        return;
    *names = more;
    more[*n] = strdup(name);
    *n += more[*n] != NULL;
}

/* The names of all metrics of the runs; the caller frees each and the list. */
static char **metric_names(const run_list *l, size_t *ret_count)
{
    char **names = NULL;
    *ret_count = 0;
    for (size_t k = 0; k < l->count; k++) {
        const json_node *metrics = json_get(l->items[k].root, "metrics");
        for (size_t i = 0; i < json_count(metrics); i++)
            list_name(&names, ret_count, json_key(json_at(metrics, i)));
        for (size_t i = 0; i < l->items[k].log.nseries; i++)
            list_name(&names, ret_count, l->items[k].log.series[i].name);
    }
    return names;
}

/* ---- text ---- */

/* What callbacks tell of machine and weights is in the JSON alone. */
static bool is_shown(const char *name)
{
    return strncmp(name, "loss/", 5) == 0 || strncmp(name, "metrics/", 8) == 0 ||
           strncmp(name, "throughput/", 11) == 0 || strncmp(name, "memory/peak", 11) == 0;
}

static int name_width(const settings *s, char *const *names, size_t n)
{
    size_t most = 8;
    for (size_t k = 0; k < s->count; k++)
        most = strlen(s->items[k].path) > most ? strlen(s->items[k].path) : most;
    for (size_t k = 0; k < n; k++)
        most = is_shown(names[k]) && strlen(names[k]) > most ? strlen(names[k]) : most;
    return most < MOST_NAME ? (int)most : MOST_NAME;
}

static void print_heads(const run_list *l, int width)
{
    char took[32];
    (void)printf("%-*s", width, "");
    for (size_t k = 0; k < l->count; k++)
        (void)printf("  %-*.*s", COLUMN, COLUMN, l->items[k].name);
    (void)printf("\n%-*s", width, "status");
    for (size_t k = 0; k < l->count; k++)
        (void)printf("  %-*s", COLUMN, l->items[k].status);
    (void)printf("\n%-*s", width, "duration");
    for (size_t k = 0; k < l->count; k++)
        (void)printf("  %-*s", COLUMN, runs_duration(l->items[k].seconds, took, sizeof took));
    (void)printf("\n");
}

static void print_settings(const settings *s, int width)
{
    (void)printf("\n%s\n", s->count ? "settings that differ" : "the settings are the same");
    for (size_t k = 0; k < s->count; k++) {
        (void)printf("%-*s", width, s->items[k].path);
        for (size_t r = 0; r < s->nruns; r++)
            (void)printf("  %-*s", COLUMN, s->items[k].values[r] ? s->items[k].values[r] : "-");
        (void)printf("\n");
    }
}

static void print_metrics(const run_list *l, char *const *names, size_t n, int width)
{
    if (n)
        (void)printf("\nmetrics: last (best); --json has all of them\n");
    for (size_t k = 0; k < n; k++) {
        if (!is_shown(names[k]))
            continue;
        (void)printf("%-*s", width, names[k]);
        for (size_t r = 0; r < l->count; r++) {
            const metric_value v = value_of(&l->items[r], names[k]);
            char text[64] = "-";
            if (v.known)
                (void)snprintf(text, sizeof text, "%.6g (%.6g)", v.last, v.best);
            (void)printf("  %-*s", COLUMN, text);
        }
        (void)printf("\n");
    }
}

/* ---- JSON ---- */

static void add_number(text_buffer *b, double value)
{
    char text[TEXT_REAL_SIZE];
    text_add(b, "%s", isfinite(value) ? text_real(value, text) : "null");
}

static void add_settings(text_buffer *b, const settings *s)
{
    text_add(b, "],\n \"settings\": {");
    for (size_t k = 0; k < s->count; k++) {
        text_add(b, "%s\n  ", k ? "," : "");
        text_add_quoted(b, s->items[k].path);
        for (size_t r = 0; r < s->nruns; r++) {
            text_add(b, "%s", r ? ", " : ": [");
            if (s->items[k].values[r])
                text_add_quoted(b, s->items[k].values[r]);
            else
                text_add(b, "null");
        }
        text_add(b, "]");
    }
}

static int print_json(const run_list *l, const settings *s, char *const *names, size_t n)
{
    text_buffer b = {.data = NULL};
    text_add(&b, "{\"runs\": [");
    for (size_t k = 0; k < l->count; k++) {
        text_add(&b, "%s{\"name\": ", k ? ", " : "");
        text_add_quoted(&b, l->items[k].name);
        text_add(&b,
                 ", \"status\": \"%s\", \"seconds\": %.3f, \"folder\": ", l->items[k].status,
                 l->items[k].seconds);
        text_add_quoted(&b, l->items[k].path);
        text_add(&b, "}");
    }
    add_settings(&b, s);
    text_add(&b, "},\n \"metrics\": {");
    for (size_t k = 0; k < n; k++) {
        text_add(&b, "%s\n  ", k ? "," : "");
        text_add_quoted(&b, names[k]);
        for (size_t r = 0; r < l->count; r++) {
            const metric_value v = value_of(&l->items[r], names[k]);
            text_add(&b, "%s{\"last\": ", r ? ", " : ": [");
            add_number(&b, v.last);
            text_add(&b, ", \"best\": ");
            add_number(&b, v.best);
            text_add(&b, "}");
        }
        text_add(&b, "]");
    }
    text_add(&b, "}}\n");
    return runs_print(&b);
}

int runs_compare(run_list *l, bool json)
{
    settings s;
    tutti_error e = TUTTI_ERROR_INIT;
    size_t n = 0;
    if (!runs_read_logs(l))
        return CLI_FAILED;
    if (settings_compare(l->items, l->count, false, &s, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        return CLI_FAILED;
    }
    char **names = metric_names(l, &n);
    int status = CLI_OK;
    if (json)
        status = print_json(l, &s, names, n);
    else {
        const int width = name_width(&s, names, n);
        print_heads(l, width);
        print_settings(&s, width);
        print_metrics(l, names, n, width);
    }
    for (size_t k = 0; k < n; k++)
        free(names[k]);
    free(names);
    settings_fini(&s);
    return status;
}
