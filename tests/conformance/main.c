/* main.c - conformance FILE.json...: runs cases with answers against the real engines. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct kind {
    const char *name;
    case_runner run;
} kind;

static const kind kinds[] = {
    {"time", run_time_case},
    {"interval", run_interval_case},
    {"schedule", run_schedule_case},
    {"dispatch", run_dispatch_case},
    {"event_counts", run_event_counts_case},
    {"loop", run_loop_case},
};

/* Loop cases say "loop" themselves; all others have a kind. */
static const kind *kind_of(const json_node *c)
{
    const char *name = member(c, "loop") ? "loop" : text_of(c, "kind");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (strcmp(kinds[k].name, name) == 0)
            return &kinds[k];
    return NULL;
}

static int run_case(const char *path, size_t number, const json_node *c, registry *plugins)
{
    verdict v = {{0}, {0}};
    const kind *k = kind_of(c);
    text_add(&v.want, "%s", "");
    text_add(&v.got, "%s", "");
    if (k)
        k->run(c, plugins, &v);
    else
        text_add(&v.want, "a case of a kind that is known");
    const int passed = v.want.data && v.got.data && strcmp(v.want.data, v.got.data) == 0;
    if (!passed) {
        const char *name = text_of(c, "name"), *file = strrchr(path, '/');
        (void)printf("%s[%zu]%s%s: expected %s, got %s\n", file ? file + 1 : path, number,
                     *name ? " " : "", name, v.want.data ? v.want.data : "?",
                     v.got.data ? v.got.data : "?");
    }
    free(v.want.data);
    free(v.got.data);
    return passed;
}

int main(int argc, char **argv)
{
    const registry_options options = {.trust = TRUST_NONE};
    registry *plugins = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    long passed = 0, failed = 0;
    if (argc < 2) {
        (void)fprintf(stderr, "usage: conformance FILE.json...\n");
        return 2;
    }
    if (registry_create(&options, &plugins, &err)) {
        (void)fprintf(stderr, "conformance: %s\n", err.text);
        return 2;
    }
    for (int k = 1; k < argc; k++) {
        json_doc *doc = NULL;
        tutti_error e = TUTTI_ERROR_INIT;
        if (json_read(argv[k], (size_t)1 << 28, &doc, &e)) {
            (void)printf("%s: expected a JSON array, got %s\n", argv[k], e.text);
            failed++;
            continue;
        }
        for (size_t n = 0; n < json_count(json_root(doc)); n++)
            *(run_case(argv[k], n, json_at(json_root(doc), n), plugins) ? &passed : &failed) +=
                1;
        json_free(doc);
    }
    registry_destroy(plugins);
    (void)printf("%ld passed, %ld failed\n", passed, failed);
    return failed ? 1 : 0;
}
