/* view.c - what plugins see of a device whose memory is out of the host's reach: copies on the host. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/memory.h"
#include "graph/place.h"
#include "train/trainer_internal.h"

#include <stdlib.h>
#include <string.h>

/* Here everything is seen where it is. */
static bool sees_all(const trainer *t)
{
    return place_is_host(trainer_device(t));
}

/* ---- who looks ---- */

typedef struct onlooker {
    char name[80];
    uint64_t bytes; /* copied for it during this event */
    bool told;
} onlooker;

/* The object whose call the host is in; a function of the run file has no name here. */
static const char *caller(const views *v)
{
    const breadcrumb *b = &crash_breadcrumb;
    const char *name = b->who ? b->who->object : b->object;
    return name ? name : v->who ? v->who : "a handler";
}

/* Its number from 1; 0: nobody, or no memory to remember it. */
static size_t find_onlooker(views *v)
{
    const char *name = caller(v);
    size_t k = 0;
    while (k < v->nonlookers &&
           strncmp(v->onlookers[k].name, name, sizeof v->onlookers[k].name - 1) != 0)
        k++;
    if (!*name || k < v->nonlookers)
        return *name ? k + 1 : 0;
    onlooker *list = realloc(v->onlookers, (k + 1) * sizeof *list);
    if (!list)
        return 0;
    v->onlookers = list;
    v->nonlookers = k + 1;
    list[k] = (onlooker){.bytes = 0};
    (void)snprintf(list[k].name, sizeof list[k].name, "%s", name);
    return k + 1;
}

static void count_look(views *all, const view *v)
{
    if (v->onlooker)
        all->onlookers[v->onlooker - 1].bytes += v->bytes;
}

/* One warning for each plugin and run, once it is known what its first look has cost. */
static void tell(trainer *t)
{
    char text[400], size[32];
    for (size_t k = 0; k < t->views.nonlookers; k++) {
        onlooker *o = &t->views.onlookers[k];
        if (o->bytes && !o->told) {
            o->told = true;
            (void)snprintf(
                text, sizeof text,
                "%s looks at tensors on %s and has no kernels for it: the run waits while "
                "they are copied, %s the first time",
                o->name, t->device.device.info.name, memory_text(o->bytes, size, sizeof size));
            trainer_message(t, TUTTI_LOG_WARNING, "train", text);
        }
        o->bytes = 0;
    }
}

/* ---- one view ---- */

/* `host` has room for what the plugin sees and, behind it, for what was fetched. */
static tutti_status make_room(view *v, uint64_t bytes, tutti_error *err)
{
    const uint64_t room = memory_round(bytes + 1);
    if (v->host && room <= v->room)
        return TUTTI_OK;
    void *host = memory_take(2 * room);
    if (!host)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a view of %llu bytes",
                          (unsigned long long)bytes);
    free(v->host);
    v->host = host;
    v->room = room;
    v->device = NULL;
    return TUTTI_OK;
}

static tutti_status note_open(views *all, view *v, tutti_error *err)
{
    if (v->open)
        return TUTTI_OK;
    if (all->nopen == all->room) {
        const size_t room = all->room ? 2 * all->room : 64;
        view **list = realloc(all->open, room * sizeof *list);
        if (!list)
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for views");
        all->open = list;
        all->room = room;
    }
    all->open[all->nopen++] = v;
    v->open = true;
    return TUTTI_OK;
}

tutti_status view_open(trainer *t, view *v, int what, tutti_tensor *tensor, tutti_error *err)
{
    const uint64_t bytes = tutti_nbytes(&tensor->desc);
    if (sees_all(t) || tensor->device == TUTTI_DEVICE_CPU)
        return TUTTI_OK;
    tutti_status s = what == VIEW_GRADIENTS ? scalars_apply_factor(t, err) : TUTTI_OK;
    if (s || (s = make_room(v, bytes, err)) || (s = note_open(&t->views, v, err)))
        return s;
    v->onlooker = find_onlooker(&t->views);
    if (v->device != tensor->data || v->bytes != bytes || v->age != t->views.age[what]) {
        s = place_copy(trainer_device(t), v->host, tensor->data, bytes, TUTTI_COPY_FROM_DEVICE,
                       err);
        if (s)
            return s;
        if (bytes)
            memcpy(v->host + v->room, v->host, bytes);
        v->device = tensor->data;
        v->bytes = bytes;
        v->what = what;
        v->age = t->views.age[what];
        count_look(&t->views, v);
    }
    tensor->data = v->host;
    tensor->device = TUTTI_DEVICE_CPU;
    return TUTTI_OK;
}

