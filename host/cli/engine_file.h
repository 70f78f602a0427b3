/* engine_file.h - what `tutti run` reads: data, a process function and handlers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CLI_ENGINE_FILE_H
#define HOST_CLI_ENGINE_FILE_H

#include "engine/binding.h"
#include "engine/function.h"
#include "train/loader.h"
#include "tutti_host/loop.h"

/* An engine file, checked and complete. */
typedef struct engine_file {
    json_doc *doc;
    const object *dataset; /* NULL: no data */
    tutti_params *dataset_params;
    const object **transforms;
    tutti_params **transform_params;
    size_t ntransforms;
    loader_options loading; /* but for what is opened */
    function process;
    binding_list handlers;
    tutti_loop_run_args run; /* but for the data */
    bool deterministic;
} engine_file;

/* Reads `path`; everything wrong goes to `f`, then the result is NULL.  [control] */
engine_file *engine_file_read(const char *path, const char *const *overrides, registry *r,
                              faults *f);
void engine_file_free(engine_file *e); /* NULL is allowed */

#endif
