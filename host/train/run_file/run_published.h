/* run_published.h - what the folder of a published model says: the file of its weights, and settings by its config.json. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RUN_FILE_RUN_PUBLISHED_H
#define HOST_TRAIN_RUN_FILE_RUN_PUBLISHED_H

#include "base/faults.h"
#include "plugin/registry.h"

/* The file of weights at `path`, which is that file, or a folder as Hugging Face's libraries write it: with
 * model.safetensors, or the index of its shards.  The caller frees it; NULL after a fault at `at`. */
char *published_weights(const char *path, const json_node *at, faults *f);

/* Where "load_weights" of a run is a folder with a config.json, gives "model" the settings that this says and the run
 * does not.  How, says published.json beside the manifest of the model's plugin: an object for each of its models, with
 *   "model_types": the config's model_type, and settings that go with it;
 *   "cases": an array of {"if": members and lists of values, "settings": those that go with one of each};
 *   "settings": a setting, and the members of the config that it comes from, the first that is there;
 *   "wants": a member of the config, and the values that the model knows;
 *   what folders are written by: train/publish/publish.h.
 * A dot in a member's name goes into an object; a member that is null is not there.  [control] */
void published_settings(json_doc *run, registry *r, const char *folder, faults *f);

/* The same of a config that has been read from `path`, by what published.json says of model `o`; faults are told
 * at `at`. */
typedef struct published_config {
    const object *o;
    const json_node *says;
    const json_node *config;
    const char *path;
    const json_node *at;
} published_config;
void published_apply(json_doc *run, const published_config *c, faults *f);
/* The member of `node` at a path with dots; NULL where it is not there, or null. */
const json_node *published_member(const json_node *node, const char *path);

/* The first model whose published.json reads config.json files of this model_type; NULL: none does.  `why`, of `size`
 * bytes, then has the first plugin that cannot be used or whose published.json cannot be read, and is else left as it
 * is.  [control] */
const object *published_model(const registry *r, const char *model_type, char *why,
                              size_t size);
/* What published.json says of model `o`; *ret_doc has it, which the caller frees.  NULL where it says nothing, or
 * after a fault.  [control] */
const json_node *published_table(const object *o, json_doc **ret_doc, faults *f);
/* What it says of the names of weights in published files, by those of the model ("names", for weight_source.h). */
const json_node *published_names(const object *o, json_doc **ret_doc, faults *f);

#endif
