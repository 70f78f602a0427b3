/* run_data.c - the data of a run file: for training, for a loop, for evaluations. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run_file/run_reader.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_BATCH = 1 << 24, MAX_WORKERS = 256, MAX_PREFETCH = 1024, MAX_NEW = 65536 };

static const char *const resident_words[] = {"auto", NULL};

static const json_member data_rows[] = {
    {.name = "dataset",
     .flags = MEMBER_REQUIRED,
     .want = "an object with the name of a dataset"},
    {.name = "transforms"},
    {.name = "metrics"},
    {.name = "batch_size",
     .type = MEMBER_INT,
     .min = 1,
     .max = MAX_BATCH,
     MEMBER_AT(run_data, batch_size)},
    {.name = "subset_num_batches",
     .type = MEMBER_INT,
     .min = -1,
     .max = INT64_MAX,
     MEMBER_AT(run_data, subset_num_batches)},
    {.name = "workers",
     .type = MEMBER_INT,
     .min = 1,
     .max = MAX_WORKERS,
     MEMBER_AT(run_data, workers)},
    {.name = "prefetch",
     .type = MEMBER_INT,
     .min = 1,
     .max = MAX_PREFETCH,
     MEMBER_AT(run_data, prefetch)},
    {.name = "shuffle"},
    {.name = "drop_last", .type = MEMBER_BOOL, MEMBER_AT(run_data, drop_last)},
    {.name = "resident",
     .type = MEMBER_BOOL,
     .words = resident_words,
     MEMBER_AT(run_data, resident)},
    {.name = NULL},
};

static const char *const microbatch_words[] = {"auto", NULL};

static const json_member eval_rows[] = {
    {.name = "label", .type = MEMBER_STRING, MEMBER_AT(run_data, label)},
    {.name = "microbatch_size",
     .type = MEMBER_INT,
     .max = MAX_BATCH,
     .words = microbatch_words,
     MEMBER_AT(run_data, microbatch_size)},
    {.name = "generate"},
    {.name = NULL},
};

static const json_member generate_rows[] = {
    {.name = "max_new_tokens",
     .type = MEMBER_INT,
     .flags = MEMBER_REQUIRED,
     .min = 1,
     .max = MAX_NEW,
     MEMBER_AT(run_generate, max_new_tokens)},
    {.name = "stop", .type = MEMBER_STRING, MEMBER_AT(run_generate, stop)},
    {.name = NULL},
};

/* Evaluations go through their data as they are. */
static const json_member training_rows[] = {
    {.name = "sampler"},
    {.name = NULL},
};

static const json_member training_eval_rows[] = {
    {.name = "interval", .type = MEMBER_TIME, MEMBER_AT(run_data, interval)},
    {.name = NULL},
};

/* Training data are shuffled and cut to full batches unless the file says otherwise; an engine file's
 * "data" are gone through in order. */
enum { DATA_TRAIN, DATA_PLAIN, DATA_EVAL };

static run_data defaults(int role, bool of_loop)
{
    const tutti_time epoch = {1, 0.0, TUTTI_UNIT_EPOCH, 0},
                     never = {0, 0.0, TUTTI_UNIT_NONE, 0};
    return (run_data){.label = role == DATA_EVAL ? "eval" : "train",
                      .batch_size = role == DATA_EVAL ? 500 : 128,
                      .subset_num_batches = -1,
                      .workers = 2,
                      .prefetch = 4,
                      .shuffle = role == DATA_TRAIN,
                      .drop_last = role == DATA_TRAIN,
                      .interval = role == DATA_EVAL && !of_loop ? epoch : never};
}

/* Values are logged by the names of metrics. */
static void read_metrics(run_reader *r, const json_node *at, run_parts *ret_metrics)
{
    run_read_parts(r, at, "metrics", TUTTI_KIND_METRIC, ret_metrics);
    for (size_t k = 0; k < ret_metrics->count; k++)
        for (size_t j = 0; j < k; j++) {
            const char *name = ret_metrics->items[k].name, *other = ret_metrics->items[j].name;
            if (name && other && strcmp(name, other) == 0)
                faults_add(
                    r->faults, json_at(json_get(at, "metrics"), k),
                    "there is another %s, and a name has one value in logs; it could stand "
                    "in an evaluation of its own",
                    name);
        }
}

