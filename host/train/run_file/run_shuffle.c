/* run_shuffle.c - "shuffle" of data: true, false, or in lanes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run_file/run_reader.h"

enum { MAX_LANES = 65536, MAX_WINDOW = 1 << 24, USUAL_WINDOW = 16 };

static const json_member rows[] = {
    {.name = "lanes",
     .type = MEMBER_INT,
     .flags = MEMBER_REQUIRED,
     .min = 1,
     .max = MAX_LANES,
     MEMBER_AT(run_lanes, lanes)},
    {.name = "window",
     .type = MEMBER_INT,
     .min = 1,
     .max = MAX_WINDOW,
     MEMBER_AT(run_lanes, window)},
    {.name = NULL},
};

int64_t run_slot_size(const run_file *run)
{
    const int64_t batch = run->train.batch_size, micro = run->microbatch_size;
    return micro > 0 && micro < batch ? micro : batch;
}

/* A lane is read by at least one slot of a batch. */
static void check_slots(run_reader *r, const json_node *at, int64_t lanes)
{
    const int64_t batch = r->run->train.batch_size, size = run_slot_size(r->run);
    const int64_t slots = (batch + size - 1) / size;
    if (lanes > 1 && r->run->microbatch_size == RUN_MICROBATCH_AUTO)
        faults_add(r->faults, at,
                   "is %lld, and microbatch_size is auto, want a number: each microbatch takes "
                   "its samples from one lane",
                   (long long)lanes);
    else if (lanes > slots)
        faults_add(r->faults, at,
                   "is %lld, and a batch of %lld has %lld microbatch%s of %lld, want no more "
                   "lanes than microbatches",
                   (long long)lanes, (long long)batch, (long long)slots, slots == 1 ? "" : "es",
                   (long long)size);
}

void run_read_shuffle(run_reader *r, const json_node *data, bool trains, run_data *ret_data)
{
    const json_node *at = json_get(data, "shuffle");
    run_lanes lanes = {.window = USUAL_WINDOW};
    if (!at)
        return;
    if (json_type(at) == JSON_BOOL) {
        ret_data->shuffle = json_bool(at);
        return;
    }
    if (!json_object_read(at, "true, false or an object with lanes", rows, &lanes, r->faults) ||
        lanes.lanes == 0)
        return;
    if (!trains) {
        faults_add(r->faults, at, "has lanes, which are for training data, want true or false");
        return;
    }
    if (json_get(data, "sampler"))
        faults_add(r->faults, at, "has lanes, and a sampler has an order of its own");
    check_slots(r, json_get(at, "lanes"), lanes.lanes);
    ret_data->shuffle = true;
    ret_data->lanes = lanes;
}
