/* event.c - Event messages of protobuf, and the frames that they lie in. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "event.h"

#include "../common/crc32c.h"

#include <stdlib.h>
#include <string.h>

/* ---- TFRecord: length, its checksum, data, its checksum; checksums are masked ---- */

static uint32_t masked_crc(const void *data, size_t size)
{
    const uint32_t crc = crc32c_of(data, size);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void put_record(bytes *to, bytes *event)
{
    bytes length = {0};
    add_fixed(&length, event->size, 8);
    if (!event->failed && !length.failed && !to->failed) {
        const size_t before = to->size;
        put_raw(to, length.data, 8);
        add_fixed(to, masked_crc(length.data, 8), 4);
        put_raw(to, event->data, event->size);
        add_fixed(to, masked_crc(event->data, event->size), 4);
        if (to->failed)
            to->size = before;
    } else
        to->failed = true;
    free(length.data);
    free(event->data);
}

/* ---- tensorflow.Event, Summary and what they hold ---- */

enum { /* field numbers */
       EVENT_WALL_TIME = 1,
       EVENT_STEP = 2,
       EVENT_FILE_VERSION = 3,
       EVENT_GRAPH = 4,
       EVENT_SUMMARY = 5,
       EVENT_SESSION_LOG = 7,
       SESSION_LOG_STATUS = 1,
       SUMMARY_VALUE = 1,
       VALUE_TAG = 1,
       VALUE_SIMPLE = 2,
       VALUE_IMAGE = 4,
       VALUE_HISTOGRAM = 5,
       VALUE_TENSOR = 8,
       VALUE_METADATA = 9,
       HISTOGRAM_MIN = 1,
       HISTOGRAM_MAX = 2,
       HISTOGRAM_NUM = 3,
       HISTOGRAM_SUM = 4,
       HISTOGRAM_SUM_SQUARES = 5,
       HISTOGRAM_LIMITS = 6,
       HISTOGRAM_COUNTS = 7,
       IMAGE_HEIGHT = 1,
       IMAGE_WIDTH = 2,
       IMAGE_COLORSPACE = 3,
       IMAGE_ENCODED = 4,
       METADATA_PLUGIN_DATA = 1,
       PLUGIN_DATA_NAME = 1,
       PLUGIN_DATA_CONTENT = 2,
       TENSOR_DTYPE = 1,
       TENSOR_SHAPE = 2,
       TENSOR_STRING = 8,
       SHAPE_DIM = 2,
       DIM_SIZE = 1
};
enum { SESSION_LOG_START = 1, DT_STRING = 7 };

static bytes begin_event(double time, int64_t step)
{
    bytes e = {0};
    put_double(&e, EVENT_WALL_TIME, time);
    if (step)
        put_int(&e, EVENT_STEP, step);
    return e;
}

void event_file_version(bytes *to, double time)
{
    bytes e = begin_event(time, 0);
    put_string(&e, EVENT_FILE_VERSION, "brain.Event:2");
    put_record(to, &e);
}

void event_start(bytes *to, double time, int64_t step)
{
    bytes e = begin_event(time, step), log = {0};
    put_int(&log, SESSION_LOG_STATUS, SESSION_LOG_START);
    put_message(&e, EVENT_SESSION_LOG, &log);
    put_record(to, &e);
}

void event_scalars(bytes *to, double time, int64_t step, const char *prefix,
                   const tutti_named_value *values, uint32_t n)
{
    bytes e = begin_event(time, step), summary = {0};
    for (uint32_t k = 0; k < n; k++) {
        bytes value = {0};
        const size_t before = strlen(prefix), size = strlen(values[k].name);
        add_key(&value, VALUE_TAG, LENGTH);
        add_varint(&value, before + size);
        put_raw(&value, prefix, before);
        put_raw(&value, values[k].name, size);
        put_float(&value, VALUE_SIMPLE, (float)values[k].value);
        put_message(&summary, SUMMARY_VALUE, &value);
    }
    put_message(&e, EVENT_SUMMARY, &summary);
    put_record(to, &e);
}

static void put_metadata(bytes *value, const char *plugin, const bytes *content)
{
    bytes data = {0}, metadata = {0};
    put_string(&data, PLUGIN_DATA_NAME, plugin);
    if (content && content->size)
        put_bytes(&data, PLUGIN_DATA_CONTENT, content->data, content->size);
    put_message(&metadata, METADATA_PLUGIN_DATA, &data);
    put_message(value, VALUE_METADATA, &metadata);
}

void event_graph(bytes *to, double time, const bytes *def)
{
    bytes e = begin_event(time, 0);
    put_bytes(&e, EVENT_GRAPH, def->data, def->size);
    put_record(to, &e);
}

void event_text(bytes *to, double time, int64_t step, const char *tag, const char *text)
{
    bytes e = begin_event(time, step), summary = {0}, value = {0}, tensor = {0}, shape = {0},
          dim = {0};
    put_int(&tensor, TENSOR_DTYPE, DT_STRING);
    put_int(&dim, DIM_SIZE, 1);
    put_message(&shape, SHAPE_DIM, &dim);
    put_message(&tensor, TENSOR_SHAPE, &shape);
    put_string(&tensor, TENSOR_STRING, text);
    put_string(&value, VALUE_TAG, tag);
    put_message(&value, VALUE_TENSOR, &tensor);
    put_metadata(&value, "text", NULL);
    put_message(&summary, SUMMARY_VALUE, &value);
    put_message(&e, EVENT_SUMMARY, &summary);
    put_record(to, &e);
}

void event_picture(bytes *to, double time, int64_t step, const char *tag,
                   const event_image *given)
{
    bytes e = begin_event(time, step), summary = {0}, value = {0}, image = {0};
    put_int(&image, IMAGE_HEIGHT, given->height);
    put_int(&image, IMAGE_WIDTH, given->width);
    put_int(&image, IMAGE_COLORSPACE, given->colourspace);
    put_bytes(&image, IMAGE_ENCODED, given->png, given->size);
    put_string(&value, VALUE_TAG, tag);
    put_message(&value, VALUE_IMAGE, &image);
    put_message(&summary, SUMMARY_VALUE, &value);
    put_message(&e, EVENT_SUMMARY, &summary);
    put_record(to, &e);
}

void event_histogram(bytes *to, double time, int64_t step, const char *tag, const histogram *h)
{
    bytes e = begin_event(time, step), summary = {0}, value = {0}, histo = {0};
    put_double(&histo, HISTOGRAM_MIN, h->min);
    put_double(&histo, HISTOGRAM_MAX, h->max);
    put_double(&histo, HISTOGRAM_NUM, (double)h->numbers);
    put_double(&histo, HISTOGRAM_SUM, h->sum);
    put_double(&histo, HISTOGRAM_SUM_SQUARES, h->sum_of_squares);
    put_doubles(&histo, HISTOGRAM_LIMITS, h->limits, h->buckets);
    put_doubles(&histo, HISTOGRAM_COUNTS, h->counts, h->buckets);
    put_string(&value, VALUE_TAG, tag);
    put_message(&value, VALUE_HISTOGRAM, &histo);
    put_message(&summary, SUMMARY_VALUE, &value);
    put_message(&e, EVENT_SUMMARY, &summary);
    put_record(to, &e);
}

/* ---- tensorboard.hparams ---- */

enum { /* field numbers */
       DATA_EXPERIMENT = 2,
       DATA_SESSION_START = 3,
       DATA_SESSION_END = 4,
       EXPERIMENT_HPARAM_INFOS = 4,
       EXPERIMENT_METRIC_INFOS = 5,
       HPARAM_INFO_NAME = 1,
       HPARAM_INFO_TYPE = 4,
       METRIC_INFO_NAME = 1,
       METRIC_NAME_TAG = 2,
       START_HPARAMS = 1,
       START_GROUP_NAME = 4,
       START_TIME = 5,
       END_STATUS = 1,
       END_TIME = 2,
       MAP_KEY = 1,
       MAP_VALUE = 2,
       ANY_NUMBER = 2,
       ANY_STRING = 3,
       ANY_BOOL = 4
};
enum { TYPE_STRING = 1, TYPE_BOOL = 2, TYPE_FLOAT64 = 3, STATUS_SUCCESS = 1 };

/* The type of a JSON value; what is neither number nor truth value is shown as text. */
static int type_of(const char *json, double *ret_number)
{
    char *end;
    if (strcmp(json, "true") == 0 || strcmp(json, "false") == 0)
        return TYPE_BOOL;
    *ret_number = strtod(json, &end);
    return end != json && !*end ? TYPE_FLOAT64 : TYPE_STRING;
}

/* A string without its quotes; escapes stay as they are. */
static void put_json_text(bytes *b, uint32_t field, const char *json)
{
    const size_t size = strlen(json);
    const bool quoted = size >= 2 && json[0] == '"' && json[size - 1] == '"';
    put_bytes(b, field, json + quoted, size - 2 * (size_t)quoted);
}

static void put_hparam(bytes *start, const tutti_named_text *h)
{
    double number = 0;
    bytes entry = {0}, value = {0};
    switch (type_of(h->text, &number)) {
    case TYPE_BOOL:
        put_int(&value, ANY_BOOL, h->text[0] == 't');
        break;
    case TYPE_FLOAT64:
        put_double(&value, ANY_NUMBER, number);
        break;
    default:
        put_json_text(&value, ANY_STRING, h->text);
    }
    put_string(&entry, MAP_KEY, h->name);
    put_message(&entry, MAP_VALUE, &value);
    put_message(start, START_HPARAMS, &entry);
}

static void put_infos(bytes *experiment, const tutti_named_text *values, uint32_t n,
                      const char *const *metrics, uint32_t nmetrics)
{
    double number;
    for (uint32_t k = 0; k < n; k++) {
        bytes info = {0};
        put_string(&info, HPARAM_INFO_NAME, values[k].name);
        put_int(&info, HPARAM_INFO_TYPE, type_of(values[k].text, &number));
        put_message(experiment, EXPERIMENT_HPARAM_INFOS, &info);
    }
    for (uint32_t k = 0; k < nmetrics; k++) {
        bytes info = {0}, name = {0};
        const size_t size = strlen(metrics[k]);
        add_key(&name, METRIC_NAME_TAG, LENGTH);
        add_varint(&name, size + 8);
        put_raw(&name, "hparams/", 8);
        put_raw(&name, metrics[k], size);
        put_message(&info, METRIC_INFO_NAME, &name);
        put_message(experiment, EXPERIMENT_METRIC_INFOS, &info);
    }
}

/* One value of a summary whose content is in its metadata. */
static void put_hparams_value(bytes *to, double time, const char *tag, uint32_t field,
                              bytes *message)
{
    bytes e = begin_event(time, 0), summary = {0}, value = {0}, content = {0};
    put_message(&content, field, message);
    put_string(&value, VALUE_TAG, tag);
    put_metadata(&value, "hparams", &content);
    value.failed = value.failed || content.failed;
    free(content.data);
    put_message(&summary, SUMMARY_VALUE, &value);
    put_message(&e, EVENT_SUMMARY, &summary);
    put_record(to, &e);
}

void event_hparams(bytes *to, double time, const char *run_name, const tutti_named_text *values,
                   uint32_t n, const char *const *metrics, uint32_t nmetrics)
{
    bytes experiment = {0}, start = {0};
    put_infos(&experiment, values, n, metrics, nmetrics);
    put_hparams_value(to, time, "_hparams_/experiment", DATA_EXPERIMENT, &experiment);
    for (uint32_t k = 0; k < n; k++)
        put_hparam(&start, &values[k]);
    put_string(&start, START_GROUP_NAME, run_name);
    put_double(&start, START_TIME, time);
    put_hparams_value(to, time, "_hparams_/session_start_info", DATA_SESSION_START, &start);
}

void event_hparams_end(bytes *to, double time)
{
    bytes end = {0};
    put_int(&end, END_STATUS, STATUS_SUCCESS);
    put_double(&end, END_TIME, time);
    put_hparams_value(to, time, "_hparams_/session_end_info", DATA_SESSION_END, &end);
}
