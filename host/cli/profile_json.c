/* profile_json.c - what tutti profile has measured, for programs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/profile_json.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_real(text_buffer *b, const char *key, double value)
{
    char text[TEXT_REAL_SIZE];
    text_add(b, ", \"%s\": %s", key, text_real(value, text));
}

static void add_header(text_buffer *b, const trainer *t, double batches, double ns)
{
    const run_facts f = trainer_facts(t);
    text_add(b, "{\"threads\": %d", trainer_threads(t));
    add_real(b, "batches", batches);
    add_real(b, "batch_ms", ns * 1e-6 / batches);
    text_add(b, ", \"trained\": %lld, \"slots\": %u", (long long)f.trained, f.slots);
}

static void add_operations(text_buffer *b, const step_profile *s, double batches)
{
    text_add(b, ",\n \"operations\": [");
    for (size_t k = 0; s && k < s->nrows; k++) {
        const step_row *r = &s->rows[k];
        text_add(b, "%s\n  {\"name\": ", k ? "," : "");
        text_add_quoted(b, r->name);
        add_real(b, "count", (double)r->count / batches);
        add_real(b, "ms", (double)r->ns * 1e-6 / batches);
        add_real(b, "flops", r->flops / batches);
        add_real(b, "bytes", r->bytes / batches);
        text_add(b, "}");
    }
    text_add(b, "]");
}

/* The totals whose names begin with "event/", or all others. */
static void add_totals(text_buffer *b, const profiler *p, bool events, double batches)
{
    static const char event[] = "event/";
    profiler_total t;
    const char *link = "";
    text_add(b, ",\n \"%s\": [", events ? "events" : "plugins");
    for (uint32_t k = 0; profiler_total_at(p, k, &t); k++) {
        const bool is_event = strncmp(t.name, event, strlen(event)) == 0;
        if (!t.count || is_event != events || strncmp(t.name, "op/", 3) == 0)
            continue;
        text_add(b, "%s\n  {\"name\": ", link);
        text_add_quoted(b, events ? t.name + strlen(event) : t.name);
        add_real(b, "count", (double)t.count / batches);
        add_real(b, "ms", (double)t.ns * 1e-6 / batches);
        add_real(b, "own_ms", (double)t.own_ns * 1e-6 / batches);
        text_add(b, "}");
        link = ",";
    }
    text_add(b, "]");
}

tutti_status profile_print_json(const trainer *t, double batches, double ns, tutti_error *err)
{
    text_buffer b = {NULL, 0, 0, 0};
    const step_profile *s = trainer_steps(t);
    add_header(&b, t, batches, ns);
    add_operations(&b, s, batches);
    add_totals(&b, trainer_profiler(t), true, batches);
    add_totals(&b, trainer_profiler(t), false, batches);
    text_add(&b, "}\n");
    const bool failed = b.failed || (s && s->lost);
    if (!failed)
        (void)fputs(b.data, stdout);
    free(b.data);
    return failed ? tutti_fail(err, TUTTI_E_NOMEM, "no memory for what was measured")
                  : TUTTI_OK;
}
