/* explain.c - tutti explain: the order at every event, and the reason of each place. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLACES = 256 };

static const char *kind_of(const instance *i)
{
    return object_describe(instance_object(i))->kind;
}

static void print_passes(const engine *e)
{
    const char *name;
    (void)printf("passes over the algorithms that match:");
    for (size_t k = 0; (name = engine_pass_name(e, k)); k++)
        (void)printf("%s %s", k ? "," : "", name);
    (void)printf("\n");
}

static tutti_status print_event(engine *e, int32_t event, tutti_error *err)
{
    engine_place places[MAX_PLACES];
    size_t n;
    const tutti_status s = engine_order(e, event, places, MAX_PLACES, &n, err);
    if (s || n == 0)
        return s;
    (void)printf("%s\n", engine_event_name(e, event));
    for (size_t k = 0; k < n && k < MAX_PLACES; k++)
        (void)printf("  %2zu. %-9s %-24s %s\n", k + 1, places[k].kind, places[k].name,
                     places[k].reason);
    return TUTTI_OK;
}

/* Whether it takes part without events: it works through its tables.  A pass without any counts on all. */
static bool is_eventless(const instance *i)
{
    size_t n;
    return !instance_events(i, &n) && strcmp(kind_of(i), TUTTI_KIND_PASS) != 0;
}

static void print_eventless(const engine *e)
{
    const char *head = "at no event\n";
    const instance *i;
    for (size_t k = 0; engine_instance(e, k, &i); k++) {
        if (!i || !is_eventless(i))
            continue;
        (void)printf("%s      %-9s %s\n", head, kind_of(i), instance_name(i));
        head = "";
    }
}

static tutti_status no_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for what explain prints");
}

static tutti_status print_left_out(const engine *e, tutti_error *err)
{
    const char *head = "left out by settings\n";
    const instance *i;
    int32_t event;
    char *when;
    for (size_t k = 0; engine_instance(e, k, &i); k++)
        for (size_t n = 0; i && instance_left_out(i, n, &event, &when); n++) {
            if (!when)
                return no_memory(err);
            (void)printf("%s      %-9s %-24s %s: heard when %s\n", head, kind_of(i),
                         instance_name(i), engine_event_name(e, event), when);
            head = "";
            free(when);
        }
    return TUTTI_OK;
}

static tutti_status print_all(trainer *t, tutti_error *err)
{
    engine *e = trainer_engine(t);
    tutti_status s = TUTTI_OK;
    print_passes(e);
    for (int32_t event = 0; event < TUTTI_EVENT_CUSTOM + MAX_CUSTOM_EVENTS && !s; event++)
        s = print_event(e, event, err);
    if (s)
        return s;
    print_eventless(e);
    s = print_left_out(e, err);
    return s ? s : trainer_tell_step(t, stdout, err);
}

/* ---- the same as JSON ---- */

static void add_who(text_buffer *b, const char *link, const char *kind, const char *name)
{
    text_add(b, "%s{\"kind\": ", link);
    text_add_quoted(b, kind);
    text_add(b, ", \"name\": ");
    text_add_quoted(b, name);
}

static void add_passes(text_buffer *b, const engine *e)
{
    const char *name;
    text_add(b, "{\"passes\": [");
    for (size_t k = 0; (name = engine_pass_name(e, k)); k++) {
        text_add(b, "%s", k ? ", " : "");
        text_add_quoted(b, name);
    }
}

static tutti_status add_events(text_buffer *b, engine *e, tutti_error *err)
{
    const char *link = "";
    text_add(b, "],\n \"events\": {");
    for (int32_t event = 0; event < TUTTI_EVENT_CUSTOM + MAX_CUSTOM_EVENTS; event++) {
        engine_place places[MAX_PLACES];
        size_t n;
        const tutti_status s = engine_order(e, event, places, MAX_PLACES, &n, err);
        if (s)
            return s;
        if (!n)
            continue;
        text_add(b, "%s\n  ", link);
        text_add_quoted(b, engine_event_name(e, event));
        text_add(b, ": [");
        for (size_t k = 0; k < n && k < MAX_PLACES; k++) {
            add_who(b, k ? ", " : "", places[k].kind, places[k].name);
            text_add(b, ", \"reason\": ");
            text_add_quoted(b, places[k].reason);
            text_add(b, "}");
        }
        text_add(b, "]");
        link = ",";
    }
    return TUTTI_OK;
}

static void add_eventless(text_buffer *b, const engine *e)
{
    const char *link = "";
    const instance *i;
    text_add(b, "},\n \"at_no_event\": [");
    for (size_t k = 0; engine_instance(e, k, &i); k++) {
        if (!i || !is_eventless(i))
            continue;
        add_who(b, link, kind_of(i), instance_name(i));
        text_add(b, "}");
        link = ", ";
    }
}

static void add_left_out(text_buffer *b, const engine *e)
{
    const char *link = "\n  ";
    const instance *i;
    int32_t event;
    char *when;
    text_add(b, "],\n \"left_out\": [");
    for (size_t k = 0; engine_instance(e, k, &i); k++)
        for (size_t n = 0; i && instance_left_out(i, n, &event, &when); n++) {
            add_who(b, link, kind_of(i), instance_name(i));
            text_add(b, ", \"event\": ");
            text_add_quoted(b, engine_event_name(e, event));
            text_add(b, ", \"when\": ");
            b->failed = b->failed || !when;
            text_add_quoted(b, when ? when : "");
            text_add(b, "}");
            link = ",\n  ";
            free(when);
        }
}

/* What text has of a step, line by line. */
static tutti_status add_step(text_buffer *b, const trainer *t, tutti_error *err)
{
    char *text = NULL, *rest = NULL;
    size_t size = 0;
    const char *link = "";
    tutti_status s = TUTTI_OK;
    FILE *memory = open_memstream(&text, &size);
    if (memory) {
        s = trainer_tell_step(t, memory, err);
        b->failed = b->failed || fclose(memory) != 0;
    }
    b->failed = b->failed || !memory;
    text_add(b, "],\n \"step\": [");
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest)) {
        text_add(b, "%s", link);
        text_add_quoted(b, line);
        link = ", ";
    }
    text_add(b, "]}\n");
    free(text);
    return s;
}

static tutti_status print_json(trainer *t, tutti_error *err)
{
    text_buffer b = {0};
    engine *e = trainer_engine(t);
    add_passes(&b, e);
    tutti_status s = add_events(&b, e, err);
    if (!s) {
        add_eventless(&b, e);
        add_left_out(&b, e);
        s = add_step(&b, t, err);
    }
    if (!s && b.failed)
        s = no_memory(err);
    if (!s)
        (void)fputs(b.data, stdout);
    free(b.data);
    return s;
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
    status = (o->json ? print_json(t, &e) : print_all(t, &e)) ? CLI_FAILED : CLI_OK;
    if (status)
        (void)fprintf(stderr, "tutti: %s\n", e.text);

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
           "as one because nobody hears the events in between.  Then who works without events, "
           "and which events of a manifest the settings leave out, and when they are heard.  "
           "Opens the data and builds the model, trains nothing.",
    .more = "Exit status: 0 printed, 1 a pass fails, 2 wrong usage or input.",
    .takes = CLI_TAKES_PLUGINS | CLI_TAKES_RUN | CLI_TAKES_JSON,
    .least = 0,
    .most = 1,
    .run = run,
};
