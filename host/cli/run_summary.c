/* run_summary.c - what a run is, at its start, and what came of it, at its end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_summary.h"

#include "base/duration.h"
#include "base/text.h"
#include "cli/cli.h"
#include "train/trainer/describe.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool cli_has_colours(FILE *stream)
{
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return (!no || !*no) && terminal && strcmp(terminal, "dumb") != 0 &&
           isatty(fileno(stream)) == 1;
}

static void row(const char *key, const char *format, ...) TUTTI_PRINTF(2, 3);

static void row(const char *key, const char *format, ...)
{
    va_list args;
    const bool bold = cli_has_colours(stdout);
    (void)printf("  %s%-11s%s ", bold ? "\033[1m" : "", key, bold ? "\033[0m" : "");
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    (void)printf("\n");
}

/* ---- at the start ---- */

static void print_data(const trainer *t)
{
    data_facts d;
    for (size_t k = 0; trainer_data(t, k, &d); k++) {
        if (!d.dataset)
            continue;
        if (d.batches < 0)
            row(d.label, "%s, %lld samples, batches of %lld", d.dataset, (long long)d.samples,
                (long long)d.batch_size);
        else
            row(d.label, "%s, %lld samples, %lld %s of %lld", d.dataset, (long long)d.samples,
                (long long)d.batches, d.batches == 1 ? "batch" : "batches",
                (long long)d.batch_size);
    }
}

static void print_algorithms(const trainer *t)
{
    char text[1024] = "";
    const char *name;
    for (size_t k = 0; (name = trainer_algorithm(t, k)); k++) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s%s", k ? ", " : "", name);
    }
    if (*text)
        row("algorithms", "%s", text);
}

void cli_print_start(void *ctx, const trainer *t)
{
    const run_file *run = ctx;
    const run_facts f = trainer_facts(t);
    char frozen[64] = "", length[40];
    if (f.trained < f.parameters)
        (void)snprintf(frozen, sizeof frozen, ", %lld of them trained", (long long)f.trained);
    if (!run->engine)
        (void)printf("run %s, %s\n", run->name,
                     duration_text(run->length.max_duration, length, sizeof length));
    if (run->model.object)
        row("model", "%s, %lld parameters in %u weights%s", run->model.name,
            (long long)f.parameters, f.weights, frozen);
    row("device", "%s, %d thread%s, %s", f.device, f.threads, f.threads == 1 ? "" : "s",
        run->numerics.precision);
    print_data(t);
    if (run->ngroups)
        row("optimizer", "%s", run->groups[run->ngroups - 1].part.name);
    print_algorithms(t);
    row("folder", "%s", f.folder);
    (void)cli_flush();
}

void cli_print_fact(void *ctx, const char *key, const char *text)
{
    (void)ctx;
    row(key, "%s", text);
    (void)cli_flush();
}

/* ---- at the end ---- */

static void print_value(const trainer *t, const char *label, const char *name, const char *key)
{
    const double *value = trainer_metric(t, key);
    if (value)
        (void)printf("%s %s: %.4f\n", label, name, *value);
}

static void print_metrics_of(const trainer *t, const run_data *data)
{
    for (size_t k = 0; k < data->metrics.count; k++) {
        char key[160];
        const char *name = data->metrics.items[k].name;
        (void)snprintf(key, sizeof key, "metrics/%s/%s", data->label, name);
        print_value(t, data->label, name, key);
    }
}

void cli_print_metrics(const trainer *t, const run_file *run)
{
    for (size_t e = 0; e < run->nevals; e++)
        print_metrics_of(t, &run->evals[e]);
}

static int is_shown(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

/* The run's folder with what lies in it, where there is anything. */
static void print_folder(const char *folder)
{
    struct dirent **list;
    char text[512] = "";
    const int n = scandir(folder, &list, is_shown, alphasort);
    for (int k = 0; k < n; k++) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s%s", k ? ", " : "", list[k]->d_name);
        free(list[k]);
    }
    if (n >= 0)
        free(list);
    if (n > 0)
        row("folder", "%s: %s", folder, text);
}

/* Rows of key and text, each ended by a zero. */
struct cli_places {
    text_buffer rows;
    char *folder;
};

static void add_place(void *ctx, const char *key, const char *text)
{
    text_buffer *rows = ctx;
    text_add_bytes(rows, key, strlen(key) + 1);
    text_add_bytes(rows, text, strlen(text) + 1);
}

static void say_lost(void)
{
    (void)fprintf(stderr, "tutti: no memory to tell where what the run wrote is\n");
}

cli_places *cli_find_places(const trainer *t)
{
    const char *checkpoint = trainer_newest_checkpoint(t);
    cli_places *p = calloc(1, sizeof *p);
    if (!p) {
        say_lost();
        return NULL;
    }
    if (checkpoint)
        add_place(&p->rows, "checkpoint", checkpoint);
    trainer_log_locations(t, add_place, &p->rows);
    p->folder = strdup(trainer_facts(t).folder);
    p->rows.failed = p->rows.failed || !p->folder;
    return p;
}

void cli_print_places(cli_places *p)
{
    if (!p)
        return;
    if (p->rows.failed)
        say_lost();
    for (size_t at = 0; !p->rows.failed && at < p->rows.size;) {
        const char *key = p->rows.data + at, *text = key + strlen(key) + 1;
        row(key, "%s", text);
        at = (size_t)(text + strlen(text) + 1 - p->rows.data);
    }
    if (p->folder)
        print_folder(p->folder);
    free(p->rows.data);
    free(p->folder);
    free(p);
}

void cli_print_training(const trainer *t, const run_file *run)
{
    (void)printf("trained %lld batches, %lld samples, %.1f s\n",
                 (long long)trainer_time(t)->batch, (long long)trainer_time(t)->sample,
                 (double)trainer_time(t)->total_ns * 1e-9);
    print_value(t, "train", "loss", "loss/train/total");
    print_metrics_of(t, &run->train);
    cli_print_metrics(t, run);
}
