/* plugin.c - tensorboard: event files of scalars, texts, images, histograms, the model's graph and hyperparameters. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2 /* images, tutti.plan/1, tutti_eval_is_cut */
#define TUTTI_MIN_MINOR 0 /* which an older host does not send */
#include "../common/outbox_logger.h"
#include "../common/picture.h"
#include "event.h"
#include "event_file.h"
#include "graph_def.h"
#include "tutti/module.h"
#include "tutti/weights.h"

#include <string.h>
#include <time.h>

typedef struct tensorboard {
    outbox *outbox;
    const tutti_state_v1 *state;
    event_file file;                 /* the outbox's thread has it */
    const tutti_weights_v1 *weights; /* NULL: no histograms */
    const tutti_plan_v1 *plan;       /* NULL: the graph is not wanted, or written */
    histogram *histogram;            /* owned; there with `weights` */
    int64_t flush_interval, histogram_interval;
    bytes begin;             /* where training begins: goes before `events` */
    bytes events;            /* since the last flush */
    latest_values metrics;   /* the last ones, for the table of runs */
    tutti_named_text *given; /* hyperparameters; both texts are ours */
    uint32_t ngiven, given_capacity;
    bool has_hparams; /* they are in the file */
    bool has_trained;
    char run_name[256];
} tensorboard;

static tutti_status fail_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "tensorboard: no memory for what is logged");
}

static double tensorboard_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static tutti_status tensorboard_send(void *ctx, const outbox_record *records, uint32_t n,
                                     uint32_t *ret_sent, tutti_error *err)
{
    tensorboard *t = ctx;
    const tutti_status s = event_file_add(&t->file, records, n, err);
    *ret_sent = s ? 0 : n;
    return s;
}

static void tensorboard_free(tensorboard *t)
{
    event_file_close(&t->file);
    for (uint32_t k = 0; k < t->ngiven; k++) {
        free((char *)(uintptr_t)t->given[k].name);
        free((char *)(uintptr_t)t->given[k].text);
    }
    free(t->given);
    free(t->histogram);
    latest_free(&t->metrics);
    free(t->begin.data);
    free(t->events.data);
    free(t);
}

/* LOG_DIR/RUN_NAME. */
static tutti_status set_folder(tensorboard *t, const tutti_host *host,
                               const tutti_params *params, tutti_error *err)
{
    const char *folder = tutti_param_str(params, "log_dir");
    const tutti_checkpoint_v1 *checkpoint =
        logger_service(host, "tensorboard", TUTTI_CHECKPOINT_V1, err);
    if (!checkpoint)
        return TUTTI_E_UNSUPPORTED;
    (void)snprintf(t->run_name, sizeof t->run_name, "%s",
                   checkpoint->run_name(checkpoint->ctx));
    const int n = snprintf(t->file.folder, sizeof t->file.folder, "%s/%s",
                           folder ? folder : "tensorboard_logs", t->run_name);
    if (n < 0 || (size_t)n >= sizeof t->file.folder)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "tensorboard: log_dir is longer than %zu characters",
                          sizeof t->file.folder - 1 - strlen(t->run_name));
    return TUTTI_OK;
}

/* Weights are asked for where a run wants histograms alone: gradients of all ranks then come together. */
static tutti_status set_histograms(tensorboard *t, const tutti_host *host,
                                   const tutti_params *params, tutti_error *err)
{
    t->histogram_interval = tutti_param_i64(params, "histogram_interval");
    if (!t->histogram_interval)
        return TUTTI_OK;
    t->weights = logger_service(host, "tensorboard", TUTTI_WEIGHTS_V1, err);
    if (!t->weights)
        return TUTTI_E_UNSUPPORTED;
    t->histogram = malloc(sizeof *t->histogram);
    if (!t->histogram)
        return fail_memory(err);
    histogram_init(t->histogram);
    return TUTTI_OK;
}

static tutti_status set_graph(tensorboard *t, const tutti_host *host,
                              const tutti_params *params, tutti_error *err)
{
    if (!tutti_param_i64(params, "graph"))
        return TUTTI_OK;
    t->plan = logger_service(host, "tensorboard", TUTTI_PLAN_V1, err);
    return t->plan ? TUTTI_OK : TUTTI_E_UNSUPPORTED;
}

static tutti_status tensorboard_open(const tutti_host *host, const tutti_params *params,
                                     void **ret_self, tutti_error *err)
{
    tensorboard *t = calloc(1, sizeof *t);
    if (!t)
        return fail_memory(err);
    t->file.fd = -1;
    t->flush_interval = tutti_param_i64(params, "flush_interval");
    tutti_status s = set_folder(t, host, params, err);
    t->state = s ? NULL : logger_service(host, "tensorboard", TUTTI_STATE_V1, err);
    if (!s && !t->state)
        s = TUTTI_E_UNSUPPORTED;
    if (!s)
        s = set_histograms(t, host, params, err);
    if (!s)
        s = set_graph(t, host, params, err);
    if (!s)
        s = outbox_logger_open(
            (outbox_config){.who = "tensorboard", .ctx = t, .send = tensorboard_send}, host,
            params, &t->outbox, err);
    if (s) {
        tensorboard_free(t);
        return s;
    }
    *ret_self = t;
    return TUTTI_OK;
}

