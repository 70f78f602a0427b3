/* checked.c - the calls of a participant, each enclosed by a look at the process. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/registry_internal.h"
#include "tutti/pass.h"

#include <string.h>

static int32_t match(void *self, const tutti_event *event)
{
    const instance *i = self;
    instance_call c = instance_enter(i, "match");
    const int32_t answer = instance_calls(i)->match(instance_self(i), event);
    instance_leave(&c);
    return answer;
}

static tutti_status apply(void *self, const tutti_event *event, int64_t *exit_code,
                          tutti_error *err)
{
    const instance *i = self;
    instance_call c = instance_enter(i, "apply");
    const tutti_status s = instance_calls(i)->apply(instance_self(i), event, exit_code, err);
    instance_leave(&c);
    return s;
}

static tutti_status run_event(void *self, const tutti_event *event, tutti_error *err)
{
    const instance *i = self;
    instance_call c = instance_enter(i, "run_event");
    const tutti_status s = instance_calls(i)->run_event(instance_self(i), event, err);
    instance_leave(&c);
    return s;
}

static tutti_status order(void *self, int32_t event, const char *const *names, uint32_t n,
                          uint32_t *order, uint32_t *count, tutti_error *err)
{
    instance *i = self;
    const tutti_pass_v1 *table = instance_query(i, TUTTI_PASS_V1);
    instance_call c = instance_enter(i, "order");
    const tutti_status s =
        table ? table->order(instance_self(i), event, names, n, order, count, err)
              : tutti_fail(err, TUTTI_E_STATE, "it has no " TUTTI_PASS_V1);
    instance_leave(&c);
    return s;
}

/* The engine asks for the one table that it uses itself. */
static const void *query(void *self, const char *interface_id)
{
    static const tutti_pass_v1 pass = {.struct_size = sizeof pass, .order = order};
    return strcmp(interface_id, TUTTI_PASS_V1) == 0 ? (const void *)&pass
                                                    : instance_query(self, interface_id);
}

static const tutti_calls checked_calls = {.struct_size = sizeof checked_calls,
                                          .match = match,
                                          .apply = apply,
                                          .run_event = run_event,
                                          .query = query};

const tutti_calls *instance_participant(instance *i, void **ret_self)
{
    const bool check = instance_object(i)->plugin->registry->check;
    *ret_self = check ? i : instance_self(i);
    return check ? &checked_calls : instance_calls(i);
}
