/* run_algorithms.c - a run file's algorithms, and the transforms and models that may stand among them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run_file/run_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Puts `part` among the training data's transforms, before those that make floats of bytes. */
static void place_transform(run_reader *r, const run_part *part)
{
    run_parts *all = &r->run->train.transforms;
    run_part *items = realloc(all->items, (all->count + 1) * sizeof *items);
    if (!items) {
        params_free(part->params);
        faults_add_no_memory(r->faults, part->at);
        return;
    }
    size_t at = 0;
    while (at < all->count && !(items[at].object && run_has_tag(items[at].object, "floats")))
        at++;
    memmove(items + at + 1, items + at, (all->count - at) * sizeof *items);
    items[at] = *part;
    all->items = items;
    all->count++;
}

/* The transform of the same plugin that does what algorithm `o` does, to samples instead of batches, when
 * `n` says "batch": false; NULL: none. */
static const object *of_samples(run_reader *r, const object *o, const json_node *n)
{
    const json_node *batch = json_get(n, "batch");
    const object *t = NULL;
    char name[128];
    tutti_error e = TUTTI_ERROR_INIT;
    (void)snprintf(name, sizeof name, "%s_transform", object_describe(o)->name);
    return batch && json_type(batch) == JSON_BOOL && !json_bool(batch) &&
                   registry_find(r->registry, TUTTI_KIND_TRANSFORM, name, &t, &e) == TUTTI_OK
               ? t
               : NULL;
}

/* True where `n` is no algorithm but a transform of the training data, or a model with the tag
 * "stand_in", which takes the place of the run's. */
static bool read_stand_in(run_reader *r, const json_node *n)
{
    static const char *const samples_skip[] = {"name",      "id",         "batch",
                                               "input_key", "target_key", NULL};
    const json_node *at = json_type(n) == JSON_OBJECT ? json_get(n, "name") : NULL;
    const char *name = at && json_type(at) == JSON_STRING ? json_string(at) : NULL;
    const object *o = NULL, *t = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    run_part part;
    if (name && registry_find(r->registry, TUTTI_KIND_ALGORITHM, name, &o, &e) == TUTTI_OK) {
        if (!(t = of_samples(r, o, n)))
            return false;
        part = (run_part){t, object_describe(t)->name,
                          params_from_json(t, n, samples_skip, r->folder, r->faults), n};
        place_transform(r, &part);
        return true;
    }
    if (name && registry_find(r->registry, TUTTI_KIND_TRANSFORM, name, &o, &e) == TUTTI_OK) {
        run_read_part(r, n, TUTTI_KIND_TRANSFORM, NULL, &part);
        place_transform(r, &part);
        return true;
    }
    if (!name || registry_find(r->registry, TUTTI_KIND_MODEL, name, &o, &e) ||
        !run_has_tag(o, "stand_in"))
        return false;
    params_free(r->run->model.params);
    run_read_part(r, n, TUTTI_KIND_MODEL, NULL, &r->run->model);
    return true;
}

void run_read_algorithms(run_reader *r, const json_node *root)
{
    run_parts *all = &r->run->participants.algorithms;
    const json_node *list = json_get(root, "algorithms");
    size_t n = 0;
    all->items =
        json_array_alloc(list, sizeof *all->items, "an array of algorithms", &n, r->faults);
    for (size_t k = 0; k < n; k++)
        if (!read_stand_in(r, json_at(list, k)))
            run_read_part(r, json_at(list, k), TUTTI_KIND_ALGORITHM, NULL,
                          &all->items[all->count++]);
}
