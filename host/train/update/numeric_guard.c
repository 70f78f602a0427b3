/* numeric_guard.c - losses, gradients and weights that are not finite: noticed, named, and what the run wants then. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/update/numeric_guard.h"

#include "graph/ir/sound.h"
#include "graph/runtime/device_memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So many updates left out in a row bring GradScaler's first scale from 2^16 to 2^-16. */
enum { WHERE_SIZE = 160, SKIPS_MAX = 32 };

/* "module body.head: its weight is not finite", for the first such weight; *ret_found. */
static tutti_status find_weight(const run_context *run, char *where, bool *ret_found,
                                tutti_error *err)
{
    *ret_found = false;
    for (uint32_t k = 0; k < net_weight_count(run->net) && !*ret_found; k++) {
        const tutti_weight *w = net_weight(run->net, k);
        const uint64_t bytes = tutti_nbytes(&w->data.desc);
        tutti_tensor here = w->data;
        void *copy = NULL;
        tutti_status s = TUTTI_OK;
        if (context_is_remote(run)) {
            here.data = copy = malloc(bytes ? bytes : 1);
            s = copy ? device_copy(context_device(run), copy, w->data.data, bytes,
                                   TUTTI_COPY_FROM_DEVICE, err)
                     : tutti_fail(err, TUTTI_E_NOMEM, "no memory to look at %s", w->path);
        }
        *ret_found = !s && !tensor_is_sound(&here);
        free(copy);
        if (s)
            return s;
        const char *dot = strrchr(w->path, '.');
        if (*ret_found)
            (void)snprintf(where, WHERE_SIZE, "module %.*s: its %s is not finite",
                           (int)(dot ? dot - w->path : 0), w->path, dot ? dot + 1 : w->path);
    }
    return TUTTI_OK;
}

/* A column of the batch that the host can look at. */
static bool find_column(const numeric_guard *g, char *where)
{
    const batch *b = &g->tensors->micro;
    for (uint32_t k = 0; k < b->ncolumns; k++) {
        const tutti_tensor *t = &b->columns[k].now;
        if (t->device != TUTTI_DEVICE_CPU || tensor_is_sound(t))
            continue;
        (void)snprintf(where, WHERE_SIZE, "the batch's %s is not finite", b->columns[k].name);
        return true;
    }
    return false;
}

/* The first of the forward pass, which is computed again for that. */
static tutti_status find_module(const numeric_guard *g, plan *p, char *where, tutti_error *err)
{
    const char *scope = NULL, *op = NULL;
    const tutti_status s = plan_find_unsound(p, &g->run->step, &scope, &op, err);
    if (s)
        return s;
    if (op)
        (void)snprintf(where, WHERE_SIZE, "the first result that is not finite is %s's %s",
                       *scope ? scope : "the model", op);
    else
        (void)snprintf(where, WHERE_SIZE, "the model's outputs are finite, its loss is not");
    return TUTTI_OK;
}

/* Where it comes from.  Computing the forward pass again changes running statistics, so that a run
 * which goes on does not. */
static tutti_status find_cause(const numeric_guard *g, plan *p, char *where, tutti_error *err)
{
    bool found = p && find_column(g, where);
    const tutti_status s =
        found || g->sharded ? TUTTI_OK : find_weight(g->run, where, &found, err);
    if (s || found)
        return s;
    if (g->sharded) {
        (void)snprintf(where, WHERE_SIZE,
                       "the batch is finite; weights are divided among the processes");
        return TUTTI_OK;
    }
    if (!p)
        (void)snprintf(where, WHERE_SIZE,
                       "all weights are finite; the device no longer has the batch");
    else if (g->run->file->numerics.on_nonfinite != RUN_NONFINITE_STOP)
        (void)snprintf(where, WHERE_SIZE, "the batch and all weights are finite");
    else
        return find_module(g, p, where, err);
    return TUTTI_OK;
}

/* E_NUMERIC where the run stops for that, else a warning. */
static tutti_status tell(const numeric_guard *g, const char *text, tutti_error *err)
{
    if (g->run->file->numerics.on_nonfinite == RUN_NONFINITE_STOP)
        return tutti_fail(err, TUTTI_E_NUMERIC, "%s", text);
    run_log_message(&g->run->log, TUTTI_LOG_WARNING, "train", text);
    return TUTTI_OK;
}

static tutti_status report(numeric_guard *g, plan *p, double loss, uint64_t number,
                           tutti_error *err)
{
    char where[WHERE_SIZE], text[256];
    if (g->told)
        return TUTTI_OK;
    g->told = true;
    const tutti_status s = find_cause(g, p, where, err);
    if (s)
        return s;
    (void)snprintf(text, sizeof text, "the loss of batch %llu is %s: %s",
                   (unsigned long long)number, isnan(loss) ? "NaN" : "infinite", where);
    return tell(g, text, err);
}

tutti_status guard_loss(numeric_guard *g, double loss, uint64_t number, tutti_error *err)
{
    /* Also under a loss scale: that multiplies gradients alone, and no smaller one mends a loss. */
    g->told = g->told && !isfinite(loss);
    return isfinite(loss) || g->run->file->numerics.on_nonfinite == RUN_NONFINITE_IGNORE
               ? TUTTI_OK
               : report(g, NULL, loss, number, err);
}

tutti_status guard_plan(numeric_guard *g, plan *p, tutti_error *err)
{
    const double loss = (double)*(const float *)plan_loss(p).data;
    g->told = g->told && !isfinite(loss);
    return isfinite(loss) || g->run->file->numerics.on_nonfinite == RUN_NONFINITE_IGNORE
               ? TUTTI_OK
               : report(g, p, loss, (uint64_t)g->run->clock.now.batch, err);
}

tutti_status guard_update(numeric_guard *g, tutti_error *err)
{
    const loss_scaler *s = g->scaler;
    char text[192];
    const bool explained = s->skipped < SKIPS_MAX || s->told_scale >= 1.0;
    const bool told = g->told_skips;
    g->told_skips = !explained;
    if (explained || told || g->run->file->numerics.on_nonfinite == RUN_NONFINITE_IGNORE)
        return TUTTI_OK;
    (void)snprintf(text, sizeof text,
                   "no update since batch %llu: the gradients of %llu batches in a row are not "
                   "finite, and the loss scale is down to %g",
                   (unsigned long long)s->first_skipped, (unsigned long long)s->skipped,
                   s->told_scale);
    return tell(g, text, err);
}

void guard_last_updates(const numeric_guard *g)
{
    const loss_scaler *s = g->scaler;
    char text[192];
    if (!s->skipped || g->run->file->numerics.on_nonfinite == RUN_NONFINITE_IGNORE)
        return;
    (void)snprintf(text, sizeof text,
                   "the run ends without an update since batch %llu: the gradients of the last "
                   "%llu batches are not finite, the loss scale is now %g",
                   (unsigned long long)s->first_skipped, (unsigned long long)s->skipped,
                   s->told_scale);
    run_log_message(&g->run->log, TUTTI_LOG_WARNING, "train", text);
}

tutti_status guard_weights(numeric_guard *g, tutti_error *err)
{
    char where[WHERE_SIZE], text[256];
    bool found = false;
    if (!g->run->net || g->run->file->numerics.on_nonfinite == RUN_NONFINITE_IGNORE || g->told)
        return TUTTI_OK;
    const tutti_status s = find_weight(g->run, where, &found, err);
    if (s || !found)
        return s;
    (void)snprintf(text, sizeof text, "after batch %lld, %s",
                   (long long)g->run->clock.now.batch, where);
    return tell(g, text, err);
}
