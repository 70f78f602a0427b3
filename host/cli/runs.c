/* runs.c - tutti runs: the runs of a folder, two runs side by side, curves in the terminal. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/runs.h"
#include "cli/cli.h"

#include "base/text.h"
#include "report/plot.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { WIDTH = 80, MOST_WIDTH = 400, HEIGHT = 16, ALONE_HEIGHT = 10 };

/* Those of which the record does not tell yet. */
static bool read_open_ends(run_list *l)
{
    for (size_t k = 0; k < l->count; k++) {
        tutti_error e = TUTTI_ERROR_INIT;
        if (!json_get(l->items[k].root, "ended") && run_folder_read_log(&l->items[k], &e)) {
            (void)fprintf(stderr, "tutti: %s\n", e.text);
            return false;
        }
    }
    return true;
}

/* ---- the list ---- */

static const char *status_colour(const char *status)
{
    return !cli_has_colours(stdout)             ? ""
           : strcmp(status, "finished") == 0    ? "\033[32m"
           : strcmp(status, "running") == 0     ? "\033[36m"
           : strcmp(status, "interrupted") == 0 ? "\033[33m"
                                                : "\033[31m";
}

static int widest(const run_list *l)
{
    size_t n = 4;
    for (size_t k = 0; k < l->count; k++)
        n = strlen(l->items[k].name) > n ? strlen(l->items[k].name) : n;
    return n < 40 ? (int)n : 40;
}

static void print_list(const run_list *l)
{
    const int width = widest(l);
    if (l->count)
        (void)printf("%-*s  %-11s  %-16s  %8s  %8s  %-36s  %s\n", width, "NAME", "STATUS",
                     "STARTED", "DURATION", "BATCHES", "BEST", "FOLDER");
    for (size_t k = 0; k < l->count; k++) {
        const run_folder *r = &l->items[k];
        char took[32], when[32] = "", best[128] = "-";
        const time_t started = (time_t)r->started;
        struct tm tm;
        if (localtime_r(&started, &tm))
            (void)strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm);
        if (r->metric && !isnan(r->best))
            (void)snprintf(best, sizeof best, "%.6g %.100s", r->best, r->metric);
        (void)printf("%-*s  %s%-11s%s  %-16s  %8s  %8lld  %-36s  %s\n", width, r->name,
                     status_colour(r->status), r->status,
                     *status_colour(r->status) ? "\033[0m" : "", when,
                     runs_duration(r->seconds, took, sizeof took), (long long)r->batches, best,
                     r->path);
    }
}

static void add_number(text_buffer *b, double value)
{
    char text[TEXT_REAL_SIZE];
    text_add(b, "%s", isfinite(value) ? text_real(value, text) : "null");
}

static void add_run(text_buffer *b, const run_folder *r)
{
    const char *why = json_string(json_get(r->root, "error"));
    text_add(b, "{\"name\": ");
    text_add_quoted(b, r->name);
    text_add(b, ", \"status\": \"%s\", \"started\": %.3f, \"seconds\": %.3f, \"batches\": %lld",
             r->status, r->started, r->seconds, (long long)r->batches);
    text_add(b, ", \"metric\": ");
    if (r->metric)
        text_add_quoted(b, r->metric);
    else
        text_add(b, "null");
    text_add(b, ", \"best\": ");
    add_number(b, r->best);
    if (why) {
        text_add(b, ", \"error\": ");
        text_add_quoted(b, why);
    }
    text_add(b, ", \"folder\": ");
    text_add_quoted(b, r->path);
    text_add(b, "}");
}

static int print_json(const run_list *l)
{
    text_buffer b = {.data = NULL};
    text_add(&b, "[");
    for (size_t k = 0; k < l->count; k++) {
        text_add(&b, "%s", k ? ",\n " : "");
        add_run(&b, &l->items[k]);
    }
    text_add(&b, "]\n");
    return runs_print(&b);
}

/* ---- curves ---- */