static void read_generate(run_reader *r, const json_node *at, run_generate *ret_generate)
{
    const json_member *const tables[] = {generate_rows, NULL};
    if (!at || json_type(at) == JSON_NULL ||
        !json_want(at, JSON_OBJECT, "an object with max_new_tokens", r->faults))
        return;
    json_members_known(at, tables, r->faults);
    json_members_read(at, generate_rows, ret_generate, r->faults);
}

/* What leaves no batch at all, or a time that never comes. */
static void check_extent(run_reader *r, const json_node *at, const run_data *d)
{
    if (d->subset_num_batches == 0)
        faults_add(r->faults, json_get(at, "subset_num_batches"),
                   "is 0, want at least 1, or -1 for all");
    if (d->interval.count < 0 || d->interval.fraction < 0.0)
        faults_add(r->faults, json_get(at, "interval"),
                   "is negative, want a time above 0, or 0 for no evaluation while training");
}

static void read_data(run_reader *r, const json_node *at, int role, run_data *ret_data)
{
    const bool eval = role == DATA_EVAL;
    const json_member *const when = r->run->engine ? binding_rows : training_eval_rows;
    const json_member *const more = role == DATA_TRAIN ? training_rows : NULL;
    const json_member *const tables[] = {data_rows, eval ? eval_rows : more, eval ? when : NULL,
                                         NULL};
    *ret_data = defaults(role, r->run->engine);
    if (!json_want(at, JSON_OBJECT, "an object with a dataset", r->faults))
        return;
    json_members_known(at, tables, r->faults);
    json_members_read(at, data_rows, ret_data, r->faults);
    if (eval) {
        json_members_read(at, eval_rows, ret_data, r->faults);
        read_generate(r, json_get(at, "generate"), &ret_data->generate);
    }
    run_read_shuffle(r, at, role == DATA_TRAIN, ret_data);
    if (role == DATA_TRAIN)
        run_read_sampler(r, at, &ret_data->sampler);
    if (eval && !r->run->engine)
        json_members_read(at, training_eval_rows, ret_data, r->faults);
    check_extent(r, at, ret_data);
    if (json_get(at, "dataset"))
        run_read_part(r, json_get(at, "dataset"), TUTTI_KIND_DATASET, NULL, &ret_data->dataset);
    run_read_parts(r, at, "transforms", TUTTI_KIND_TRANSFORM, &ret_data->transforms);
    read_metrics(r, at, &ret_data->metrics);
    if (eval && r->run->engine)
        run_read_on(r, at, ret_data);
}

static void read_evals(run_reader *r, const json_node *list)
{
    run_file *run = r->run;
    run->evals = json_array_alloc(list, sizeof *run->evals, "an array of evaluations",
                                  &run->nevals, r->faults);
    for (size_t k = 0; k < run->nevals; k++) {
        read_data(r, json_at(list, k), DATA_EVAL, &run->evals[k]);
        for (size_t j = 0; j < k; j++)
            if (strcmp(run->evals[j].label, run->evals[k].label) == 0)
                faults_add(r->faults, json_at(list, k), "there is another evaluation \"%s\"",
                           run->evals[k].label);
    }
}

void run_read_data(run_reader *r, const json_node *root)
{
    const json_node *train = json_get(root, "train");
    const json_node *data = r->run->engine ? json_get(root, "data") : NULL;
    if (train)
        read_data(r, train, DATA_TRAIN, &r->run->train);
    else if (data && json_type(data) != JSON_NULL)
        read_data(r, data, DATA_PLAIN, &r->run->train);
    read_evals(r, json_get(root, "eval"));
}

static void data_fini(run_data *d)
{
    run_part_fini(&d->dataset);
    run_parts_fini(&d->transforms);
    run_parts_fini(&d->metrics);
    binding_free(d->on);
    free(d->sampler.weights);
}

void run_data_fini(run_file *run)
{
    data_fini(&run->train);
    for (size_t k = 0; k < run->nevals; k++)
        data_fini(&run->evals[k]);
    free(run->evals);
}
