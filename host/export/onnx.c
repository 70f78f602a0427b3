/* onnx.c - a trained model as an ONNX file: the file, and weights beside it where they are many. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "export/onnx.h"

#include "export/onnx_model.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

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

static tutti_status no_file(const char *path, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_IO, "%s: %s", path, strerror(errno));
}

/* Flushes and closes; then `part` becomes `path`. */
static tutti_status finish(FILE *f, const char *part, const char *path, tutti_error *err)
{
    const bool bad = ferror(f);
    if (fclose(f) != 0 || bad)
        return no_file(part, err);
    return rename(part, path) != 0 ? no_file(path, err) : TUTTI_OK;
}

static tutti_status write_proto(const onnx_model *m, const char *path, tutti_error *err)
{
    char part[PATH_MAX];
    if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part)
        return tutti_fail(err, TUTTI_E_IO, "%.80s...: the path is too long", path);
    FILE *f = fopen(part, "wbe");
    if (!f)
        return no_file(part, err);
    file_buffer b = {{append_to_file}, f};
    (void)protobuf_c_message_pack_to_buffer(&m->proto.base, &b.base);
    const tutti_status s = finish(f, part, path, err);
    if (s)
        (void)remove(part);
    return s;
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

/* The weights' numbers into FILE.data, which the file then names. */
static tutti_status write_data(onnx_model *m, const char *path, tutti_error *err)
{
    char data[PATH_MAX], part[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const int n = snprintf(data, sizeof data, "%s.data", path);
    if (n >= (int)sizeof data ||
        snprintf(part, sizeof part, "%s.data.part", path) >= (int)sizeof part)
        return tutti_fail(err, TUTTI_E_IO, "%.80s...: the path is too long", path);
    FILE *f = fopen(part, "wbe");
    if (!f)
        return no_file(part, err);
    tutti_status s = TUTTI_OK;
    uint64_t at = 0;
    for (uint32_t k = 0; k < m->weights && !s; k++) {
        Onnx__TensorProto *t = m->proto.graph->initializer[k];
        for (; at % DATA_ALIGN; at++)
            (void)fputc(0, f);
        (void)fwrite(t->raw_data.data, 1, t->raw_data.len, f);
        if (!make_external(m, t, slash ? data + (slash - path) + 1 : data, at))
            s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for an ONNX file");
        at += t->raw_data.len;
    }
    const tutti_status closed = finish(f, part, data, s ? NULL : err);
    if (s || closed)
        (void)remove(part);
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
