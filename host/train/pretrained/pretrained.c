/* pretrained.c - weights taken by name from a .safetensors file, whoever wrote it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/pretrained/pretrained.h"

#include "graph/ir/interpreter.h"
#include "graph/runtime/device_memory.h"
#include "graph/runtime/host_memory.h"
#include "train/checkpoint_file/checkpoint.h"
#include "train/pretrained/weight_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What becomes of weight `w`; *ret_found is what the file has for it. */
static int judge(const weight_source *f, const run_checkpoints *rules, const tutti_weight *w,
                 source_weight *ret_found)
{
    char name[1024];
    *ret_found = weight_source_find(f, w->path);
    (void)snprintf(name, sizeof name, "model.%s", w->path);
    if (rules && run_ignores(rules, name))
        return LOAD_IGNORED;
    if (!ret_found->nparts)
        return LOAD_MISSING;
    return weight_source_fits(f, ret_found, &w->data.desc) ? LOAD_TAKEN : LOAD_SHAPE;
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

/* All parts, one behind the other. */
static void take_parts(const weight_source *f, const source_weight *from,
                       const tutti_tensor *to)
{
    tutti_tensor rest = *to;
    for (int k = 0; k < from->nparts; k++) {
        rest.desc.dim[0] = to->desc.rank ? from->parts[k].desc.dim[0] : 0;
        if (f->channels_first && to->desc.rank == 4)
            take_channels_first(&from->parts[k], &rest);
        else
            convert(&from->parts[k], &rest);
        rest.data = (char *)rest.data + tutti_nbytes(&rest.desc);
    }
}

/* Into a weight of the model, wherever it lies. */
static tutti_status take(const tutti_device *d, const weight_source *f,
                         const source_weight *from, const tutti_tensor *to, tutti_error *err)
{
    const uint64_t bytes = tutti_nbytes(&to->desc);
    tutti_tensor here = *to;
    if (!device_is_host(d))
        here.data = host_memory_alloc(bytes);
    if (!here.data)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a weight of %llu bytes",
                          (unsigned long long)bytes);
    take_parts(f, from, &here);
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
    const weight_source f = weight_source_of(c, rules ? rules->names : NULL, n);
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; k < net_weight_count(n) && !s; k++) {
        const tutti_weight *w = net_weight(n, k);
        source_weight found;
        const int verdict = judge(&f, rules, w, &found);
        s = load_report_add(report, w->path, &w->data.desc, found.nparts ? &found.whole : NULL,
                            verdict, err);
        report->tensors += verdict == LOAD_TAKEN ? (size_t)found.nparts : 0;
    }
    if (s || (s = load_report_judge(report, path, c, !rules || rules->strict, err)))
        return s;
    for (uint32_t k = 0; k < net_weight_count(n) && !s; k++) {
        const tutti_weight *w = net_weight(n, k);
        const source_weight found = weight_source_find(&f, w->path);
        if (report->rows[k].verdict != LOAD_TAKEN)
            continue;
        s = take(net_device(n), &f, &found, &w->data, err);
        if (!s)
            net_overwrites(n, w->data.data);
    }
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
        *ret_unused = checkpoint_count(c) - report.tensors;
    load_report_fini(&report);
    checkpoint_close(c);
    return s;
}
