/* plugin.c - image_visualizer: the first images of a batch, and what the model sees in them. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* images */
#include "../callback.h"
#include "../one_item.h"
#include "pixels.h"
#include "tutti/dataset.h"
#include "tutti/log.h"
#include "tutti/metrics.h"
#include "tutti/state.h"
#include "tutti/train.h"

#include <stdio.h>

enum { MODE_INPUT, MODE_SEGMENTATION, MODE_CLASSIFICATION }; /* as in the manifest */

typedef struct image_visualizer {
    const tutti_state_v1 *state;
    const tutti_metrics_v1 *metrics;
    const tutti_log_v1 *log;     /* may be NULL */
    const tutti_train_v1 *train; /* may be NULL */
    tutti_time interval;
    int64_t num_images;
    int64_t last; /* time of the last images of training; -1: none yet.  In checkpoints */
    const char *input_key, *target_key;
    int32_t mode;   /* MODE_* */
    bool evaluated; /* the evaluation under way has had its images */
    bool told;      /* that the input is no images */
} image_visualizer;

static tutti_status image_visualizer_check(const tutti_params *params, tutti_error *err)
{
    return tutti_param_time(params, "interval").count > 0
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_RANGE, "image_visualizer: interval must be above 0");
}

static tutti_status image_visualizer_open(const tutti_host *host, const tutti_params *params,
                                          void **ret_self, tutti_error *err)
{
    static const char who[] = "image_visualizer";
    const image_visualizer v = {.state = callback_service(host, who, TUTTI_STATE_V1, err),
                                .metrics = callback_service(host, who, TUTTI_METRICS_V1, err),
                                .log = host->query(host->ctx, TUTTI_LOG_V1),
                                .train = host->query(host->ctx, TUTTI_TRAIN_V1),
                                .mode = (int32_t)tutti_param_i64(params, "mode"),
                                .interval = tutti_param_time(params, "interval"),
                                .num_images = tutti_param_i64(params, "num_images"),
                                .last = -1,
                                .input_key = tutti_param_str(params, "input_key"),
                                .target_key = tutti_param_str(params, "target_key")};
    if (!v.state || !v.metrics)
        return TUTTI_E_UNSUPPORTED;
    image_visualizer *self = malloc(sizeof *self);
    if (!self)
        return tutti_fail(err, TUTTI_E_NOMEM, "image_visualizer: no memory");
    *self = v;
    *ret_self = self;
    return TUTTI_OK;
}

/* As upstream: at every whole multiple of the interval, once. */
static bool training_due(image_visualizer *v)
{
    const int64_t now = tutti_timestamp_get(v->state->time, v->interval.unit);
    if (now % v->interval.count != 0 || now == v->last)
        return false;
    v->last = now;
    return true;
}

static void tell_no_images(image_visualizer *v, const tutti_desc *d)
{
    char text[200];
    if (v->log && !v->told) {
        (void)snprintf(
            text, sizeof text,
            "the input %.60s is %s of rank %d, want F32 or U8 of (N, H, W) or (N, H, W, C) "
            "with 1, 3 or 4 channels; no images are logged",
            v->input_key, tutti_dtype_name(d->dtype), (int)d->rank);
        v->log->write(v->log->ctx, TUTTI_LOG_WARNING, text);
    }
    v->told = true;
}

static tutti_status get_answers(const image_visualizer *v, tutti_tensor *ret_outputs,
                                tutti_tensor *ret_target, tutti_error *err)
{
    const tutti_status s = v->state->get(v->state->ctx, "outputs", ret_outputs, err);
    return s ? s : v->state->get(v->state->ctx, v->target_key, ret_target, err);
}

static tutti_status log_masked(const image_visualizer *v, const tutti_images *plain,
                               tutti_error *err)
{
    tutti_images images = *plain;
    const int64_t *dim = images.pixels->desc.dim;
    tutti_tensor outputs, target;
    tutti_status s = get_answers(v, &outputs, &target, err);
    if (s)
        return s;
    int32_t classes = outputs.desc.rank == 4 ? (int32_t)outputs.desc.dim[3] : 0;
    classes = classes == 1 ? 2 : classes;
    int32_t *said = pixels_classes(&outputs, dim[0], dim[1], dim[2], classes, err);
    int32_t *right =
        said ? pixels_classes(&target, dim[0], dim[1], dim[2], classes, err) : NULL;
    const tutti_image_mask masks[] = {{"prediction", said}, {"ground_truth", right}};
    images.masks = masks;
    images.nmasks = 2;
    s = right ? v->metrics->log_images(v->metrics->ctx, &images, err) : err->status;
    free(said);
    free(right);
    return s;
}

