/* cli.c - options, the registry and the run file, for every command. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct option {
    const char *name;
    const char **list; /* where values go */
    size_t *count;
    const char *prefix; /* "device=": the value becomes an override */
} option;

static int add(const char **list, size_t *count, const char *value)
{
    if (*count == CLI_MAX_OPTIONS) {
        (void)fprintf(stderr, "tutti: more than %d options of one kind\n", CLI_MAX_OPTIONS);
        return CLI_USAGE;
    }
    list[(*count)++] = value;
    list[*count] = NULL;
    return CLI_OK;
}

/* "device=cpu" out of --device cpu; lives as long as the program. */
static const char *joined(const char *prefix, const char *value)
{
    static char *texts[2 * CLI_MAX_OPTIONS];
    static size_t count;
    const size_t size = strlen(prefix) + strlen(value) + 1;
    char *text = count < sizeof texts / sizeof *texts ? malloc(size) : NULL;
    if (text) {
        (void)snprintf(text, size, "%s%s", prefix, value);
        texts[count++] = text;
    }
    return text;
}

int cli_read(int argc, char **argv, const char *usage, cli_options *o)
{
    static const char *const known[] = {
        "--set",         "--plugin-path", "--resume",  "--checkpoint", "--data",
        "--output",      "--device",      "--threads", "--duration",   "--reset-time",
        "--plugin-lock", "--help",        NULL};
    memset(o, 0, sizeof *o);
    size_t nresume = 0, ndata = 0, noutput = 0, nduration = 0, nlock = 0;
    const char *resume[CLI_MAX_OPTIONS + 1] = {NULL}, *data[CLI_MAX_OPTIONS + 1] = {NULL};
    const char *output[CLI_MAX_OPTIONS + 1] = {NULL}, *duration[CLI_MAX_OPTIONS + 1] = {NULL};
    const char *lock[CLI_MAX_OPTIONS + 1] = {NULL};
    const option options[] = {{"--set", o->sets, &o->nsets, NULL},
                              {"--plugin-path", o->plugin_paths, &o->npaths, NULL},
                              {"--resume", resume, &nresume, NULL},
                              {"--checkpoint", resume, &nresume, NULL},
                              {"--data", data, &ndata, NULL},
                              {"--output", output, &noutput, NULL},
                              {"--duration", duration, &nduration, NULL},
                              {"--plugin-lock", lock, &nlock, NULL},
                              {"--device", o->sets, &o->nsets, "device="},
                              {"--threads", o->sets, &o->nsets, "threads="}};
    for (int k = 0; k < argc; k++) {
        if (strcmp(argv[k], "--help") == 0 || strcmp(argv[k], "-h") == 0) {
            (void)fputs(usage, stdout);
            o->help = true;
            return CLI_OK;
        }
        if (strcmp(argv[k], "--reset-time") == 0) {
            o->reset_time = true;
            continue;
        }
        if (strncmp(argv[k], "--", 2) != 0) {
            if (add(o->words, &o->nwords, argv[k]))
                return CLI_USAGE;
            continue;
        }
        const option *found = NULL;
        for (size_t j = 0; j < sizeof options / sizeof *options && !found; j++)
            if (strcmp(options[j].name, argv[k]) == 0)
                found = &options[j];
        if (!found || k + 1 == argc) {
            const char *near = found ? NULL : nearest_word(argv[k], known);
            (void)fprintf(stderr, "tutti: %s %s%s%s\n", argv[k],
                          found ? "needs a value" : "is no option",
                          near ? "; did you mean " : "", near ? near : "");
            return CLI_USAGE;
        }
        const char *value = argv[++k];
        if (found->prefix)
            value = joined(found->prefix, value);
        if (!value || add(found->list, found->count, value))
            return CLI_USAGE;
    }
    o->run = o->nwords ? o->words[0] : NULL;
    o->resume = nresume ? resume[nresume - 1] : NULL;
    o->data = ndata ? data[ndata - 1] : NULL;
    o->output = noutput ? output[noutput - 1] : NULL;
    o->duration = nduration ? duration[nduration - 1] : NULL;
    o->lock = nlock ? lock[nlock - 1] : NULL;
    return CLI_OK;
}

static void report(void *ctx, int level, const char *text)
{
    (void)ctx;
    if (level >= TUTTI_LOG_WARNING)
        (void)fprintf(stderr, "tutti: %s\n", text);
}

registry *cli_registry(const cli_options *o)
{
    const registry_options options = {.plugin_paths = o->plugin_paths,
                                      .lock_file = o->lock,
                                      .trust = o->lock ? TRUST_PINNED : TRUST_OWNER,
                                      .report = report};
    registry *r;
    tutti_error e = TUTTI_ERROR_INIT;
    if (registry_create(&options, &r, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        return NULL;
    }
    return r;
}

run_file *cli_run(const cli_options *o, int kind, registry *r)
{
    run_file *run = NULL;
    faults *f = faults_create();
    char here[4096];
    if (registry_trusts_nothing(r) || !f) { /* which has been said */
        faults_destroy(f);
        return NULL;
    }
    if (!getcwd(here, sizeof here))
        (void)snprintf(here, sizeof here, ".");
    const tutti_status s =
        o->run ? run_file_read(o->run, kind, o->sets, r, &run, f)
               : run_file_parse("embedded run", cli_default_run, here, o->sets, r, &run, f);
    for (size_t k = 0; k < faults_count(f); k++)
        (void)fprintf(stderr, "%s\n", faults_text(f, k));
    faults_destroy(f);
    return s ? NULL : run;
}

void cli_message(void *ctx, int level, const char *component, const char *text)
{
    (void)ctx;
    (void)level;
    (void)fprintf(stderr, "tutti: %s: %s\n", component, text);
}

void cli_print_metrics(const trainer *t, const run_file *run)
{
    for (size_t e = 0; e < run->nevals; e++)
        for (size_t k = 0; k < run->evals[e].metrics.count; k++) {
            char name[160];
            (void)snprintf(name, sizeof name, "metrics/%s/%s", run->evals[e].label,
                           run->evals[e].metrics.items[k].name);
            const double value = trainer_metric(t, name);
            if (isfinite(value))
                (void)printf("%s %s: %.4f\n", run->evals[e].label,
                             run->evals[e].metrics.items[k].name, value);
        }
}
