/* progress.c - last values of metrics and counts of events, as the text of a checkpoint. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint/progress.h"

#include "base/json.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Whether the same run logs the same number again: no time, no speed. */
static bool is_result(const char *name)
{
    return strcmp(name, "output") == 0 || strncmp(name, "loss/", 5) == 0 ||
           strncmp(name, "metrics/", 8) == 0;
}

static void add_values(const run_log *l, text_buffer *b)
{
    const char *comma = "";
    text_add(b, "{\"values\": {");
    for (uint32_t k = 0; k < l->nvalues; k++) {
        const logged_value *v = &l->values[k];
        if (!is_result(v->name) || !isfinite(v->value) || !isfinite(v->least) ||
            !isfinite(v->most))
            continue;
        text_add(b, "%s", comma);
        text_add_quoted(b, v->name);
        text_add(b, ": [%.17g, %.17g, %.17g]", v->value, v->least, v->most);
        comma = ", ";
    }
    text_add(b, "}");
}

static void add_counts(engine *e, text_buffer *b)
{
    const char *comma = "";
    text_add(b, ", \"counts\": {");
    for (int32_t event = 0; event < engine_events(e); event++) {
        const int64_t *count = engine_own_count(e, event);
        if (!count || *count == 0)
            continue;
        text_add(b, "%s", comma);
        text_add_quoted(b, engine_event_name(e, event));
        text_add(b, ": %" PRId64, *count);
        comma = ", ";
    }
    text_add(b, "}}");
}

tutti_status progress_text(const trainer *t, char **ret_text, tutti_error *err)
{
    text_buffer b = {0};
    add_values(&t->run.log, &b);
    add_counts(t->run.engine, &b);
    *ret_text = b.data;
    return b.failed ? tutti_fail(err, TUTTI_E_NOMEM, "no memory for what the run has logged")
                    : TUTTI_OK;
}

static void take_values(run_log *l, const json_node *values)
{
    for (size_t k = 0; k < json_count(values); k++) {
        const json_node *at = json_at(values, k);
        const logged_value v = {.value = json_real(json_at(at, 0)),
                                .least = json_real(json_at(at, 1)),
                                .most = json_real(json_at(at, 2))};
        run_log_restore(l, json_key(at), &v);
    }
}

static void take_counts(engine *e, const json_node *counts)
{
    for (size_t k = 0; k < json_count(counts); k++) {
        const json_node *at = json_at(counts, k);
        int64_t *count = engine_own_count(e, engine_find_event(e, json_key(at)));
        if (count)
            *count = json_int(at);
    }
}

tutti_status progress_take(trainer *t, const char *path, const char *text, tutti_error *err)
{
    json_doc *doc = NULL;
    const tutti_status s = json_parse(path, text, strlen(text), &doc, err);
    if (s)
        return s;
    take_values(&t->run.log, json_get(json_root(doc), "values"));
    take_counts(t->run.engine, json_get(json_root(doc), "counts"));
    json_free(doc);
    return TUTTI_OK;
}
