/* begin.c - the record that begins the run, and what was given before it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/json_line.h"
#include "mlflow.h"

static void put_tag(FILE *out, const char *comma, const char *name, size_t size,
                    const char *value)
{
    char copy[256];
    (void)snprintf(copy, sizeof copy, "%.*s", (int)size, name);
    (void)fprintf(out, "%s{\"key\":", comma);
    json_line_string(out, copy);
    (void)fputs(",\"value\":", out);
    json_line_string(out, value);
    (void)fputs("}", out);
}

static tutti_status put_begin(mlflow *m, bool resume, tutti_error *err)
{
    text t = {0};
    if (!text_begin(&t))
        return fail_memory(err);
    (void)fprintf(t.out, "%c{\"resume\":%s,\"experiment\":", TRACKING_BEGIN,
                  resume || m->resume ? "true" : "false");
    json_line_string(t.out, m->experiment);
    (void)fputs(",\"run\":{\"run_name\":", t.out);
    json_line_string(t.out, m->run_name);
    (void)fprintf(t.out, ",\"start_time\":%lld,\"tags\":[", (long long)now_ms());
    put_tag(t.out, "", "run_name", 8, m->run_name);
    if (m->run_group)
        put_tag(t.out, ",", "run_group", 9, m->run_group);
    for (uint64_t k = 0; k < m->tags.count; k++) {
        const char *tag = m->tags.items[k], *value = strchr(tag, '=');
        put_tag(t.out, ",", tag, (size_t)(value - tag), value + 1);
    }
    (void)fputs("]}}", t.out);
    m->has_begun = true;
    return text_put(&t, m->outbox, err);
}

/* What was given before the run began, a record each. */
static tutti_status put_given(mlflow *m, tutti_error *err)
{
    if (!m->given.out)
        return TUTTI_OK;
    const bool whole = fclose(m->given.out) == 0;
    m->given.out = NULL;
    for (const char *at = m->given.data; whole && *at;) {
        const size_t n = strcspn(at, "\n");
        outbox_put(m->outbox, at, n);
        at += n + (at[n] == '\n');
    }
    text_free(&m->given);
    return whole ? TUTTI_OK : fail_memory(err);
}

tutti_status mlflow_begin(mlflow *m, bool resume, tutti_error *err)
{
    tutti_status s = m->has_begun ? TUTTI_OK : put_begin(m, resume, err);
    return s ? s : put_given(m, err);
}
