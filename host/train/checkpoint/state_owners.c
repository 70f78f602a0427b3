/* state_owners.c - the objects whose own state a checkpoint keeps, in order. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint/state_owners.h"

#include "train/step/trainer_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Gives `i` if it is the one that *k counts down to. */
static bool take(size_t *k, instance *i, state_owner *ret)
{
    if (!i || (*k)-- > 0)
        return false;
    ret->instance = i;
    return true;
}

#define LABEL(...) (void)snprintf(ret->label, sizeof ret->label, __VA_ARGS__)

static bool of_source(const data_source *s, const char *label, size_t *k, state_owner *ret)
{
    if (take(k, s->dataset, ret)) {
        LABEL("provider.dataset.%s", label);
        return true;
    }
    for (size_t j = 0; s->transforms && j < s->spec->transforms.count; j++)
        if (take(k, s->transforms[j], ret)) {
            LABEL("provider.transform.%s.%zu", label, j);
            return true;
        }
    for (size_t j = 0; s->metrics.instances && j < s->metrics.count; j++)
        if (take(k, s->metrics.instances[j], ret)) {
            LABEL("provider.metric.%s.%s", label, instance_name(s->metrics.instances[j]));
            return true;
        }
    return false;
}

static bool of_updater(const updater *u, size_t *k, state_owner *ret)
{
    for (size_t j = 0; u->groups && j < u->ngroups; j++)
        if (take(k, u->groups[j].optimizer, ret)) {
            LABEL("provider.optimizer.%zu", j);
            return true;
        }
    for (size_t j = 0; u->schedulers && j < u->nschedulers; j++)
        if (take(k, u->schedulers[j], ret)) {
            LABEL("provider.scheduler.%zu", j);
            return true;
        }
    return false;
}

bool state_owner_at(const trainer *t, size_t k, state_owner *ret)
{
    for (size_t j = 0; j < t->run.participants.count; j++)
        if (take(&k, t->run.participants.items[j], ret)) {
            LABEL("%s.%s", object_describe(instance_object(ret->instance))->kind,
                  instance_name(ret->instance));
            return true;
        }
    if (take(&k, t->run.model, ret)) {
        LABEL("provider.model");
        return true;
    }
    if (take(&k, t->run.loss, ret)) {
        LABEL("provider.loss");
        return true;
    }
    if (of_updater(&t->updater, &k, ret) || of_source(&t->train, "train", &k, ret))
        return true;
    for (size_t j = 0; j < t->nevals; j++)
        if (of_source(&t->evals[j], t->evals[j].spec->label, &k, ret))
            return true;
    return false;
}

char *state_owners_text(const trainer *t)
{
    char *text = NULL;
    size_t size = 0;
    state_owner o;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (size_t k = 0; state_owner_at(t, k, &o); k++) {
        *strchr(o.label, '.') = ' ';
        (void)fprintf(out, "%s\n", o.label);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
