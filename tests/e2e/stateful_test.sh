#!/usr/bin/env bash
# stateful_test.sh - every kind of object that answers tutti.stateful/1 is saved and restored, not participants
# alone, and a state item that could not be read again is refused when it is given.
. "$(dirname "$0")/lib.sh"
command -v "${CC:-cc}" >/dev/null || skip_all "no C compiler"

mkdir -p plugins/counted
cat >plugins/counted/plugin.json <<'JSON'
{
  "format": "1.0", "id": "test.counted", "version": "1.0.0", "license": "Apache-2.0",
  "abi": {"min": "1.0"}, "library": {"path": "counted.so"}, "consumes": ["tutti.stateful/1"],
  "objects": [
    {"name": "counted", "kind": "dataset", "doc": "Counts its calls.", "params": {"item": {"type": "string", "default": "calls"}}},
    {"name": "counted", "kind": "optimizer", "doc": "Counts its calls.", "params": {"item": {"type": "string", "default": "calls"}}},
    {"name": "counted", "kind": "scheduler", "doc": "Counts its calls.", "params": {"item": {"type": "string", "default": "calls"}}},
    {"name": "counted", "kind": "metric", "doc": "Counts its calls.", "params": {"item": {"type": "string", "default": "calls"}}}
  ]
}
JSON
cat >counted.c <<'C'
/* counted.c - objects that count their calls and keep the count. */
#include "tutti/dataset.h"
#include "tutti/log.h"
#include "tutti/metric.h"
#include "tutti/optimizer.h"
#include "tutti/scheduler.h"
#include "tutti/stateful.h"
#include "tutti/tutti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct counted {
    int64_t calls;
    const char *item;
    const tutti_log_v1 *log;
    double sum;
    tutti_metric_v1 metric;
} counted;

static tutti_status items(void *self, tutti_state_item *list, uint32_t room, uint32_t *ret_count,
                          tutti_error *err)
{
    counted *c = self;
    const int twice = strcmp(c->item, "twice") == 0;
    *ret_count = 1 + (uint32_t)twice;
    for (uint32_t k = 0; k < *ret_count && k < room; k++) {
        strncpy(list[k].name, c->item, sizeof list[k].name);
        list[k].tensor = (tutti_tensor){&c->calls, {{1}, 1, TUTTI_I64}, TUTTI_DEVICE_CPU, 0};
        if (strcmp(c->item, "dtype") == 0)
            list[k].tensor.desc.dtype = 77;
    }
    return TUTTI_OK;
}

static tutti_status restored(void *self, tutti_error *err)
{
    const counted *c = self;
    char line[64];
    (void)snprintf(line, sizeof line, "restored at %s", c->calls > 0 ? "work" : "nothing");
    c->log->write(c->log->ctx, TUTTI_LOG_INFO, line);
    return TUTTI_OK;
}

static tutti_status info(void *self, tutti_dataset_info *ret, tutti_error *err)
{
    ret->samples = 64;
    ret->ncolumns = 2;
    memset(ret->columns, 0, sizeof ret->columns);
    strcpy(ret->columns[0].name, "input");
    ret->columns[0].desc = (tutti_desc){{8}, 1, TUTTI_F32};
    strcpy(ret->columns[1].name, "target");
    ret->columns[1].desc = (tutti_desc){{0}, 0, TUTTI_I64};
    ret->columns[1].classes = 2;
    return TUTTI_OK;
}

static tutti_status sample(void *self, int64_t index, tutti_tensor *columns, const uint64_t *capacity,
                           uint32_t ncolumns, tutti_error *err)
{
    __atomic_add_fetch(&((counted *)self)->calls, 1, __ATOMIC_RELAXED);
    for (int k = 0; k < 8; k++)
        ((float *)columns[0].data)[k] = (float)(index % 2 ? k : -k);
    *(int64_t *)columns[1].data = index % 2;
    columns[0].desc = (tutti_desc){{8}, 1, TUTTI_F32};
    columns[1].desc = (tutti_desc){{0}, 0, TUTTI_I64};
    return TUTTI_OK;
}

static void update(void *self, const tutti_update *u)
{
    __atomic_add_fetch(&((counted *)self)->calls, 1, __ATOMIC_RELAXED);
    for (int64_t k = 0; k < u->n; k++)
        u->w[k] -= 0.01f * u->g[k];
}

static tutti_status factor(void *self, const tutti_schedule *s, double *ret, tutti_error *err)
{
    ((counted *)self)->calls++;
    *ret = 1.0;
    return TUTTI_OK;
}

static void reset(void *self)
{
    ((counted *)self)->sum = 0.0;
}

static tutti_status gather(void *self, const tutti_metric_input *in, tutti_error *err)
{
    counted *c = self;
    c->calls++;
    c->sum += 1.0;
    return TUTTI_OK;
}

static double compute(void *self)
{
    return ((counted *)self)->sum;
}

