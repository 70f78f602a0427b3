/* queue.c - the shadow device's work: gathered, then done in order while its memory is in reach. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "shadow.h"
#include "tutti/rng.h"

#include <stdlib.h>
#include <string.h>

work *shadow_queue(device *d, int kind, tutti_error *err)
{
    work **queue = realloc(d->queue, (d->nqueue + 1) * sizeof *queue);
    work *w = calloc(1, sizeof *w);
    if (queue)
        d->queue = queue;
    if (!queue || !w) {
        free(w);
        (void)tutti_fail(err, TUTTI_E_NOMEM, "shadow: no memory for more work");
        return NULL;
    }
    w->kind = kind;
    d->queue[d->nqueue++] = w;
    d->queued++;
    return w;
}

static void draw(float *to, uint64_t n, const tutti_device_draw *key)
{
    tutti_rng4 four = {{0, 0, 0, 0}};
    for (uint64_t k = 0; k < n; k++) {
        if (k % 4 == 0)
            four = tutti_rng(key->seed, key->purpose, key->step, key->index + k / 4);
        to[k] = tutti_uniform_f32(four.v[k % 4]);
    }
}

static void launch(device *d, const work *w)
{
    const tutti_launch *l = &w->launch;
    const tutti_status s = l->run(l->state, &w->call, w->in, w->out, l->scratch);
    if (s)
        (void)tutti_fail(&d->error, s, "shadow: kernel %s failed (%s)", l->name,
                         tutti_status_name(s));
}

static void perform(device *d, work *w)
{
    switch (w->kind) {
    case WORK_COPY:
        if (w->bytes)
            memcpy(w->to, w->staged ? w->staged : w->from, w->bytes);
        break;
    case WORK_FILL:
        memset(w->to, w->byte, w->bytes);
        break;
    case WORK_RANDOM:
        draw(w->to, w->bytes / sizeof(float), &w->draw);
        break;
    case WORK_LAUNCH:
        launch(d, w);
        break;
    default:
        shadow_forget(d, w->to);
        break;
    }
}

void shadow_work(device *d)
{
    shadow_reach(d, true);
    for (size_t k = 0; k < d->nqueue; k++) {
        perform(d, d->queue[k]);
        free(d->queue[k]->staged);
        free(d->queue[k]);
        d->done++;
    }
    d->nqueue = 0;
    shadow_reach(d, false);
}

tutti_status shadow_error(device *d, tutti_error *err)
{
    const tutti_error e = d->error;
    d->error = (tutti_error)TUTTI_ERROR_INIT;
    return e.status ? tutti_fail(err, e.status, "%s", e.text) : TUTTI_OK;
}
