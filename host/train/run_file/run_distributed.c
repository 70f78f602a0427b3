/* run_distributed.c - what a run file says of the processes that train together. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run_file/run_reader.h"

static const char seconds[] = "a number of seconds from 0 to 1000000";

static const char *const shardings[] = {"none", "states", "gradients", "weights",
                                        NULL}; /* SHARDING_* */

static const char *const reduce_dtypes[] = {"f32", "bf16", NULL}; /* REDUCE_* */

static const char *const syncs[] = {"single_auto_sync", "forced_sync", "multi_auto_sync",
                                    NULL}; /* SYNC_* */

static const char *const buffers[] = {"average", "first", NULL}; /* BUFFERS_* */

static const char *const batch_norms[] = {"slot", "world", NULL}; /* BATCH_NORM_* */

static const json_member rows[] = {
    {.name = "comm",
     .flags = MEMBER_REQUIRED,
     .want = "the name of a comm, or an object with it"},
    {.name = "device_comm", .want = "the name of a comm, or an object with it"},
    {.name = "join_timeout_s",
     .type = MEMBER_REAL,
     .max = 1000000,
     .want = seconds,
     MEMBER_AT(run_distributed, join_timeout_s)},
    {.name = "timeout_s",
     .type = MEMBER_REAL,
     .max = 1000000,
     .want = seconds,
     MEMBER_AT(run_distributed, timeout_s)},
    {.name = "bucket_mib",
     .type = MEMBER_REAL,
     .flags = MEMBER_ABOVE,
     .max = 1024,
     MEMBER_AT(run_distributed, bucket_mib)},
    {.name = "sharding",
     .type = MEMBER_CHOICE,
     .words = shardings,
     MEMBER_AT(run_distributed, sharding)},
    {.name = "reduce_dtype",
     .type = MEMBER_CHOICE,
     .words = reduce_dtypes,
     MEMBER_AT(run_distributed, reduce_dtype)},
    {.name = "buffers",
     .type = MEMBER_CHOICE,
     .words = buffers,
     MEMBER_AT(run_distributed, buffers)},
    {.name = "batch_norm",
     .type = MEMBER_CHOICE,
     .words = batch_norms,
     MEMBER_AT(run_distributed, batch_norm)},
    {.name = "sync", .type = MEMBER_CHOICE, .words = syncs, MEMBER_AT(run_distributed, sync)},
    {.name = NULL},
};

/* A name, or an object with a name and settings. */
static void read_comm(run_reader *r, run_part *part, const json_node *at)
{
    static const char *const skip[] = {"name", NULL};
    const bool plain = json_type(at) == JSON_STRING;
    const json_node *name = plain ? at : json_get(at, "name");
    tutti_error e = TUTTI_ERROR_INIT;
    if (!plain &&
        !json_want(at, JSON_OBJECT, "the name of a comm, or an object with it", r->faults))
        return;
    if (!name || json_type(name) != JSON_STRING) {
        faults_add(r->faults, at, "has no name of a comm");
        return;
    }
    if (registry_find(r->registry, TUTTI_KIND_COMM, json_string(name), &part->object, &e)) {
        faults_add(r->faults, name, "%s", e.text);
        return;
    }
    part->name = object_describe(part->object)->name;
    part->at = at;
    part->params =
        params_from_json(part->object, plain ? NULL : at, skip, r->folder, r->faults);
}

/* All microbatches of a batch run side by side where statistics are the batch's: none comes in a later round. */
static void check_batch_norm(run_reader *r, const run_distributed *d, const json_node *at)
{
    if (d->batch_norm != BATCH_NORM_WORLD)
        return;
    if (d->sharding >= SHARDING_GRADIENTS)
        faults_add(r->faults, json_get(at, "sharding"),
                   "is \"%s\", whose microbatches come one after the other, and batch_norm is "
                   "\"world\"; want \"states\" or \"none\"",
                   shardings[d->sharding]);
    if (d->sync == SYNC_MULTI)
        faults_add(r->faults, json_get(at, "sync"),
                   "is \"multi_auto_sync\", whose microbatches come one after the other, and "
                   "batch_norm is \"world\"; want \"forced_sync\" or \"single_auto_sync\"");
}

void run_read_distributed(run_reader *r, const json_node *root)
{
    run_distributed *d = &r->run->distributed;
    const json_node *at = json_get(root, "distributed");
    *d = (run_distributed){.join_timeout_s = 120.0, .timeout_s = 300.0};
    if (!at || !json_object_read(at, "an object with a comm", rows, d, r->faults))
        return;
    if (json_get(at, "comm"))
        read_comm(r, &d->comm, json_get(at, "comm"));
    if (json_get(at, "device_comm"))
        read_comm(r, &d->device_comm, json_get(at, "device_comm"));
    check_batch_norm(r, d, at);
}