/* ---- from the logger's memory to the outbox ---- */

static tutti_status hand_over(tensorboard *t, bytes *b, tutti_error *err)
{
    const bool failed = b->failed;
    if (b->size)
        outbox_put(t->outbox, b->data, b->size);
    b->size = 0;
    b->failed = false;
    return failed ? fail_memory(err) : TUTTI_OK;
}

static tutti_status tensorboard_flush(tensorboard *t, tutti_error *err)
{
    const tutti_status s = hand_over(t, &t->begin, err);
    const tutti_status also = hand_over(t, &t->events, err);
    return s ? s : also;
}

static bool tensorboard_judges(const char *name)
{
    return strstr(name, "metric") || strstr(name, "loss");
}

/* The table of runs: what this one was given, and the metrics by which it is judged, as of now. */
static tutti_status add_hparams(tensorboard *t, tutti_error *err)
{
    const latest_values *m = &t->metrics;
    const char **names = malloc((m->count ? m->count : 1) * sizeof *names);
    uint32_t n = 0;
    if (!names)
        return fail_memory(err);
    for (uint32_t k = 0; k < m->count; k++)
        if (tensorboard_judges(m->items[k].name)) {
            const tutti_named_value v = {m->items[k].name, m->items[k].value};
            event_scalars(&t->events, tensorboard_now(), t->state->time->batch, "hparams/", &v,
                          1);
            names[n++] = m->items[k].name;
        }
    if (!t->has_hparams) /* readers keep the first */
        event_hparams(&t->events, tensorboard_now(), t->run_name, t->given, t->ngiven, names,
                      n);
    t->has_hparams = true;
    free(names);
    return TUTTI_OK;
}

/* ---- histograms ---- */

static void add_histogram(tensorboard *t, const char *what, const char *path,
                          const float *numbers, int64_t n, int64_t step)
{
    histogram *h = t->histogram;
    char tag[512], line[700];
    (void)snprintf(tag, sizeof tag, "%s/%s", what, path);
    histogram_count(h, numbers, n);
    if (h->buckets)
        event_histogram(&t->events, tensorboard_now(), step, tag, h);
    if (!h->left_out)
        return;
    (void)snprintf(
        line, sizeof line,
        "tensorboard: %s: %lld of %lld numbers are not finite or beyond 1e20, and in "
        "no histogram",
        tag, (long long)h->left_out, (long long)n);
    event_text(&t->events, tensorboard_now(), step, "messages", line);
}

/* Of all weights that can be trained and of the gradients of those that are. */
static tutti_status add_histograms(tensorboard *t, int64_t step, tutti_error *err)
{
    const tutti_weights_v1 *v = t->weights;
    for (uint32_t k = 0; k < v->count(v->ctx); k++) {
        tutti_weight w = {.struct_size = sizeof w};
        tutti_status s = v->describe(v->ctx, k, &w, err);
        if (!s && !(w.flags & TUTTI_WEIGHT_TRAINABLE))
            continue;
        if (!s)
            s = v->at(v->ctx, k, &w, err);
        if (s)
            return s;
        const int64_t n = tutti_numel(&w.data.desc);
        add_histogram(t, "param", w.path, w.data.data, n, step);
        if (w.grad)
            add_histogram(t, "grad", w.path, w.grad, n, step);
    }
    return t->events.failed ? fail_memory(err) : TUTTI_OK;
}

/* Once, of the first batch. */
static tutti_status add_graph(tensorboard *t, tutti_error *err)
{
    bytes def = {0};
    const tutti_status s = graph_def_write(t->plan, &def, err);
    t->plan = NULL;
    if (!s)
        event_graph(&t->events, tensorboard_now(), &def);
    free(def.data);
    return s;
}

static tutti_status at_batch_end(tensorboard *t, int64_t batch, tutti_error *err)
{
    const bool due = t->weights && batch % t->histogram_interval == 0;
    tutti_status s = t->plan ? add_graph(t, err) : TUTTI_OK;
    if (!s && due)
        s = add_histograms(t, batch, err);
    return s || batch % t->flush_interval ? s : tensorboard_flush(t, err);
}

static tutti_status tensorboard_event(void *self, const tutti_event *event, tutti_error *err)
{
    tensorboard *t = self;
    tutti_status s = TUTTI_OK;
    switch (event->id) {
    case TUTTI_EVENT_FIT_START: /* a checkpoint has what was logged of its batch before it, such as evaluations */
        event_start(&t->begin, tensorboard_now(),
                    event->time->batch + (event->time->batch > 0));
        break;
    case TUTTI_EVENT_BATCH_END:
        s = at_batch_end(t, event->time->batch, err);
        break;
    case TUTTI_EVENT_EVAL_END:
        s = tutti_eval_is_cut(t->state) ? TUTTI_OK : add_hparams(t, err);
        break;
    case TUTTI_EVENT_FIT_END:
        t->has_trained = true;
        break;
    default:
        break;
    }
    if (!s && event->id != TUTTI_EVENT_INIT && event->id != TUTTI_EVENT_BATCH_END)
        s = tensorboard_flush(t, err);
    const tutti_status sent = outbox_event(t->outbox, event, err);
    return s ? s : sent;
}