void view_fini(view *v)
{
    free(v->host);
    *v = (view){.host = NULL};
}

/* ---- all views ---- */

tutti_status views_settle(trainer *t, bool end, tutti_error *err)
{
    views *all = &t->views;
    tutti_status s = TUTTI_OK;
    for (size_t k = 0; k < all->nopen; k++) {
        view *v = all->open[k];
        unsigned char *before = v->host ? v->host + v->room : NULL;
        if (v->device && !s && memcmp(v->host, before, v->bytes) != 0) {
            s = place_copy(trainer_device(t), v->device, v->host, v->bytes,
                           TUTTI_COPY_TO_DEVICE, err);
            if (v->what == VIEW_WEIGHTS || v->what == VIEW_BUFFERS) /* frozen: a buffer here */
                net_touch_weights(t->net);
            memcpy(before, v->host, v->bytes);
            count_look(all, v);
        }
        v->open = !end;
    }
    if (end) {
        all->nopen = 0;
        tell(t);
    }
    return s;
}

void views_age(trainer *t, unsigned kinds)
{
    for (int k = 0; k < VIEW_KINDS; k++)
        t->views.age[k] += kinds >> k & 1;
}

void views_fini(views *v)
{
    for (uint32_t k = 0; k < v->count; k++) {
        view_fini(&v->weights[k]);
        view_fini(&v->grads[k]);
    }
    free(v->weights);
    free(v->grads);
    free(v->open);
    free(v->onlookers);
    *v = (views){.count = 0};
}

/* ---- weights ---- */

/* Views of another tree's weights are of no use, and none is open between events, when trees change. */
static tutti_status fit_weights(trainer *t, tutti_error *err)
{
    views *v = &t->views;
    const uint32_t n = net_weight_count(t->net);
    if (v->weights && v->version == net_version(t->net))
        return TUTTI_OK;
    const tutti_status s = views_settle(t, true, err);
    view *weights = calloc((size_t)n + 1, sizeof *weights);
    view *grads = calloc((size_t)n + 1, sizeof *grads);
    if (s || !weights || !grads) {
        free(weights);
        free(grads);
        return s ? s : tutti_fail(err, TUTTI_E_NOMEM, "no memory for views of weights");
    }
    for (uint32_t k = 0; k < v->count; k++) {
        view_fini(&v->weights[k]);
        view_fini(&v->grads[k]);
    }
    free(v->weights);
    free(v->grads);
    v->weights = weights;
    v->grads = grads;
    v->count = n;
    v->version = net_version(t->net);
    return TUTTI_OK;
}

static int kind_of(const tutti_weight *w)
{
    return w->grad ? VIEW_WEIGHTS : VIEW_BUFFERS;
}

tutti_status views_weight(trainer *t, uint32_t k, tutti_weight *w, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    if (sees_all(t))
        net_expose_weights(t->net);
    if (sees_all(t) || (s = fit_weights(t, err)))
        return s;
    tutti_tensor grad = {w->grad, w->data.desc, w->data.device, 0};
    s = view_open(t, &t->views.weights[k], kind_of(w), &w->data, err);
    if (!s && w->grad)
        s = view_open(t, &t->views.grads[k], VIEW_GRADIENTS, &grad, err);
    w->grad = grad.data;
    return s;
}

tutti_status views_module_weight(void *ctx, tutti_tensor *tensor, tutti_error *err)
{
    trainer *t = ctx;
    tutti_status s = TUTTI_OK;
    if (sees_all(t))
        net_expose_weights(t->net);
    if (sees_all(t) || (s = fit_weights(t, err)))
        return s;
    for (uint32_t k = 0; k < net_weight_count(t->net); k++)
        if (net_weight(t->net, k)->data.data == tensor->data)
            return view_open(t, &t->views.weights[k], kind_of(net_weight(t->net, k)), tensor,
                             err);
    return TUTTI_OK;
}

void views_module_wrote(void *ctx)
{
    views_age(ctx, 1u << VIEW_WEIGHTS | 1u << VIEW_BUFFERS);
}
