/* settings.c - the check settings: each setting of the manifest at its limits, then many at once. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "check/bench.h"
#include "check/values.h"
#include "tutti/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETS_AT_ONCE = 24 };

/* Opens with these settings, if the manifest lets them pass; it must say why if it does not open. */
static void open_with(bench *b, const char *more)
{
    tutti_error e = TUTTI_ERROR_INIT;
    bool given;
    instance *i = NULL;
    const tutti_status s = bench_open(b, more, &given, &i, &e);
    if (s && given)
        bench_judge_refusal(b, CHECK_SETTINGS, more, s, &e);
    if (!s) {
        if (instance_close(i, &e) || instance_post_close(i, &e))
            child_say(b->child, CHECK_SETTINGS, CHECK_FAILED, "%s: %s", more, e.text);
        instance_free(i);
    }
}

static void open_with_each(bench *b, const json_node *params)
{
    for (size_t k = 0; k < json_count(params); k++) {
        setting_values v;
        setting_values_of(&v, json_at(params, k));
        for (int n = 0; n < v.count; n++) {
            char more[SETTING_VALUE_SIZE + 96];
            (void)snprintf(more, sizeof more, "\"%s\": %s", json_key(json_at(params, k)),
                           v.text[n]);
            open_with(b, more);
        }
    }
}

/* Every setting has some value of its own; the same sets each time. */
static void open_with_many(bench *b, const json_node *params)
{
    for (int set = 0; set < SETS_AT_ONCE && json_count(params) > 1; set++) {
        text_buffer more = {0};
        for (size_t k = 0; k < json_count(params); k++) {
            setting_values v;
            const tutti_rng4 d = tutti_rng(7, TUTTI_RNG_PLUGIN, (uint64_t)set, k);
            setting_values_of(&v, json_at(params, k));
            if (v.count && d.v[0] % 2)
                text_add(&more, "%s\"%s\": %s", more.size ? ", " : "",
                         json_key(json_at(params, k)), v.text[d.v[1] % (uint32_t)v.count]);
        }
        if (more.data)
            open_with(b, more.data);
        free(more.data);
    }
}

void bench_check_settings(child *c, void *subject_)
{
    bench b;
    const subject *s = subject_;
    if (!bench_begin(&b, s, c, CHECK_SETTINGS))
        return;
    registry_look(b.subject->options->registry, false);
    open_with_each(&b, s->info->params);
    open_with_many(&b, s->info->params);
    if (!json_count(s->info->params))
        child_say(c, CHECK_SETTINGS, CHECK_NOT_TRIED, "it has no settings");
    bench_end(&b);
}
