/* manifest_fuzz.c - any bytes as a manifest: faults or settings, never a crash or a leak. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "json_mutator.h"

#include "plugin/registry_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    registry r = {0};
    plugin *p = calloc(1, sizeof *p);
    faults *f = faults_create(), *notes = faults_create();
    if (!p || !f || !notes)
        abort();
    p->registry = &r;
    p->folder = strdup("/plugins/x");
    p->manifest = strdup("/plugins/x/plugin.json");
    if (size <= MANIFEST_LIMIT &&
        json_parse("plugin.json", (const char *)data, size, &p->doc, NULL) == TUTTI_OK) {
        manifest_read(p, f, notes);
        /* A manifest without fault must give settings for every object that requires none. */
        for (size_t k = 0; faults_count(f) == 0 && k < p->nobjects; k++) {
            faults *own = faults_create();
            tutti_params *params = params_from_json(&p->objects[k], NULL, NULL, "/run", own);
            char *text = params ? params_text(params) : NULL;
            if (!own || (!params && faults_count(own) == 0))
                abort();
            free(text);
            params_free(params);
            faults_destroy(own);
        }
    }
    json_tell(p->doc != NULL, p->doc && faults_count(f) == 0);
    faults_destroy(f);
    faults_destroy(notes);
    plugin_free(p);
    return 0;
}
