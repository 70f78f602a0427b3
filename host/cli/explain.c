/* explain.c - tutti explain: the order at every event, and the reason of each place. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <stdio.h>

enum { MAX_PLACES = 256 };

static void print_passes(const engine *e)
{
    const char *name;
    (void)printf("passes over the algorithms that match:");
    for (size_t k = 0; (name = engine_pass_name(e, k)); k++)
        (void)printf("%s %s", k ? "," : "", name);
    (void)printf("\n");
}

static void print_event(engine *e, int32_t event)
{
    engine_place places[MAX_PLACES];
    const size_t n = engine_order(e, event, places, MAX_PLACES);
    if (n == 0)
        return;
    (void)printf("%s\n", engine_event_name(e, event));
    for (size_t k = 0; k < n && k < MAX_PLACES; k++)
        (void)printf("  %2zu. %-9s %-24s %s\n", k + 1, places[k].kind, places[k].name,
                     places[k].reason);
}

static int run(const cli_options *o, const tutti_op *const *ops)
{
    int status = CLI_USAGE;
    trainer *t = NULL;
    run_file *run = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    registry *r = cli_registry(o);
    if (!r || !(run = cli_run_file(o, RUN_FILE_ANY, r)))
        goto end;
    if (trainer_create(run, r, ops, &t, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        goto end;
    }
    print_passes(trainer_engine(t));
    for (int32_t event = 0; event < TUTTI_EVENT_CUSTOM + MAX_CUSTOM_EVENTS; event++)
        print_event(trainer_engine(t), event);
    trainer_tell_step(t, stdout);
    status = CLI_OK;

end:
    trainer_destroy(t);
    run_file_free(run);
    registry_destroy(r);
    return status;
}

const cli_command cli_explain = {
    .name = "explain",
    .args = "[RUN.json]",
    .kind = CLI_VALUE_RUN,
    .summary = "print who runs at each event, in which order, and why",
    .doc = "Prints, for every event that somebody hears, who runs and in which order if all "
           "match, and why each stands where it does, and which parts of a training step run "
           "as one because nobody hears the events in between.  Opens the data and builds the "
           "model, trains nothing.",
    .more = "Exit status: 0 printed, 2 wrong usage or input.",
    .takes = CLI_TAKES_PLUGINS | CLI_TAKES_RUN,
    .least = 0,
    .most = 1,
    .run = run,
};
