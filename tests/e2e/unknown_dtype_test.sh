#!/usr/bin/env bash
# unknown_dtype_test.sh - descriptions that this host cannot work with, from a dataset, a transform and an algorithm:
# each is refused where it is given, by a sentence that names who gave it, and no batch is made of it.
. "$(dirname "$0")/lib.sh"
command -v "${CC:-cc}" >/dev/null || skip_all "no C compiler"

mkdir -p plugins/odd
cat >plugins/odd/plugin.json <<'JSON'
{
  "format": "1.0", "id": "test.odd", "version": "1.0.0", "license": "Apache-2.0",
  "abi": {"min": "1.0"}, "library": {"path": "odd.so"},
  "objects": [
    {"name": "odd", "kind": "dataset", "doc": "As it is told.", "params": {"path": {"type": "string", "default": ""}, "wrong": {"type": "string", "default": ""}}},
    {"name": "odd", "kind": "transform", "doc": "Likewise.", "params": {"wrong": {"type": "string", "default": ""}}},
    {"name": "odd", "kind": "algorithm", "doc": "Likewise.", "events": ["after_dataloader"],
     "params": {"wrong": {"type": "string", "default": ""}}}
  ]
}
JSON
cat >odd.c <<'C'
/* odd.c - objects whose descriptions are wrong in the way that their setting says. */
#include "tutti/dataset.h"
#include "tutti/device_view.h"
#include "tutti/state.h"
#include "tutti/train.h"
#include "tutti/transform.h"
#include "tutti/tutti.h"

#include <stdlib.h>
#include <string.h>

typedef struct odd {
    const char *wrong;
    const tutti_host *host;
} odd;

static void spoil(const char *wrong, tutti_desc *d)
{
    if (strcmp(wrong, "dtype") == 0)
        d->dtype = 77;
    if (strcmp(wrong, "rank") == 0)
        d->rank = TUTTI_MAX_RANK;
    if (strcmp(wrong, "size") == 0)
        d->dim[0] = INT64_MAX / 2;
}

static tutti_status info(void *self, tutti_dataset_info *ret, tutti_error *err)
{
    const odd *o = self;
    ret->samples = 64;
    ret->ncolumns = strcmp(o->wrong, "columns") == 0 ? 9 : 2;
    memset(ret->columns, 0, sizeof ret->columns);
    strcpy(ret->columns[0].name, "input");
    ret->columns[0].desc = (tutti_desc){{8}, 1, TUTTI_F32};
    strcpy(ret->columns[1].name, "target");
    ret->columns[1].desc = (tutti_desc){{0}, 0, TUTTI_I64};
    ret->columns[1].classes = 2;
    spoil(o->wrong, &ret->columns[0].desc);
    return TUTTI_OK;
}

static tutti_status sample(void *self, int64_t index, tutti_tensor *columns, const uint64_t *capacity,
                           uint32_t ncolumns, tutti_error *err)
{
    memset(columns[0].data, 0, 8 * sizeof(float));
    *(int64_t *)columns[1].data = index % 2;
    columns[0].desc = (tutti_desc){{8}, 1, TUTTI_F32};
    columns[1].desc = (tutti_desc){{0}, 0, TUTTI_I64};
    return TUTTI_OK;
}

static tutti_status infer(void *self, tutti_column *columns, uint32_t ncolumns, tutti_error *err)
{
    spoil(((odd *)self)->wrong, &columns[0].desc);
    return TUTTI_OK;
}

static int32_t change(void *self, const tutti_sample *s, uint32_t k, const tutti_tensor *in,
                      tutti_tensor *out, tutti_error *err)
{
    const int later = strcmp(((odd *)self)->wrong, "later") == 0;
    if (k || !later)
        return 0;
    memcpy(out->data, in->data, tutti_nbytes(&in->desc));
    out->desc = in->desc;
    out->desc.dtype = TUTTI_F64;
    return 1;
}

static int32_t match(void *self, const tutti_event *event)
{
    return 1;
}

