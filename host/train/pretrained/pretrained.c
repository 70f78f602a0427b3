/* pretrained.c - weights taken by name from a .safetensors file, whoever wrote it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/pretrained/pretrained.h"

#include "graph/ir/interpreter.h"
#include "graph/runtime/device_memory.h"
#include "graph/runtime/host_memory.h"
#include "train/checkpoint_file/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What files put before the names: nothing, our own checkpoints, whole models of transformers. */
static const char *const prefixes[] = {"", "model.", "transformer."};
enum { PREFIXES = sizeof prefixes / sizeof *prefixes };

/* What the weights of norms are called in the first files of BERT. */
static const struct {
    const char *now, *then;
} renamed[] = {{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}};
enum { RENAMED = sizeof renamed / sizeof *renamed };

static bool find_renamed(const checkpoint *c, const char *name, tutti_tensor *ret)
{
    for (int k = 0; k < RENAMED; k++) {
        const size_t tail = strlen(renamed[k].now), length = strlen(name);
        char then[1024];
        if (length < tail || strcmp(name + length - tail, renamed[k].now) != 0)
            continue;
        (void)snprintf(then, sizeof then, "%.*s%s", (int)(length - tail), name,
                       renamed[k].then);
        return checkpoint_find(c, then, ret, NULL) == TUTTI_OK;
    }
    return false;
}

static tutti_status find(const checkpoint *c, const char *prefix, const char *path,
                         tutti_tensor *ret, tutti_error *err)
{
    char name[1024];
    if (snprintf(name, sizeof name, "%s%s", prefix, path) >= (int)sizeof name)
        return tutti_fail(err, TUTTI_E_RANGE, "%.80s...: the name is too long", path);
    return find_renamed(c, name, ret) ? TUTTI_OK : checkpoint_find(c, name, ret, err);
}

/* The prefix under which the file has the most weights. */
static const char *prefix_of(const checkpoint *c, const net *n)
{
    const char *best = prefixes[0];
    uint32_t most = 0;
    for (int k = 0; k < PREFIXES; k++) {
        uint32_t found = 0;
        for (uint32_t w = 0; w < net_weight_count(n); w++) {
            tutti_tensor t;
            found += find(c, prefixes[k], net_weight(n, w)->path, &t, NULL) == TUTTI_OK;
        }
        if (found > most) {
            most = found;
            best = prefixes[k];
        }
    }
    return best;
}

/* PyTorch keeps a convolution's weight as (Cout, Cin, K, K), we keep it as (Cout, K, K, Cin). */
static bool is_channels_first(const tutti_desc *from, const tutti_desc *to)
{
    static const int32_t order[4] = {0, 3, 1, 2};
    bool fits = from->rank == 4 && to->rank == 4;
    for (int32_t k = 0; fits && k < 4; k++)
        fits = from->dim[k] == to->dim[order[k]];
    return fits;
}

/* Whether the file is PyTorch's: one weight that fits in no other way tells it for all. */
static bool has_channels_first(const checkpoint *c, const char *prefix, const net *n)
{
    for (uint32_t k = 0; k < net_weight_count(n); k++) {
        const tutti_weight *w = net_weight(n, k);
        tutti_tensor from;
        if (find(c, prefix, w->path, &from, NULL) == TUTTI_OK &&
            !tutti_same_shape(&from.desc, &w->data.desc) &&
            is_channels_first(&from.desc, &w->data.desc))
            return true;
    }
    return false;
}

/* A file, and how its names and its convolutions are. */
typedef struct source {
    const checkpoint *file;
    const char *prefix;
    bool channels_first;
} source;

/* What becomes of weight `w`; *ret_there is the file's tensor, with zeros where it has none. */
static int judge(const source *f, const run_checkpoints *rules, const tutti_weight *w,
                 tutti_tensor *ret_there)
{
    char name[1024];
    memset(ret_there, 0, sizeof *ret_there);
    const bool known = find(f->file, f->prefix, w->path, ret_there, NULL) == TUTTI_OK;
    (void)snprintf(name, sizeof name, "model.%s", w->path);
    if (rules && run_ignores(rules, name))
        return LOAD_IGNORED;
    if (!known)
        return LOAD_MISSING;
    return (f->channels_first && w->data.desc.rank == 4
                ? is_channels_first(&ret_there->desc, &w->data.desc)
                : tutti_same_shape(&ret_there->desc, &w->data.desc))
               ? LOAD_TAKEN
               : LOAD_SHAPE;
}

