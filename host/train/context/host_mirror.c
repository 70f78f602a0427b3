/* host_mirror.c - the host mirror of a tensor: copies of tensors of a device, which plugins on the host read and write. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/context/host_mirror.h"

#include "graph/runtime/device_memory.h"
#include "graph/runtime/host_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Here everything is seen where it is. */
static bool sees_all(const host_mirrors *m)
{
    return device_is_host(context_device(m->run));
}

/* ---- who reads ---- */

typedef struct mirror_reader {
    char name[80];
    uint64_t bytes; /* copied for it during this event */
    bool told;
} mirror_reader;

/* The object whose call the host is in; a function of the run file has no name here. */
static const char *caller(const host_mirrors *m)
{
    const breadcrumb *b = &crash_breadcrumb;
    const char *name = b->who ? b->who->object : b->object;
    return name ? name : m->who ? m->who : "a handler";
}

/* Its number from 1; 0: nobody, or no memory to remember it. */
static size_t find_reader(host_mirrors *m)
{
    const char *name = caller(m);
    size_t k = 0;
    while (k < m->nreaders &&
           strncmp(m->readers[k].name, name, sizeof m->readers[k].name - 1) != 0)
        k++;
    if (!*name || k < m->nreaders)
        return *name ? k + 1 : 0;
    mirror_reader *list = realloc(m->readers, (k + 1) * sizeof *list);
    if (!list)
        return 0;
    m->readers = list;
    m->nreaders = k + 1;
    list[k] = (mirror_reader){.bytes = 0};
    (void)snprintf(list[k].name, sizeof list[k].name, "%s", name);
    return k + 1;
}

static void count_copy(host_mirrors *m, const host_mirror *v)
{
    if (v->reader)
        m->readers[v->reader - 1].bytes += v->bytes;
}

/* One warning for each plugin and run, once it is known what its first look has cost. */
static void warn_readers(host_mirrors *m)
{
    char text[400], size[32];
    for (size_t k = 0; k < m->nreaders; k++) {
        mirror_reader *r = &m->readers[k];
        if (r->bytes && !r->told) {
            r->told = true;
            (void)snprintf(
                text, sizeof text,
                "%s looks at tensors on %s and has no kernels for it: the run waits while "
                "they are copied, %s the first time",
                r->name, m->run->device.device.info.name,
                bytes_text(r->bytes, size, sizeof size));
            run_log_message(&m->run->log, TUTTI_LOG_WARNING, "train", text);
        }
        r->bytes = 0;
    }
}

/* ---- one copy ---- */

/* `host` has room for what the plugin sees and, behind it, for what was fetched. */
static tutti_status reserve(host_mirror *v, uint64_t bytes, tutti_error *err)
{
    const uint64_t capacity = bytes_round(bytes + 1);
    if (v->host && capacity <= v->capacity)
        return TUTTI_OK;
    void *host = host_memory_alloc(2 * capacity);
    if (!host)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a copy of %llu bytes on the host",
                          (unsigned long long)bytes);
    free(v->host);
    v->host = host;
    v->capacity = capacity;
    v->device = NULL;
    return TUTTI_OK;
}

static tutti_status note_open(host_mirrors *m, host_mirror *v, tutti_error *err)
{
    if (v->open)
        return TUTTI_OK;
    if (m->nopen == m->capacity) {
        const size_t capacity = m->capacity ? 2 * m->capacity : 64;
        host_mirror **list = realloc(m->open, capacity * sizeof *list);
        if (!list)
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for copies on the host");
        m->open = list;
        m->capacity = capacity;
    }
    m->open[m->nopen++] = v;
    v->open = true;
    return TUTTI_OK;
}

tutti_status mirror_open(host_mirrors *m, host_mirror *v, int what, tutti_tensor *tensor,
                         tutti_error *err)
{
    const uint64_t bytes = tutti_nbytes(&tensor->desc);
    if (sees_all(m) || tensor->device == TUTTI_DEVICE_CPU)
        return TUTTI_OK;
    tutti_status s =
        what == MIRROR_GRADIENTS ? m->before_gradients(m->before_gradients_ctx, err) : TUTTI_OK;
    if (s || (s = reserve(v, bytes, err)) || (s = note_open(m, v, err)))
        return s;
    v->reader = find_reader(m);
    if (v->device != tensor->data || v->bytes != bytes ||
        v->generation != m->generation[what]) {
        s = device_copy(context_device(m->run), v->host, tensor->data, bytes,
                        TUTTI_COPY_FROM_DEVICE, err);
        if (s)
            return s;
        if (bytes)
            memcpy(v->host + v->capacity, v->host, bytes);
        v->device = tensor->data;
        v->bytes = bytes;
        v->what = what;
        v->generation = m->generation[what];
        count_copy(m, v);
    }
    tensor->data = v->host;
    tensor->device = TUTTI_DEVICE_CPU;
    return TUTTI_OK;
}

void mirror_fini(host_mirror *v)
{
    free(v->host);
    *v = (host_mirror){.host = NULL};
}

/* ---- all copies ---- */

