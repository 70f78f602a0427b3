/* handlers_fuzz.c - any JSON as a run file's handlers, traces and profiler: read, or told what is wrong. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/handler_binding.h"
#include "engine/profile/profiler.h"
#include "engine/trace.h"
#include "json_mutator.h"
#include "plugin/registry_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char manifest[] =
    "{\"format\": \"1.0\", \"id\": \"org.fuzz.demo\", \"version\": \"1.0.0\", \"license\": "
    "\"x\","
    " \"abi\": {\"built\": \"1.0\", \"min\": \"1.0\"}, \"library\": {\"path\": \"x.so\"},"
    " \"objects\": [], \"events\": [{\"name\": \"mark\", \"attribute\": \"marks\"}],"
    " \"handlers\": ["
    "{\"name\": \"all\", \"symbol\": \"s\", \"args\": [[\"a\", \"i8\"], [\"b\", \"u16\"],"
    " [\"c\", \"i32\"], [\"d\", \"u64\"], [\"e\", \"f32\"], [\"f\", \"f64\"], [\"g\", "
    "\"bool\"],"
    " [\"h\", \"str\"], [\"i\", \"time\"]]},"
    "{\"name\": \"none\", \"symbol\": \"s\", \"engine\": true, \"args\": []},"
    "{\"name\": \"odd\", \"symbol\": \"s\", \"filter\": true, \"args\": [[\"least\", "
    "\"i64\"]]}]}";

static plugin *make_plugin(registry *r)
{
    plugin *p = calloc(1, sizeof *p);
    faults *f = faults_create(), *notes = faults_create();
    if (!p || !f || !notes ||
        json_parse("plugin.json", manifest, sizeof manifest - 1, &p->doc, NULL))
        abort();
    p->registry = r;
    p->folder = strdup("/plugins/x");
    p->manifest = strdup("/plugins/x/plugin.json");
    manifest_read(p, f, notes);
    if (faults_count(f))
        abort();
    faults_destroy(f);
    faults_destroy(notes);
    return p;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static registry r;
    static plugin *p;
    static custom_event mark = {"mark", "marks"};
    json_doc *doc = NULL;
    if (!p) {
        p = make_plugin(&r);
        r.plugins = &p;
        r.count = 1;
        r.custom_events = &mark;
        r.ncustom = 1;
    }
    faults *f = faults_create(), *notes = faults_create();
    if (!f)
        abort();
    if (json_parse("run.json", (const char *)data, size, &doc, NULL) == TUTTI_OK) {
        binding_list handlers;
        trace_specs traces;
        profiler_options options;
        /* a run file's members, or handlers alone */
        const json_node *root = json_root(doc), *profiler_at = json_get(root, "profiler");
        bindings_read(&r, json_type(root) == JSON_ARRAY ? root : json_get(root, "handlers"),
                      &handlers, f);
        /* What is accepted hears something and has a name. */
        for (size_t k = 0; faults_count(f) == 0 && k < handlers.count; k++) {
            size_t n;
            (void)binding_events(handlers.items[k], &n);
            if (!n || !*binding_name(handlers.items[k]))
                abort();
        }
        bindings_free(&handlers);
        traces_read(json_get(root, "traces"), &traces, f);
        free(traces.items);
        if (profiler_at)
            profiler_read(profiler_at, &options, f);
        if (profiler_at && options.schedule.active < 1)
            abort();
    }
    json_tell(doc != NULL, doc && faults_count(f) == 0);
    json_free(doc);
    faults_destroy(f);
    faults_destroy(notes);
    return 0;
}