/* The names of classes 0 to *ret_count - 1 as far as all of them have one; the caller frees the list. */
static const char **class_names(const image_visualizer *v, const int32_t *classes, int64_t n,
                                uint32_t *ret_count)
{
    void *self = NULL;
    const tutti_class_names_v1 *table =
        v->train ? v->train->dataset(v->train->ctx, TUTTI_CLASS_NAMES_V1, &self) : NULL;
    int32_t most = -1;
    for (int64_t k = 0; k < n; k++)
        most = classes[k] > most ? classes[k] : most;
    const char **names = table ? calloc((size_t)most + 1, sizeof *names) : NULL;
    *ret_count = 0;
    for (int32_t k = 0; names && k <= most; k++, *ret_count += 1)
        if (!(names[k] = table->name(self, NULL, k)))
            break;
    return names;
}

static tutti_status log_classified(const image_visualizer *v, const tutti_images *plain,
                                   tutti_error *err)
{
    tutti_images images = *plain;
    const int64_t n = images.pixels->desc.dim[0];
    tutti_tensor outputs, target;
    tutti_status s = get_answers(v, &outputs, &target, err);
    if (s)
        return s;
    int32_t *classes = calloc((size_t)n * 2, sizeof *classes);
    if (!classes)
        return tutti_fail(err, TUTTI_E_NOMEM, "image_visualizer: no memory for classes");
    s = pixels_image_classes(&outputs, n, classes, err);
    if (!s)
        s = pixels_image_classes(&target, n, classes + n, err);
    if (!s) {
        const char **names = class_names(v, classes, 2 * n, &images.nlabels);
        images.class_labels = names;
        images.predicted = classes;
        images.expected = classes + n;
        s = v->metrics->log_images(v->metrics->ctx, &images, err);
        free(names);
    }
    free(classes);
    return s;
}

static tutti_status log_batch(image_visualizer *v, const char *name, tutti_error *err)
{
    tutti_tensor input, pixels;
    float *copy = NULL;
    tutti_status s = v->state->get(v->state->ctx, v->input_key, &input, err);
    if (s)
        return s;
    if (!pixels_are(&input.desc)) {
        tell_no_images(v, &input.desc);
        return TUTTI_OK;
    }
    const int64_t all = input.desc.dim[0];
    s = pixels_take(&input, all < v->num_images ? all : v->num_images, &pixels, &copy, err);
    if (s)
        return s;
    tutti_images images = {.struct_size = sizeof images, .name = name, .pixels = &pixels};
    s = v->mode == MODE_SEGMENTATION ? log_masked(v, &images, err)
        : v->mode == MODE_CLASSIFICATION
            ? log_classified(v, &images, err)
            : v->metrics->log_images(v->metrics->ctx, &images, err);
    free(copy);
    return s;
}

static tutti_status image_visualizer_event(void *self, const tutti_event *event,
                                           tutti_error *err)
{
    image_visualizer *v = self;
    const bool evaluates = event->id == TUTTI_EVENT_EVAL_BEFORE_FORWARD ||
                           event->id == TUTTI_EVENT_EVAL_AFTER_FORWARD;
    const bool answered =
        event->id == TUTTI_EVENT_BEFORE_LOSS || event->id == TUTTI_EVENT_EVAL_AFTER_FORWARD;
    if (event->id == TUTTI_EVENT_EVAL_START)
        v->evaluated = false;
    if (event->id == TUTTI_EVENT_EVAL_START || answered != (v->mode != MODE_INPUT) ||
        (evaluates ? v->evaluated : !training_due(v)))
        return TUTTI_OK;
    v->evaluated = v->evaluated || evaluates;
    return log_batch(v, evaluates ? "Images/Eval" : "Images/Train", err);
}

CALLBACK_KEEPS(image_visualizer, last, .dtype = TUTTI_I64)

CALLBACK_PLUGIN_CHECKED("image_visualizer", image_visualizer_check,
                        .open = image_visualizer_open, .run_event = image_visualizer_event,
                        .close = callback_close, .query = callback_query);