tutti_status mirrors_flush(host_mirrors *m, bool end, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (size_t k = 0; k < m->nopen; k++) {
        host_mirror *v = m->open[k];
        unsigned char *before = v->host ? v->host + v->capacity : NULL;
        if (v->device && !s && memcmp(v->host, before, v->bytes) != 0) {
            s = device_copy(context_device(m->run), v->device, v->host, v->bytes,
                            TUTTI_COPY_TO_DEVICE, err);
            if (v->what == MIRROR_WEIGHTS ||
                v->what == MIRROR_BUFFERS) /* frozen: a buffer here */
                net_touch_weights(m->run->net);
            memcpy(before, v->host, v->bytes);
            count_copy(m, v);
        }
        v->open = !end;
    }
    if (end) {
        m->nopen = 0;
        warn_readers(m);
    }
    return s;
}

void mirrors_invalidate(host_mirrors *m, unsigned kinds)
{
    for (int k = 0; k < MIRROR_KINDS; k++)
        m->generation[k] += kinds >> k & 1;
}

static void free_weights(host_mirrors *m)
{
    for (uint32_t k = 0; k < m->count; k++) {
        mirror_fini(&m->weights[k]);
        mirror_fini(&m->grads[k]);
        for (uint32_t j = 0; j < TUTTI_OPTIMIZER_MAX_SLOTS; j++)
            mirror_fini(&m->slots[k * TUTTI_OPTIMIZER_MAX_SLOTS + j]);
    }
    free(m->weights);
    free(m->grads);
    free(m->slots);
}

void mirrors_fini(host_mirrors *m)
{
    free_weights(m);
    free(m->open);
    free(m->readers);
    memset(m, 0, sizeof *m);
}

/* ---- weights ---- */

/* Copies of another tree's weights are of no use, and none is open between events, when trees change. */
static tutti_status fit_weights(host_mirrors *m, tutti_error *err)
{
    const uint32_t n = net_weight_count(m->run->net);
    if (m->weights && m->version == net_version(m->run->net))
        return TUTTI_OK;
    const tutti_status s = mirrors_flush(m, true, err);
    host_mirror *weights = calloc((size_t)n + 1, sizeof *weights);
    host_mirror *grads = calloc((size_t)n + 1, sizeof *grads);
    host_mirror *slots = calloc((size_t)n + 1, TUTTI_OPTIMIZER_MAX_SLOTS * sizeof *slots);
    if (s || !weights || !grads || !slots) {
        free(weights);
        free(grads);
        free(slots);
        return s ? s : tutti_fail(err, TUTTI_E_NOMEM, "no memory for copies of weights");
    }
    free_weights(m);
    m->weights = weights;
    m->grads = grads;
    m->slots = slots;
    m->count = n;
    m->version = net_version(m->run->net);
    return TUTTI_OK;
}

static int kind_of(const tutti_weight *w)
{
    return w->grad ? MIRROR_WEIGHTS : MIRROR_BUFFERS;
}

tutti_status mirrors_check_weights(const host_mirrors *m, tutti_error *err)
{
    return !m->sharded || !*m->sharded
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_STATE,
                            "weights are divided among the processes since nobody asked for "
                            "them; want a plugin that asks for " TUTTI_WEIGHTS_V1
                            " when it opens, or \"sharding\": \"none\" of "
                            "\"distributed\"");
}

tutti_status mirrors_weight(host_mirrors *m, uint32_t k, tutti_weight *w, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    if (sees_all(m))
        net_expose_weights(m->run->net);
    if (sees_all(m) || (s = fit_weights(m, err)))
        return s;
    tutti_tensor grad = {w->grad, w->data.desc, w->data.device, 0};
    s = mirror_open(m, &m->weights[k], kind_of(w), &w->data, err);
    if (!s && w->grad)
        s = mirror_open(m, &m->grads[k], MIRROR_GRADIENTS, &grad, err);
    w->grad = grad.data;
    return s;
}

tutti_status mirrors_slot(host_mirrors *m, uint32_t k, uint32_t slot, tutti_tensor *tensor,
                          tutti_error *err)
{
    if (sees_all(m) || !tensor->data)
        return TUTTI_OK;
    const tutti_status s = fit_weights(m, err);
    return s ? s
             : mirror_open(m, &m->slots[k * TUTTI_OPTIMIZER_MAX_SLOTS + slot], MIRROR_SLOTS,
                           tensor, err);
}

tutti_status mirrors_module_weight(host_mirrors *m, tutti_tensor *tensor, tutti_error *err)
{
    float *weights, *gradients;
    int64_t n;
    net_arena(m->run->net, &weights, &gradients, &n);
    const float *at = tensor->data;
    const bool trained = at >= weights && at < weights + n; /* others are whole on each rank */
    tutti_status s = trained ? mirrors_check_weights(m, err) : TUTTI_OK;
    if (!s && sees_all(m))
        net_expose_weights(m->run->net);
    if (s || sees_all(m) || (s = fit_weights(m, err)))
        return s;
    for (uint32_t k = 0; k < net_weight_count(m->run->net); k++)
        if (net_weight(m->run->net, k)->data.data == tensor->data)
            return mirror_open(m, &m->weights[k], kind_of(net_weight(m->run->net, k)), tensor,
                               err);
    return TUTTI_OK;
}

void mirrors_module_wrote(host_mirrors *m)
{
    mirrors_invalidate(m, 1u << MIRROR_WEIGHTS | 1u << MIRROR_BUFFERS);
}