static int terminal_width(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    long width = columns ? strtol(columns, NULL, 10) : 0;
    if (width <= 0 && ioctl(fileno(stdout), TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    return width <= 0 ? WIDTH : width > MOST_WIDTH ? MOST_WIDTH : (int)width;
}

static void add_legend(text_buffer *b, const run_folder *r, const series *s, size_t k,
                       bool colours)
{
    double step = 0;
    const bool less = history_less_is_better(s->name);
    const double best = series_best(s, less, &step);
    text_add(b, "%s%s %s%s  last %.6g", plot_colour(k, colours), colours ? "--" : "", r->name,
             plot_plain(colours), s->count ? s->value[s->count - 1] : (double)NAN);
    if (!isnan(best))
        text_add(b, ", %s %.6g at batch %.0f", less ? "least" : "greatest", best, step);
    text_add(b, "\n");
}

/* What the user's locale says; the process has the C locale. */
static bool is_utf8(void)
{
    const locale_t user = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    const bool is = user && strcmp(nl_langinfo_l(CODESET, user), "UTF-8") == 0;
    if (user)
        freelocale(user);
    return is;
}

/* All curves in one drawing where colours tell them apart, else a drawing each. */
static void draw(text_buffer *b, const run_list *l, const series *const *curves,
                 const plot_options *o)
{
    if (o->colours)
        plot_draw(b, curves, l->count, o);
    for (size_t k = 0; k < l->count; k++) {
        if (!curves[k])
            continue;
        add_legend(b, &l->items[k], curves[k], k, o->colours);
        if (!o->colours)
            plot_draw(b, &curves[k], 1, o);
    }
}

static void name_metrics(const run_list *l)
{
    (void)fprintf(stderr, "tutti: they have:");
    for (size_t k = 0; k < l->count; k++)
        for (size_t i = 0; k == 0 && i < l->items[k].log.nseries; i++)
            (void)fprintf(stderr, " %s", l->items[k].log.series[i].name);
    (void)fprintf(stderr, "\n");
}

static int plot(run_list *l, const char *metric)
{
    text_buffer b = {.data = NULL};
    size_t found = 0, logged = 0;
    if (!runs_read_logs(l))
        return CLI_FAILED;
    const series **curves = calloc(l->count + 1, sizeof *curves);
    if (!curves) {
        (void)fprintf(stderr, "tutti: no memory for %zu curves\n", l->count);
        return CLI_FAILED;
    }
    for (size_t k = 0; k < l->count; k++) {
        curves[k] = history_find(&l->items[k].log, metric);
        found += curves[k] != NULL;
        logged += l->items[k].log.nseries > 0;
    }
    if (!found) {
        (void)fprintf(stderr,
                      logged
                          ? "tutti: no run has logged %s\n"
                          : "tutti: no run has a log with %s, want the logger jsonl among the "
                            "\"loggers\" of its run file\n",
                      metric);
        if (logged)
            name_metrics(l);
        free(curves);
        return CLI_FAILED;
    }
    const bool colours = cli_has_colours(stdout);
    const plot_options o = {.width = terminal_width(),
                            .height = colours || found == 1 ? HEIGHT : ALONE_HEIGHT,
                            .braille = is_utf8(),
                            .colours = colours};
    text_add(&b, "%s\n", metric);
    draw(&b, l, curves, &o);
    free(curves);
    return runs_print(&b);
}

static int run(const cli_options *o, const tutti_op *const *ops)
{
    run_list l = {.items = NULL};
    int status = CLI_FAILED;
    (void)ops;
    const bool compares = o->nwords > 0 && strcmp(o->words[0], "compare") == 0;
    if (compares && o->nwords < 3)
        (void)fprintf(stderr, "tutti: compare needs the folders of two runs or more\n");
    else if (!runs_open(o, compares, &l))
        status = CLI_USAGE;
    else if (o->look.plot)
        status = plot(&l, o->look.plot);
    else if (compares)
        status = runs_compare(&l, o->json);
    else if (read_open_ends(&l)) {
        status = CLI_OK;
        if (o->json)
            status = print_json(&l);
        else
            print_list(&l);
    }
    run_list_fini(&l);
    return compares && o->nwords < 3 ? CLI_USAGE : status;
}

const cli_command cli_runs = {
    .name = "runs",
    .args = "[compare] [FOLDER...]",
    .kind = CLI_VALUE_FOLDER,
    .summary = "list runs, compare them, draw their curves",
    .doc =
        "Lists the runs whose folders lie in FOLDER, ./runs without it: whether they run, the "
        "best value of what they are judged by, how long they took.  FOLDER may be a run's "
        "own.  `tutti runs compare A B` shows in which settings runs differ, and their "
        "metrics side by side.",
    .more = "A run is judged by the first metric of its evaluations, else by its loss.\n"
            "Exit status: 0 printed, 1 a log cannot be read or no run has METRIC,\n"
            "             2 wrong usage, or no such folder.",
    .takes = CLI_TAKES_JSON | CLI_TAKES_PLOT,
    .least = 0,
    .most = CLI_MAX_OPTIONS,
    .run = run,
};