static tutti_status tensorboard_close(void *self, tutti_error *err)
{
    tensorboard *t = self;
    tutti_status s = t->has_hparams || !t->ngiven ? TUTTI_OK : add_hparams(t, err);
    if (t->has_trained)
        event_hparams_end(&t->events, tensorboard_now());
    if (!s)
        s = tensorboard_flush(t, err);
    outbox_destroy(t->outbox);
    tensorboard_free(t);
    return s;
}

/* ---- the calls of a logger ---- */

static tutti_status tensorboard_metrics(void *self, const tutti_named_value *values, uint32_t n,
                                        uint64_t step, tutti_error *err)
{
    tensorboard *t = self;
    bool kept = true;
    for (uint32_t k = 0; k < n; k++)
        kept = latest_set(&t->metrics, values[k].name, values[k].value) && kept;
    event_scalars(&t->events, tensorboard_now(), (int64_t)step, "", values, n);
    return kept && !t->events.failed ? TUTTI_OK : fail_memory(err);
}

/* The pair with room for a new one at the end. */
static tutti_named_text *test_settings_slot(tensorboard *t, const char *name)
{
    for (uint32_t k = 0; k < t->ngiven; k++)
        if (strcmp(t->given[k].name, name) == 0)
            return &t->given[k];
    if (t->ngiven == t->given_capacity) {
        const uint32_t capacity = 2 * t->given_capacity + 16;
        tutti_named_text *grown = realloc(t->given, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        t->given = grown;
        t->given_capacity = capacity;
    }
    const tutti_named_text fresh = {strdup(name), NULL};
    if (!fresh.name)
        return NULL;
    t->given[t->ngiven] = fresh;
    return &t->given[t->ngiven++];
}

static tutti_status tensorboard_hyperparameters(void *self, const tutti_named_text *values,
                                                uint32_t n, tutti_error *err)
{
    tensorboard *t = self;
    for (uint32_t k = 0; k < n; k++) {
        char *text = strdup(values[k].text);
        tutti_named_text *slot = text ? test_settings_slot(t, values[k].name) : NULL;
        if (!slot) {
            free(text);
            return fail_memory(err);
        }
        free((char *)(uintptr_t)slot->text);
        slot->text = text;
    }
    return TUTTI_OK;
}

static tutti_status tensorboard_message(void *self, int32_t level, const char *component,
                                        const char *text, tutti_error *err)
{
    tensorboard *t = self;
    char line[2048];
    if (level < TUTTI_LOG_INFO)
        return TUTTI_OK;
    (void)snprintf(line, sizeof line, "%s: %s", component, text);
    event_text(&t->events, tensorboard_now(), t->state->time->batch, "messages", line);
    return t->events.failed ? fail_memory(err) : TUTTI_OK;
}

/* As one picture of all; masks, where there are some, as one each below the same name. */
static tutti_status tensorboard_images(void *self, const tutti_images *images, uint64_t step,
                                       tutti_error *err)
{
    tensorboard *t = self;
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; k <= images->nmasks && !s; k++) {
        char tag[256];
        picture p;
        s = k == 0 ? picture_grid("tensorboard", images, &p, err)
                   : picture_mask("tensorboard", images, k - 1, &p, err);
        if (s)
            break;
        (void)snprintf(tag, sizeof tag, "%s%s%s", images->name, k ? "/" : "",
                       k ? images->masks[k - 1].name : "");
        event_picture(&t->events, tensorboard_now(), (int64_t)step, tag,
                      &(event_image){p.png, p.size, p.height, p.width, p.channels});
        free(p.png);
    }
    return s || !t->events.failed ? s : fail_memory(err);
}

static tutti_status tensorboard_sync(void *self, tutti_error *err)
{
    tensorboard *t = self;
    const tutti_status s = tensorboard_flush(t, err);
    outbox_sync(t->outbox);
    return s;
}

static tutti_status tensorboard_begin_again(void *self, tutti_error *err)
{
    return outbox_begin_again(((tensorboard *)self)->outbox, err);
}

static const char *tensorboard_location(void *self)
{
    return ((tensorboard *)self)->file.folder;
}

static const void *tensorboard_query(void *self, const char *interface_id)
{
    static const tutti_logger_v1 table = {.struct_size = sizeof table,
                                          .metrics = tensorboard_metrics,
                                          .hyperparameters = tensorboard_hyperparameters,
                                          .message = tensorboard_message,
                                          .sync = tensorboard_sync,
                                          .begin_again = tensorboard_begin_again,
                                          .images = tensorboard_images,
                                          .location = tensorboard_location};
    (void)self;
    return strcmp(interface_id, TUTTI_LOGGER_V1) == 0 ? &table : NULL;
}

LOGGER_PLUGIN("tensorboard", .open = tensorboard_open, .run_event = tensorboard_event,
              .close = tensorboard_close, .query = tensorboard_query);