static tutti_status apply(void *self, const tutti_event *event, int64_t *ret_exit_code, tutti_error *err)
{
    const odd *o = self;
    const tutti_state_v1 *state = o->host->query(o->host->ctx, TUTTI_STATE_V1);
    const tutti_train_v1 *train = o->host->query(o->host->ctx, TUTTI_TRAIN_V1);
    const tutti_device_view_v1 *view = o->host->query(o->host->ctx, TUTTI_DEVICE_VIEW_V1);
    tutti_tensor t, made;
    float losses[64];
    tutti_status s = state->get(state->ctx, "input", &t, err);
    t.desc.dtype = 77;
    if (!s && strcmp(o->wrong, "set") == 0)
        return state->set(state->ctx, "input", &t, err);
    if (!s && strcmp(o->wrong, "renew") == 0)
        return view->renew(view->ctx, "input", &t.desc, &made, err);
    if (!s && strcmp(o->wrong, "losses") == 0)
        return train->sample_losses(train->ctx, &t, 1, &t, 1, losses, err);
    return s;
}

static const void *query(void *self, const char *id)
{
    static const tutti_dataset_v1 data = {.struct_size = sizeof data, .info = info, .read = sample};
    static const tutti_transform_v1 transform = {
        .struct_size = sizeof transform, .infer = infer, .apply = change};
    if (strcmp(id, TUTTI_DATASET_V1) == 0)
        return &data;
    return strcmp(id, TUTTI_TRANSFORM_V1) == 0 ? &transform : NULL;
}

static tutti_status start(const tutti_host *host, const tutti_params *params, void **ret_self,
                          tutti_error *err)
{
    odd *o = calloc(1, sizeof *o);
    if (!o)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory");
    o->wrong = tutti_param_str(params, "wrong");
    o->host = host;
    *ret_self = o;
    return TUTTI_OK;
}

static tutti_status end(void *self, tutti_error *err)
{
    free(self);
    return TUTTI_OK;
}

static const tutti_calls calls = {.struct_size = sizeof calls, .open = start, .match = match,
    .apply = apply, .close = end, .query = query};
static const tutti_object dataset = TUTTI_OBJECT_INIT("odd", TUTTI_KIND_DATASET, &calls);
static const tutti_object transform = TUTTI_OBJECT_INIT("odd", TUTTI_KIND_TRANSFORM, &calls);
static const tutti_object algorithm = TUTTI_OBJECT_INIT("odd", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&dataset, &transform, &algorithm, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("test.odd", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    return &plugin;
}
C
check "it compiles against the SDK alone" "${CC:-cc}" -std=c11 -O1 -shared -fPIC -fvisibility=hidden \
  -I "$SOURCE/sdk/include" odd.c -o plugins/odd/odd.so -lm
cat >run.json <<'JSON'
{
  "name": "odd", "seed": 1, "threads": 1, "model": {"name": "mlp", "hidden": [4]},
  "train": {"dataset": {"name": "odd"}, "transforms": [{"name": "odd"}], "batch_size": 8},
  "optimizer": {"name": "sgd"}, "max_duration": "2ba", "loggers": [], "algorithms": [{"name": "odd"}]
}
JSON
check "a run in which nothing is wrong" "$TUTTI" train run.json --plugin-path plugins
# refused <status> <who> <wrong> <sentence>: 2 before the run begins, 1 within it.
refused() {
  local status=$1
  shift
  says "$1: $2" "$status" "tutti: $3" "$TUTTI" train run.json --plugin-path plugins --set "$1.wrong=\"$2\""
}
refused 2 train.dataset dtype 'dataset odd: column input: dtype 77 is none of this ABI'
refused 2 train.dataset rank 'dataset odd: column input has rank 6, want at most 5: a batch has one more'
refused 2 train.dataset size 'dataset odd: column input: more than 2^63 bytes'
refused 2 train.dataset columns 'dataset odd: 9 columns, at most 8 are possible'
inspected() {
  says "data inspect: $1" 2 "tutti: $2" "$TUTTI" data inspect "$PWD" --as=odd --set wrong="\"$1\"" --plugin-path plugins
}
inspected dtype 'data set odd: column input: dtype 77 is none of this ABI'
inspected size 'data set odd: column input: more than 2^63 bytes'
inspected columns 'data set odd: 9 columns, at most 8 are possible'
refused 2 train.transforms.0 dtype 'transform odd: column input: dtype 77 is none of this ABI'
refused 1 train.transforms.0 later 'sample 6: column input is F64 (8), the others are F32 (8)'
refused 1 algorithms.0 set 'odd on after_dataloader: input: dtype 77 is none of this ABI'
refused 1 algorithms.0 renew 'odd on after_dataloader: input: dtype 77 is none of this ABI'
refused 1 algorithms.0 losses 'odd on after_dataloader: input 0: dtype 77 is none of this ABI'
finish
