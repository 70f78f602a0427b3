/* explain.c - tutti explain: the order at every event, and the reason of each place. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <stdio.h>

static const char usage[] =
    "usage: tutti explain [RUN.json] [--set path=value]... [--plugin-path DIR]...\n\n"
    "Prints, for every event that somebody hears, who runs and in which order if all match, "
    "and\n"
    "why each stands where it does, and which parts of a training step run as one because "
    "nobody\n"
    "hears the events in between.  Opens the data and builds the model, trains nothing.\n"
    "Exit status: 0 printed, 2 wrong usage or input.\n";

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

int cli_explain(int argc, char **argv, const tutti_op *const *ops)
{
    cli_options o;
    int status = cli_read(argc, argv, usage, &o);
    if (status || o.help)
        return status;
    status = CLI_USAGE;
    trainer *t = NULL;
    run_file *run = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    registry *r = cli_registry(&o);
    if (!r || !(run = cli_run(&o, RUN_FILE_ANY, r)))
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
