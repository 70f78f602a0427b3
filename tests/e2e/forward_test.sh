#!/usr/bin/env bash
# forward_test.sh - a callback from outside runs the model on a batch of its own, and is told when it cannot.
. "$(dirname "$0")/lib.sh"
command -v "${CC:-cc}" >/dev/null || skip_all "no C compiler"

mkdir -p plugins/prober
cat >plugins/prober/plugin.json <<'JSON'
{
  "format": "1.0", "id": "test.prober", "version": "1.0.0", "license": "Apache-2.0",
  "abi": {"min": "1.0"},
  "library": {"path": "prober.so"},
  "objects": [{"name": "prober", "kind": "callback", "doc": "Tries forward passes.",
    "events": ["after_forward", "eval_batch_end", "batch_checkpoint"], "params": {}}]
}
JSON
cat >prober.c <<'C'
/* prober.c - tries forward passes of its own and tells what came of them. */
#include "tutti/dataset.h"
#include "tutti/log.h"
#include "tutti/train.h"
#include "tutti/tutti.h"

#include <stdio.h>

static const tutti_train_v1 *train;
static const tutti_log_v1 *logs;
static float pixels[2 * 32 * 32];

static void tell(const char *event, const char *what)
{
    char line[640];
    (void)snprintf(line, sizeof line, "%s: %s", event, what);
    logs->write(logs->ctx, TUTTI_LOG_INFO, line);
}

static tutti_status heard(void *self, const tutti_event *event, tutti_error *err)
{
    tutti_dataset_info info = {.struct_size = sizeof info};
    tutti_tensor in = {.data = pixels, .device = TUTTI_DEVICE_CPU}, out, again;
    tutti_error why = TUTTI_ERROR_INIT, wrong = TUTTI_ERROR_INIT;
    void *data;
    const tutti_dataset_v1 *table = train->dataset(train->ctx, TUTTI_DATASET_V1, &data);
    if (!table || train->dataset(train->ctx, "tutti.nonsense/1", &data) ||
        table->info(data, &info, err))
        return tutti_fail(err, TUTTI_E_FAIL, "no training data");
    const tutti_desc *d = &info.columns[0].desc;
    in.desc = (tutti_desc){{2, d->dim[0], d->dim[1], d->dim[2]}, 4, TUTTI_F32};
    for (int k = 0; k < 2 * 32 * 32; k++)
        pixels[k] = (float)(k % 7);
    if (train->forward(train->ctx, &in, 1, &out, 1, &why)) {
        tell(event->name, why.text);
        return TUTTI_OK;
    }
    char text[96];
    float first[2];
    memcpy(first, out.data, sizeof first);
    tell(event->name, tutti_desc_text(&out.desc, text, sizeof text));
    if (train->forward(train->ctx, &in, 1, &again, 1, err))
        return err->status;
    if (memcmp(first, again.data, sizeof first) != 0)
        tell(event->name, "another result");
    if (train->forward(train->ctx, &in, 2, &out, 1, &wrong))
        tell(event->name, wrong.text);
    return TUTTI_OK;
}

static tutti_status start(const tutti_host *host, const tutti_params *params, void **ret_self,
                          tutti_error *err)
{
    train = (const tutti_train_v1 *)host->query(host->ctx, TUTTI_TRAIN_V1);
    logs = (const tutti_log_v1 *)host->query(host->ctx, TUTTI_LOG_V1);
    *ret_self = (void *)train;
    return train && logs ? TUTTI_OK : tutti_fail(err, TUTTI_E_UNSUPPORTED, "no services");
}

static tutti_status end(void *self, tutti_error *err)
{
    return TUTTI_OK;
}

static const tutti_calls calls = {
    .struct_size = sizeof calls, .open = start, .run_event = heard, .close = end};
static const tutti_object object = TUTTI_OBJECT_INIT("prober", TUTTI_KIND_CALLBACK, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("test.prober", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    return &plugin;
}
C
check "the callback compiles against the SDK alone" "${CC:-cc}" -std=c11 -O1 -shared -fPIC \
  -fvisibility=hidden -I "$SOURCE/sdk/include" prober.c -o plugins/prober/prober.so -lm

small_run '"loggers": [{"name": "jsonl"}]' |
  sed 's/"callbacks": \[.*\]/"callbacks": [{"name": "prober"}]/; s/"3ep"/"1ep"/' >run.json
grep -v '"callbacks"' run.json | sed 's/"threads": 2,/"threads": 2/; s/"name": "small"/"name": "alone"/' >alone.json
"$TUTTI" train run.json --plugin-path plugins >probed.txt 2>&1
check "it runs" test $? = 0
grep '"prober"' runs/small/log.jsonl | grep -o '"text":.*' | sort | uniq -c | sed 's/^ *//' >said.txt
refused='a forward pass can be had where no batch or evaluation is under way only, as on batch_checkpoint and epoch_end'
cat >want.txt <<TEXT
10 "text":"after_forward: $refused"}
10 "text":"batch_checkpoint: F32 (2, 10)"}
10 "text":"batch_checkpoint: the model takes 1 inputs and gives 1 outputs, not 2 and 1"}
2 "text":"eval_batch_end: $refused"}
TEXT
check "outputs come between batches, and sentences elsewhere" diff said.txt want.txt
"$TUTTI" train alone.json >alone.txt 2>&1
check "training does not notice" test "$(grep ^test probed.txt)" = "$(grep ^test alone.txt)" -a -s alone.txt
finish
