/* cli.c - the registry, the run file and what is printed, for every command. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include "train/record/repeat.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void report(void *ctx, int level, const char *text)
{
    (void)ctx;
    if (level >= TUTTI_LOG_WARNING)
        (void)fprintf(stderr, "tutti: %s\n", text);
}

registry_options cli_registry_options(const cli_options *o)
{
    return (registry_options){.plugin_paths = o->plugin_paths,
                              .lock_file = o->lock,
                              .trust = o->lock ? TRUST_PINNED : TRUST_OWNER,
                              .has_policies = true,
                              .policy_file = o->policy};
}

registry *cli_registry(const cli_options *o)
{
    registry_options options = cli_registry_options(o);
    options.check = o->check;
    options.report = report;
    registry *r;
    tutti_error e = TUTTI_ERROR_INIT;
    if (registry_create(&options, &r, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        return NULL;
    }
    return r;
}

bool cli_share(const char *below, char *ret_path, size_t size)
{
    static const char *const places[] = {"share/tutti", "../share/tutti"};
    char exe[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(exe, '/');
    if (slash)
        *slash = '\0';
    for (size_t k = 0; slash && k < sizeof places / sizeof *places; k++)
        if (snprintf(ret_path, size, "%s/%s/%s", exe, places[k], below) < (int)size &&
            access(ret_path, R_OK) == 0)
            return true;
    return false;
}

/* Whether `name` is a recipe's and no file's; then `path` is its file. */
static bool find_recipe(const char *name, char *path, size_t size)
{
    char below[64];
    return access(name, F_OK) != 0 && !strchr(name, '/') &&
           snprintf(below, sizeof below, "recipes/%s.json", name) < (int)sizeof below &&
           cli_share(below, path, size);
}

/* Says what is wrong with the file, and how it may be quiet; `why`, CLI_WHY_SIZE or NULL, gets the first fault. */
static run_file *told(const cli_options *o, tutti_status s, run_file *run, faults *f, char *why)
{
    if (why && faults_count(f))
        (void)snprintf(why, CLI_WHY_SIZE, "%s", faults_text(f, 0));
    for (size_t k = 0; k < faults_count(f); k++)
        (void)fprintf(stderr, "%s\n", faults_text(f, k));
    faults_destroy(f);
    if (!s && o->talk.quiet)
        run_file_be_quiet(run);
    return s ? NULL : run;
}

/* For what is wrong with a run file; NULL, which has been said, when none can be read. */
static faults *faults_of_run(registry *r)
{
    faults *f = faults_create();
    if (!f)
        (void)fprintf(stderr, "tutti: no memory to read the run file\n");
    if (registry_trusts_nothing(r)) { /* which has been said */
        faults_destroy(f);
        return NULL;
    }
    return f;
}

static const char *folder_here(char *path, size_t size)
{
    if (!getcwd(path, size))
        (void)snprintf(path, size, ".");
    return path;
}

/* "name=NAME-repeat", with a number where there is such a folder. */
static void name_repeat(const char *name, char *text, size_t size)
{
    char folder[PATH_MAX];
    (void)snprintf(text, size, "name=%s-repeat", name);
    for (int k = 2; snprintf(folder, sizeof folder, "runs/%s", text + 5) < (int)sizeof folder &&
                    access(folder, F_OK) == 0;
         k++)
        (void)snprintf(text, size, "name=%s-repeat-%d", name, k);
}

void cli_repeat_sets(const cli_options *o, const run_repeat *repeat, cli_sets *ret)
{
    name_repeat(run_repeat_name(repeat), ret->name, sizeof ret->name);
    ret->texts[0] = ret->name;
    for (size_t k = 0; k < o->nsets; k++)
        ret->texts[k + 1] = o->sets[k];
    ret->texts[o->nsets + 1] = NULL;
}

run_file *cli_read_repeat(const cli_options *o, const run_repeat *repeat, const cli_sets *sets,
                          registry *r, char *why)
{
    run_file *run = NULL;
    faults *f = faults_of_run(r);
    if (!f)
        return NULL;
    const tutti_status s =
        run_file_parse(run_repeat_path(repeat), run_repeat_text(repeat),
                       run_repeat_folder(repeat), RUN_FILE_TRAIN, sets->texts, r, &run, f);
    return told(o, s, run, f, why);
}

run_file *cli_run_text(const cli_options *o, const char *name, const char *text, int kind,
                       registry *r)
{
    char here[PATH_MAX];
    run_file *run = NULL;
    faults *f = faults_of_run(r);
    if (!f)
        return NULL;
    const tutti_status s =
        run_file_parse(name, text, folder_here(here, sizeof here), kind, o->sets, r, &run, f);
    return told(o, s, run, f, NULL);
}

