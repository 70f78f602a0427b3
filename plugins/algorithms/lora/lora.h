/* lora.h - what the algorithm, its layer and its files share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_LORA_H
#define PLUGIN_LORA_H

#include "../surgery.h"

enum { LORA_MOST_PATH = 512 };

/* Settings of a run that its files have too. */
typedef struct lora_settings {
    const tutti_module_v1 *modules;
    int64_t rank;
    double alpha;
    double dropout;
    const char *prefix; /* of names in files */
} lora_settings;

extern const tutti_object lora_linear_object;

/* The next lora_linear behind `m` in the tree's order; 0 after the last. */
tutti_module lora_next(const tutti_module_v1 *s, tutti_module m);

/* Writes adapter_config.json and adapter_model.safetensors into `folder`, which is made; each is written beside its
 * place and then renamed.  Errors: E_IO, E_NOMEM.  [step] */
tutti_status lora_save(const lora_settings *o, const char *folder, tutti_error *err);
/* Reads both into the tree's adapters.  Names may have anything before the path of a module.  Errors, with the tree as it
 * was or in part written: E_IO, E_FORMAT; E_ARG another rank, alpha or kind of adapter; E_NOTFOUND a module has no
 * adapter in the file, or the other way round; E_SHAPE.  [step] */
tutti_status lora_load(const lora_settings *o, const char *folder, tutti_error *err);

#endif
