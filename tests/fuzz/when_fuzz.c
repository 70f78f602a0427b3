/* when_fuzz.c - {"when": any condition, "settings": any}: faults, or an answer that is the same twice, never a crash. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "json_mutator.h"

#include "base/text.h"
#include "plugin/registry_internal.h"
#include "plugin/when.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char head[] =
    "{\"format\": \"1.0\", \"id\": \"a.b\", \"version\": \"1.0.0\", \"license\": \"MIT\", "
    "\"abi\": "
    "{\"min\": \"1.0\"}, \"library\": {\"path\": \"x.so\"}, \"objects\": [{\"name\": \"x\", "
    "\"kind\": \"algorithm\", \"doc\": \"X.\", \"params\": {"
    "\"i\": {\"type\": \"int\", \"default\": 3, \"doc\": \"I.\"}, "
    "\"f\": {\"type\": \"float\", \"default\": 0.5, \"doc\": \"F.\"}, "
    "\"b\": {\"type\": \"bool\", \"default\": false, \"doc\": \"B.\"}, "
    "\"s\": {\"type\": \"string\", \"nullable\": true, \"doc\": \"S.\"}, "
    "\"e\": {\"type\": \"enum\", \"values\": [\"u\", \"v\"], \"default\": \"u\", \"doc\": "
    "\"E.\"}, "
    "\"t\": {\"type\": \"time\", \"default\": \"2ep\", \"doc\": \"T.\"}}, "
    "\"events\": [{\"name\": \"batch_end\", \"when\": ";

/* What holds, in the settings of the input, of a manifest that is right. */
static void ask(const object *o, const json_node *settings)
{
    faults *own = faults_create();
    tutti_params *params = params_from_json(o, settings, NULL, "/run", own);
    const json_node *entry = json_at(o->event_names, 0);
    char *words = when_text(entry);
    if (!own || !words || (!params && faults_count(own) == 0))
        abort();
    if (params && when_holds(entry, params) != when_holds(entry, params))
        abort();
    free(words);
    params_free(params);
    faults_destroy(own);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    registry r = {0};
    text_buffer b = {0};
    json_doc *input = NULL;
    plugin *p = calloc(1, sizeof *p);
    faults *f = faults_create(), *notes = faults_create();
    if (!p || !f || !notes)
        abort();
    p->registry = &r;
    p->folder = strdup("/plugins/x");
    p->manifest = strdup("/plugins/x/plugin.json");
    if (json_parse("input", (const char *)data, size, &input, NULL) == TUTTI_OK) {
        const json_node *when = json_get(json_root(input), "when");
        char *text = when ? json_text(when) : NULL;
        text_add(&b, "%s", head);
        text_add(&b, "%s", text ? text : "{\"i\": 3}");
        text_add(&b, "}]}]}");
        if (json_parse("plugin.json", b.data, b.size, &p->doc, NULL) == TUTTI_OK)
            manifest_read(p, f, notes);
        if (p->doc && faults_count(f) == 0 && p->nobjects == 1)
            ask(&p->objects[0], json_get(json_root(input), "settings"));
        free(text);
    }
    json_tell(input != NULL, p->doc && faults_count(f) == 0);
    json_free(input);
    free(b.data);
    faults_destroy(f);
    faults_destroy(notes);
    plugin_free(p);
    return 0;
}