const char *cli_run_path(const cli_options *o, char *recipe, size_t size)
{
    return find_recipe(o->run, recipe, size) ? recipe : o->run;
}

run_file *cli_read_run(const cli_options *o, int kind, registry *r, char *why)
{
    char here[PATH_MAX], recipe[PATH_MAX];
    run_file *run = NULL;
    if (!o->run)
        return cli_run_text(o, "embedded run", cli_default_run, RUN_FILE_TRAIN, r);
    faults *f = faults_of_run(r);
    if (!f)
        return NULL;
    if (o->resume && strcmp(o->resume, "auto") == 0 &&
        (kind == RUN_FILE_TRAIN || kind == RUN_FILE_MODEL))
        kind |= RUN_FILE_NAMED;
    const char *path = cli_run_path(o, recipe, sizeof recipe);
    const tutti_status s =
        run_file_read(path, path == recipe ? folder_here(here, sizeof here) : NULL, kind,
                      o->sets, r, &run, f);
    return told(o, s, run, f, why);
}

run_file *cli_run_file(const cli_options *o, int kind, registry *r)
{
    return cli_read_run(o, kind, r, NULL);
}

bool cli_has_weights(const cli_options *o, const run_file *run, const char *command)
{
    const bool has = o->resume || run->checkpoints.weights;
    if (!has)
        (void)fprintf(stderr,
                      "tutti: %s needs --checkpoint, or \"load_weights\" in the run file\n",
                      command);
    return has;
}

/* "tutti: ", in yellow or red for a warning or an error where that can be. */
static void print_program(int level)
{
    const bool coloured = level >= TUTTI_LOG_WARNING && cli_has_colours(stderr);
    (void)fprintf(stderr, coloured ? "\033[3%dmtutti:\033[0m " : "tutti: ",
                  level >= TUTTI_LOG_ERROR ? 1 : 3);
}

void cli_message(void *ctx, int level, const char *component, const char *text)
{
    const run_file *run = ctx;
    flockfile(stderr); /* other threads write whole lines too */
    print_program(level);
    if (run->distributed.rank != 0)
        (void)fprintf(stderr, "[rank %d] ", run->distributed.rank);
    (void)fprintf(stderr, "%s: %s\n", component, text);
    funlockfile(stderr);
}

trainer *cli_trainer_of_model(const cli_options *o, run_file *run, registry *r,
                              const tutti_op *const *ops)
{
    trainer *t = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    run_file_forget_loggers(run);
    trainer_catch_signals(run->checkpoints.signals);
    if (trainer_create(run, r, ops, &t, &e)) {
        cli_print_failure(run, e.text);
        trainer_destroy(t);
        return NULL;
    }
    trainer_on_message(t, cli_message, run, o->talk.verbose);
    return t;
}

void cli_print_failure(const run_file *run, const char *text)
{
    if (run->distributed.rank != 0 && run->distributed.told)
        return;
    print_program(TUTTI_LOG_ERROR);
    if (run->distributed.rank != 0)
        (void)fprintf(stderr, "[rank %d] ", run->distributed.rank);
    (void)fprintf(stderr, "%s\n", text);
}

void cli_watch(const run_file *run)
{
    tutti_error e = TUTTI_ERROR_INIT;
    if (run->watchdog_s > 0.0 && watchdog_start(run->watchdog_s, &e))
        (void)fprintf(stderr, "tutti: %s\n", e.text);
}

int cli_signal_status(void)
{
    return trainer_first_signal() ? 128 + trainer_first_signal() : CLI_FAILED;
}

int cli_failure_status(const cli_options *o, const trainer *t, bool stopped)
{
    if (stopped)
        return cli_signal_status();
    return o->resume && strcmp(o->resume, "auto") == 0 && trainer_was_over(t) ? CLI_OK
                                                                              : CLI_FAILED;
}

int cli_creation_status(const tutti_error *e)
{
    return e->status == TUTTI_E_INTERRUPTED ? cli_signal_status() : CLI_USAGE;
}

int cli_finish(int status, const registry *r)
{
    const int changes = registry_changes(r);
    watchdog_stop();
    if (trainer_hurries()) { /* threads that hang are not waited for */
        (void)fflush(NULL);
        _exit(status);
    }
    if (changes)
        (void)fprintf(stderr, "tutti: plugins changed the process %d times\n", changes);
    return status == CLI_OK && changes ? CLI_FAILED : status;
}