/* Element k of a file's tensor, whose numbers may lie at any address. */
static double element(const tutti_tensor *t, int64_t k)
{
    const uint64_t size = tutti_dtype_size(t->desc.dtype);
    uint64_t bits = 0;
    memcpy(&bits, (const char *)t->data + (uint64_t)k * size, size);
    const tutti_tensor one = {&bits, t->desc, TUTTI_DEVICE_CPU, 0};
    return tensor_get(&one, 0);
}

static void convert(const tutti_tensor *from, const tutti_tensor *to)
{
    if (from->desc.dtype == to->desc.dtype) {
        memcpy(to->data, from->data, tutti_nbytes(&to->desc));
        return;
    }
    for (int64_t k = 0, count = tutti_numel(&to->desc); k < count; k++)
        tensor_set(to, k, element(from, k));
}

/* (Cout, Cin, K, K) to (Cout, K, K, Cin). */
static void take_channels_first(const tutti_tensor *from, const tutti_tensor *to)
{
    const int64_t *d = to->desc.dim;
    int64_t k = 0;
    for (int64_t out = 0; out < d[0]; out++)
        for (int64_t row = 0; row < d[1]; row++)
            for (int64_t column = 0; column < d[2]; column++)
                for (int64_t in = 0; in < d[3]; in++)
                    tensor_set(to, k++,
                               element(from, ((out * d[3] + in) * d[1] + row) * d[2] + column));
}

/* Into a weight of the model, wherever it lies. */
static tutti_status take(const tutti_device *d, const tutti_tensor *from, bool channels_first,
                         const tutti_tensor *to, tutti_error *err)
{
    const uint64_t bytes = tutti_nbytes(&to->desc);
    tutti_tensor here = *to;
    if (!device_is_host(d))
        here.data = host_memory_alloc(bytes);
    if (!here.data)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a weight of %llu bytes",
                          (unsigned long long)bytes);
    if (channels_first && to->desc.rank == 4)
        take_channels_first(from, &here);
    else
        convert(from, &here);
    if (here.data == to->data)
        return TUTTI_OK;
    const tutti_status s =
        device_copy(d, to->data, here.data, bytes, TUTTI_COPY_TO_DEVICE, err);
    free(here.data);
    return s;
}

tutti_status pretrained_take(net *n, const char *path, const checkpoint *c,
                             const run_checkpoints *rules, load_report *report,
                             tutti_error *err)
{
    source f = {.file = c, .prefix = prefix_of(c, n)};
    tutti_status s = TUTTI_OK;
    f.channels_first = has_channels_first(c, f.prefix, n);
    for (uint32_t k = 0; k < net_weight_count(n) && !s; k++) {
        const tutti_weight *w = net_weight(n, k);
        tutti_tensor there;
        const int verdict = judge(&f, rules, w, &there);
        s = load_report_add(report, w->path, &w->data.desc, there.data ? &there : NULL, verdict,
                            err);
    }
    if (s || (s = load_report_judge(report, path, c, !rules || rules->strict, err)))
        return s;
    for (uint32_t k = 0; k < net_weight_count(n) && !s; k++)
        if (report->rows[k].verdict == LOAD_TAKEN)
            s = take(net_device(n), &report->rows[k].there, f.channels_first,
                     &net_weight(n, k)->data, err);
    net_touch_weights(n);
    return s;
}

tutti_status pretrained_load(net *n, const char *path, uint64_t *ret_unused, tutti_error *err)
{
    checkpoint *c;
    load_report report = {.rows = NULL};
    tutti_status s = checkpoint_open(path, &c, err);
    if (s)
        return s;
    s = pretrained_take(n, path, c, NULL, &report, err);
    if (!s)
        *ret_unused = checkpoint_count(c) - report.count;
    load_report_fini(&report);
    checkpoint_close(c);
    return s;
}