static const void *query(void *self, const char *id)
{
    static const tutti_stateful_v1 state = {
        .struct_size = sizeof state, .items = items, .restored = restored};
    static const tutti_dataset_v1 data = {.struct_size = sizeof data, .info = info, .read = sample};
    static const tutti_optimizer_v1 optimizer = {
        .struct_size = sizeof optimizer, .lr = 0.01, .update = update};
    static const tutti_scheduler_v1 schedule = {.struct_size = sizeof schedule, .multiplier = factor};
    static const tutti_stateful_v1 young = {.struct_size = sizeof young,
        .items = items, .restored = restored, .flags = TUTTI_STATEFUL_MAY_BE_NEW};
    if (strcmp(id, TUTTI_STATEFUL_V1) == 0)
        return strcmp(((counted *)self)->item, "young") == 0 ? &young : &state;
    if (strcmp(id, TUTTI_DATASET_V1) == 0)
        return &data;
    if (strcmp(id, TUTTI_OPTIMIZER_V1) == 0)
        return &optimizer;
    if (strcmp(id, TUTTI_METRIC_V1) == 0)
        return &((counted *)self)->metric;
    return strcmp(id, TUTTI_SCHEDULER_V1) == 0 ? &schedule : NULL;
}

static tutti_status start(const tutti_host *host, const tutti_params *params, void **ret_self,
                          tutti_error *err)
{
    counted *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory");
    c->item = tutti_param_str(params, "item");
    c->log = host->query(host->ctx, TUTTI_LOG_V1);
    c->metric = (tutti_metric_v1){.struct_size = sizeof c->metric, .nsums = 1, .sums = &c->sum,
        .name = "counted", .reset = reset, .update = gather, .compute = compute};
    *ret_self = c;
    return TUTTI_OK;
}

static tutti_status end(void *self, tutti_error *err)
{
    free(self);
    return TUTTI_OK;
}

static const tutti_calls calls = {
    .struct_size = sizeof calls, .open = start, .close = end, .query = query};
static const tutti_object dataset = TUTTI_OBJECT_INIT("counted", TUTTI_KIND_DATASET, &calls);
static const tutti_object optimizer = TUTTI_OBJECT_INIT("counted", TUTTI_KIND_OPTIMIZER, &calls);
static const tutti_object scheduler = TUTTI_OBJECT_INIT("counted", TUTTI_KIND_SCHEDULER, &calls);
static const tutti_object metric = TUTTI_OBJECT_INIT("counted", TUTTI_KIND_METRIC, &calls);
static const tutti_object *const objects[] = {&dataset, &optimizer, &scheduler, &metric, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("test.counted", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    return &plugin;
}
C
check "it compiles against the SDK alone" "${CC:-cc}" -std=c11 -O1 -shared -fPIC -fvisibility=hidden \
  -I "$SOURCE/sdk/include" counted.c -o plugins/counted/counted.so -lm
cat >run.json <<'JSON'
{
  "name": "counted", "seed": 1, "threads": 1,
  "model": {"name": "mlp", "hidden": [4]},
  "train": {"dataset": {"name": "counted"}, "batch_size": 8, "metrics": [{"name": "counted"}]},
  "eval": [{"label": "held", "dataset": {"name": "counted"}, "batch_size": 8, "metrics": [{"name": "counted"}]}],
  "optimizer": {"name": "counted"}, "schedulers": [{"name": "counted"}],
  "max_duration": "6ba", "loggers": [{"name": "jsonl"}],
  "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "3ba", "keep": -1}]
}
JSON
check "a run of them" "$TUTTI" train run.json --plugin-path plugins
kept=$(ls saves/*-ba3.*)
python3 - "$kept" <<'PY' >names.txt
import json, struct, sys
with open(sys.argv[1], "rb") as f:
    header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
print("\n".join(sorted(k for k in header if k.startswith("provider."))))
PY
cat >want.txt <<'TEXT'
provider.dataset.held.calls
provider.dataset.train.calls
provider.metric.held.counted.calls
provider.metric.train.counted.calls
provider.optimizer.0.calls
provider.scheduler.0.calls
TEXT
check "all of them are saved" diff names.txt want.txt
rm -f saves/*-ba6.* saves/*latest*
check "and restored" "$TUTTI" train run.json --plugin-path plugins --resume "$kept" --set name='"again"'
# Nothing was evaluated before the third batch.
check "with what they had counted" test "$(grep -o 'restored at [a-z]*' runs/again/log.jsonl | sort | uniq -c | tr -s ' ')" = \
  " 2 restored at nothing
 4 restored at work"

# A version that keeps one item more than the one that wrote the checkpoint: taken where its table says so, else refused.
resumed() {
  "$TUTTI" train run.json --plugin-path plugins --resume "$kept" --set callbacks=[] --set loggers=[] --set name='"later"' \
    --set schedulers.0.item="\"$1\""
}
check "a checkpoint without an item that may be new" resumed young
says "and without one that may not" 1 "tutti: $kept: has no provider.scheduler.0.other, though it has the state of counted; it was written by another version or other settings of it" \
  resumed other

# refused <item> <sentence>: a name that a checkpoint could not give back.
refused() {
  rm -rf saves
  says "an item called $1" 1 "tutti: $2" "$TUTTI" train run.json --plugin-path plugins --set loggers=[] \
    --set schedulers.0.item="\"$1\""
}
refused 'two words' 'checkpoint_saver on batch_checkpoint: scheduler counted: its state item 0 is called "two words", want letters, digits and any of _ . / -'
refused '' 'checkpoint_saver on batch_checkpoint: scheduler counted: its state item 0 is called "", want letters, digits and any of _ . / -'
refused twice 'checkpoint_saver on batch_checkpoint: scheduler counted: two of its state items are called "twice"'
refused dtype 'checkpoint_saver on batch_checkpoint: scheduler counted: its state item dtype has dtype 77 is none of this ABI'
refused 0123456789012345678901234567890123456789012345678901234567890123 \
  'checkpoint_saver on batch_checkpoint: scheduler counted: the name of its state item 0 has no end within 64 bytes'
finish
