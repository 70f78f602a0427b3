/* onnx.c - a trained model as an ONNX file: the file, and weights beside it where they are many. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "export/onnx.h"

#include "base/output_file.h"
#include "export/onnx_model.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where numbers of the data file begin: a page, so that readers can map them. */
enum { DATA_ALIGN = 4096 };

/* Appends to a FILE; what fails is found by ferror. */
typedef struct file_buffer {
    ProtobufCBuffer base;
    FILE *file;
} file_buffer;

static void append_to_file(ProtobufCBuffer *b, size_t n, const uint8_t *data)
{
    (void)fwrite(data, 1, n, ((file_buffer *)b)->file);
}

static tutti_status write_proto(const onnx_model *m, const char *path, tutti_error *err)
{
    output_file f;
    const tutti_status s = output_file_open(path, NULL, &f, err);
    if (s)
        return s;
    file_buffer b = {{append_to_file}, f.file};
    (void)protobuf_c_message_pack_to_buffer(&m->proto.base, &b.base);
    return output_file_close(&f, true, err);
}

/* Entry `key` of where a tensor's numbers are. */
static bool set_entry(onnx_model *m, Onnx__TensorProto *t, const char *key, const char *value)
{
    Onnx__StringStringEntryProto *e = onnx_model_take(m, sizeof *e);
    char *copy = onnx_model_take(m, strlen(value) + 1);
    if (!e || !copy)
        return false;
    onnx__string_string_entry_proto__init(e);
    e->key = (char *)(uintptr_t)key;
    e->value = strcpy(copy, value); /* NOLINT: it has the room */
    t->external_data[t->n_external_data++] = e;
    return true;
}

static bool make_external(onnx_model *m, Onnx__TensorProto *t, const char *file, uint64_t at)
{
    char offset[32], length[32];
    (void)snprintf(offset, sizeof offset, "%llu", (unsigned long long)at);
    (void)snprintf(length, sizeof length, "%zu", t->raw_data.len);
    if (!(t->external_data = onnx_model_take(m, 3 * sizeof *t->external_data)))
        return false;
    t->has_raw_data = false;
    t->has_data_location = true;
    t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    return set_entry(m, t, "location", file) && set_entry(m, t, "offset", offset) &&
           set_entry(m, t, "length", length);
}

/* The weights' numbers into the file, which the model names by `name`, from where it lies. */
static tutti_status put_data(onnx_model *m, FILE *f, const char *name, tutti_error *err)
{
    uint64_t at = 0;
    for (uint32_t k = 0; k < m->weights; k++) {
        Onnx__TensorProto *t = m->proto.graph->initializer[k];
        for (; at % DATA_ALIGN; at++)
            (void)fputc(0, f);
        (void)fwrite(t->raw_data.data, 1, t->raw_data.len, f);
        if (!make_external(m, t, name, at))
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for an ONNX file");
        at += t->raw_data.len;
    }
    return TUTTI_OK;
}

/* FILE.data, beside the file that `path` leads to. */
static tutti_status write_data(onnx_model *m, const char *path, tutti_error *err)
{
    char data[PATH_MAX], *target;
    output_file f;
    if (output_file_is_stream(path))
        return tutti_fail(
            err, TUTTI_E_UNSUPPORTED,
            "%s: is no regular file; %llu bytes of weights need one, to lie beside "
            "it in a file of their own",
            path, (unsigned long long)m->weight_bytes);
    tutti_status s = output_file_target(path, &target, err);
    if (s)
        return s;
    const int n = snprintf(data, sizeof data, "%s.data", target);
    free(target);
    if (n >= (int)sizeof data)
        return tutti_fail(err, TUTTI_E_IO, "%.80s...: the path is too long", path);
    if ((s = output_file_open(data, "weights are read from places in it", &f, err)))
        return s;
    const char *slash = strrchr(data, '/');
    s = put_data(m, f.file, slash ? slash + 1 : data, err);
    const tutti_status closed = output_file_close(&f, s == TUTTI_OK, s ? NULL : err);
    return s ? s : closed;
}

tutti_status onnx_export(net *n, const char *path, const onnx_options *o,
                         onnx_report *ret_report, tutti_error *err)
{
    onnx_trace t;
    onnx_model m;
    onnx_report report;
    const uint64_t above = o->external_above ? o->external_above : 3ull << 29;
    tutti_status s = onnx_trace_model(n, o->samples, &t, &report, err);
    if (s)
        return s;
    if ((s = onnx_model_make(n, &t, o, &m, err))) {
        onnx_trace_fini(&t);
        return s;
    }
    report.nodes = (uint32_t)m.proto.graph->n_node;
    report.weights = m.weights;
    report.weight_bytes = m.weight_bytes;
    report.external = m.weight_bytes > above;
    if (report.external)
        s = write_data(&m, path, err);
    if (!s)
        s = write_proto(&m, path, err);
    onnx_model_fini(&m);
    onnx_trace_fini(&t);
    if (!s)
        *ret_report = report;
    return s;
}
