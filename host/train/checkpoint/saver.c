/* saver.c - calls of the participant that saves checkpoints, each with its breadcrumb. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint/saver.h"

#include <unistd.h>

static saver saver_of(instance *i)
{
    return (saver){i, instance_query(i, TUTTI_SAVER_V1)};
}

bool saver_find(const run_context *run, saver *ret_saver)
{
    *ret_saver = (saver){NULL, NULL};
    for (size_t k = run->participants.count; k-- > 0 && !ret_saver->table;)
        *ret_saver = saver_of(run->participants.items[k]);
    return ret_saver->table != NULL;
}

bool saver_is_due(const run_context *run, int32_t event)
{
    bool due = false;
    for (size_t k = 0; k < run->participants.count && !due; k++) {
        const saver s = saver_of(run->participants.items[k]);
        if (!s.table)
            continue;
        instance_call c = instance_enter(s.instance, "due");
        due = s.table->due(instance_self(s.instance), event);
        instance_leave(&c);
    }
    return due;
}

tutti_status saver_save(const run_context *run, bool *ret_can, tutti_error *err)
{
    saver s;
    *ret_can = saver_find(run, &s) && TUTTI_HAS(s.table, tutti_saver_v1, save) && s.table->save;
    if (!*ret_can)
        return TUTTI_OK;
    instance_call c = instance_enter_whole(s.instance, "save");
    const tutti_status status = s.table->save(instance_self(s.instance), err);
    instance_leave(&c);
    return status;
}

bool saver_has_paths(const saver *s)
{
    return s->table && TUTTI_HAS(s->table, tutti_saver_v1, latest) && s->table->latest;
}

const char *saver_path(const saver *s, uint32_t k)
{
    const bool lists = TUTTI_HAS(s->table, tutti_saver_v1, older) && s->table->older;
    const char *path = NULL;
    instance_call c = instance_enter(s->instance, lists ? "older" : "latest");
    if (lists)
        path = s->table->older(instance_self(s->instance), k);
    else if (k == 0)
        path = s->table->latest(instance_self(s->instance));
    instance_leave(&c);
    return lists || (path && access(path, F_OK) == 0) ? path : NULL;
}

tutti_status saver_fetch(const saver *s, uint32_t k, tutti_error *err)
{
    if (!TUTTI_HAS(s->table, tutti_saver_v1, fetch) || !s->table->fetch)
        return tutti_fail(err, TUTTI_E_NOTFOUND, "%s sends no checkpoints elsewhere",
                          instance_name(s->instance));
    instance_call c = instance_enter_whole(s->instance, "fetch");
    const tutti_status status = s->table->fetch(instance_self(s->instance), k, err);
    instance_leave(&c);
    return status;
}
