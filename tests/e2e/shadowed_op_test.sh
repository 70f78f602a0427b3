#!/usr/bin/env bash
# shadowed_op_test.sh - a plugin's operation with the name of one of the host's: the bare name stays the host's, the
# plugin's goes by id:name, and `tutti plugins list` says so.
. "$(dirname "$0")/lib.sh"
command -v "${CC:-cc}" >/dev/null || skip_all "no C compiler"

mkdir -p plugins/shade
cat >plugins/shade/plugin.json <<'JSON'
{
  "format": "1.0", "id": "test.shade", "version": "1.0.0", "license": "Apache-2.0",
  "abi": {"min": "1.0"}, "library": {"path": "shade.so"}, "consumes": ["tutti.op/1", "tutti.loss/1"],
  "objects": [
    {"name": "relu", "kind": "op", "doc": "Half of x, in spite of its name."},
    {"name": "halved", "kind": "algorithm", "doc": "Half of the loss.", "events": ["before_loss"],
     "params": {"op": {"type": "string", "default": "test.shade:relu"}}}
  ]
}
JSON
cat >shade.c <<'C'
/* shade.c - an operation called relu that halves, and an algorithm that puts it behind the loss. */
#include "tutti/loss.h"
#include "tutti/op.h"
#include "tutti/ops.h"
#include "tutti/tutti.h"

#include <string.h>

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    out[0] = c->in[0];
    return TUTTI_OK;
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy, tutti_value *dx)
{
    dx[0] = tutti_affine(g, dy[0], 0.5, 0.0);
    return TUTTI_OK;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in, double *const *out)
{
    for (int64_t k = 0; k < tutti_numel(&c->in[0]); k++)
        out[0][k] = 0.5 * in[0][k];
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in, void *const *out,
                        void *scratch)
{
    for (int64_t k = 0; k < tutti_numel(&c->in[0]); k++)
        ((float *)out[0])[k] = 0.5f * ((const float *)in[0])[k];
    return TUTTI_OK;
}

static const tutti_kernel cpu = {.struct_size = sizeof cpu, .run = run};
static const tutti_op op = {.struct_size = sizeof op, .name = "relu", .nin_min = 1, .nin_max = 1,
    .nout = 1, .infer = infer, .vjp = vjp, .reference = reference, .cpu = &cpu};

static tutti_value loss(void *self, tutti_graph *g, const tutti_loss_input *in)
{
    const tutti_value below = in->below(in->ctx, g, in->outputs, in->noutputs, in->targets,
                                        in->ntargets, in->reduction);
    return tutti_op1(g, self, below);
}

static const void *query(void *self, const char *id)
{
    static const tutti_loss_v1 table = {sizeof table, 0, loss};
    if (strcmp(id, TUTTI_OP_V1) == 0)
        return &op;
    return self && strcmp(id, TUTTI_LOSS_V1) == 0 ? &table : NULL;
}

static tutti_status start(const tutti_host *host, const tutti_params *params, void **ret_self,
                          tutti_error *err)
{
    *ret_self = tutti_param_find(params, "op") ? (void *)tutti_param_str(params, "op") : NULL;
    return TUTTI_OK;
}

static int32_t match(void *self, const tutti_event *event)
{
    return 0;
}

static tutti_status apply(void *self, const tutti_event *event, int64_t *ret_exit_code, tutti_error *err)
{
    return TUTTI_OK;
}

static tutti_status end(void *self, tutti_error *err)
{
    return TUTTI_OK;
}

static const tutti_calls calls = {.struct_size = sizeof calls, .open = start, .match = match,
    .apply = apply, .close = end, .query = query};
static const tutti_object relu = TUTTI_OBJECT_INIT("relu", TUTTI_KIND_OP, &calls);
static const tutti_object halved = TUTTI_OBJECT_INIT("halved", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&relu, &halved, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("test.shade", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    return &plugin;
}
C
check "it compiles against the SDK alone" "${CC:-cc}" -std=c11 -O1 -shared -fPIC -fvisibility=hidden \
  -I "$SOURCE/sdk/include" shade.c -o plugins/shade/shade.so -lm
"$TUTTI" plugins list --plugin-path plugins >list.txt
check "the list says whose name it is" grep -qF "op relu (as test.shade:relu; the name alone is the host's), algorithm halved" list.txt

# first_loss <what> <algorithms>: the loss of the first batch.
first_loss() {
  small_run "\"loggers\": [{\"name\": \"jsonl\", \"filename\": \"log.jsonl\"}], \"algorithms\": [$2]" >run.json
  "$TUTTI" train run.json --plugin-path plugins --duration 1ba --set 'eval=[]' >out.txt 2>&1 ||
    { echo "FAILED: $1"; cat out.txt; failures=$((failures + 1)); }
  grep -o '"loss/train/total": *[0-9.]*' log.jsonl | head -1 | grep -o '[0-9.]*$'
  rm -rf log.jsonl saves
}
plain=$(first_loss "a run without it" '')
own=$(first_loss "one with its relu" '{"name": "halved"}')
bare=$(first_loss "one with the bare name" '{"name": "halved", "op": "relu"}')
check "id:name is the plugin's" python3 -c "import sys; sys.exit(abs($own - $plain / 2) > 1e-6 * $plain)"
check "the bare name is the host's" test "$bare" = "$plain"
check "what is not there is said" sh -c "! '$TUTTI' train run.json --plugin-path plugins --duration 1ba \
  --set 'algorithms.0.op=\"test.shade:elu\"' 2>said && grep -q 'there is no operation \"test.shade:elu\"' said"
finish
