/* run_conflicts.c - members of a run file that cannot be used together. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run_file/run_reader.h"

#include <string.h>

enum { MOST_PARTS = 512 };

typedef struct part_view {
    const run_part *list[MOST_PARTS];
    size_t count;
} part_view;

static void view_add(part_view *v, const run_part *items, size_t n)
{
    for (size_t k = 0; k < n && v->count < MOST_PARTS; k++)
        if (items[k].object)
            v->list[v->count++] = &items[k];
}

static void view_data(part_view *v, const run_data *d)
{
    view_add(v, &d->dataset, 1);
    view_add(v, d->transforms.items, d->transforms.count);
    view_add(v, d->metrics.items, d->metrics.count);
}

/* Plugins that say that they cannot be used together. */
static void check_plugins(run_reader *r)
{
    const run_file *run = r->run;
    const run_parts *lists[] = {&run->schedules.schedulers, &run->participants.loggers,
                                &run->participants.callbacks, &run->participants.algorithms,
                                &run->participants.passes};
    part_view v = {.count = 0};
    view_add(&v, &run->model, 1);
    view_add(&v, &run->loss, 1);
    view_data(&v, &run->train);
    for (size_t k = 0; k < run->nevals; k++)
        view_data(&v, &run->evals[k]);
    if (run->ngroups)
        view_add(&v, &run->groups[run->ngroups - 1].part, 1);
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        view_add(&v, lists[k]->items, lists[k]->count);
    for (size_t k = 0; k < v.count; k++)
        for (size_t j = 0; j < k; j++)
            if (registry_conflict(v.list[k]->object, v.list[j]->object))
                faults_add(r->faults, v.list[k]->at, "conflicts with %s at line %d",
                           v.list[j]->name, json_line(v.list[j]->at));
}

static bool wraps_optimizer(const run_part *p)
{
    const char *const *trait = p->object ? object_describe(p->object)->traits : NULL;
    while (trait && *trait && strcmp(*trait, "wraps_optimizer") != 0)
        trait++;
    return trait && *trait;
}

/* One update is made by one object. */
static void check_wrappers(run_reader *r)
{
    const run_parts *all = &r->run->participants.algorithms;
    const run_part *first = NULL;
    for (size_t k = 0; k < all->count; k++) {
        if (!wraps_optimizer(&all->items[k]))
            continue;
        if (first)
            faults_add(r->faults, all->items[k].at,
                       "%s and %s at line %d both wrap the optimizer, want one of them",
                       all->items[k].name, first->name, json_line(first->at));
        else
            first = &all->items[k];
    }
}

/* Two participants of one name could not be told apart in traces and checkpoints. */
static void check_names(run_reader *r)
{
    const run_parts *lists[] = {&r->run->participants.loggers, &r->run->participants.callbacks,
                                &r->run->participants.algorithms, &r->run->participants.passes};
    for (size_t l = 0; l < 4; l++)
        for (size_t k = 0; k < lists[l]->count; k++)
            for (size_t m = 0; m <= l; m++)
                for (size_t j = 0; j < (m == l ? k : lists[m]->count); j++) {
                    const run_part *a = &lists[l]->items[k], *b = &lists[m]->items[j];
                    if (a->name && b->name && strcmp(a->name, b->name) == 0)
                        faults_add(r->faults, a->at,
                                   "there is another %s at line %d; give one of them an \"id\"",
                                   a->name, json_line(b->at));
                }
}

/* Random numbers within a step are told apart by 16 bits of the microbatch's number. */
static void check_microbatches(run_reader *r, const json_node *root)
{
    const json_node *at = json_get(root, "microbatch_size");
    const int64_t batch = r->run->train.batch_size, size = run_slot_size(r->run);
    const int64_t most = 65535, count = size > 0 ? (batch + size - 1) / size : 0;
    if (at && count > most)
        faults_add(r->faults, at,
                   "is %lld, which cuts a batch of %lld into %lld microbatches, want at most "
                   "%lld",
                   (long long)size, (long long)batch, (long long)count, (long long)most);
}

void run_check_conflicts(run_reader *r, const json_node *root)
{
    check_microbatches(r, root);
    check_names(r);
    check_plugins(r);
    check_wrappers(r);
}
