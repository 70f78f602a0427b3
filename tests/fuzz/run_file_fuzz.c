/* run_file_fuzz.c - any text as a run file or an engine file, over the plugins of TUTTI_PLUGIN_PATH: faults or a run,
 * never a crash. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "json_mutator.h"

#include "train/run_file/run_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static registry *plugins;
    const registry_options options = {.trust = TRUST_NONE};
    run_file *run = NULL;
    if (!plugins && registry_create(&options, &plugins, NULL))
        abort();
    faults *f = faults_create();
    char *text = malloc(size + 1);
    if (!f || !text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    const tutti_status s =
        run_file_parse("run.json", text, "/run", RUN_FILE_ANY, NULL, plugins, &run, f);
    if ((s == TUTTI_OK) != (faults_count(f) == 0) || (s == TUTTI_OK) != (run != NULL))
        abort();
    if (json_told.mutated) { /* which of the faults is of the grammar, they do not say */
        json_doc *doc = NULL;
        json_tell(json_parse("run.json", text, strlen(text), &doc, NULL) == TUTTI_OK,
                  s == TUTTI_OK);
        json_free(doc);
    }
    run_file_free(run);
    faults_destroy(f);
    free(text);
    return 0;
}
