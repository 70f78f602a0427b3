/* attributes.c - named values of the state: the user's attributes, and metrics. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/loop_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void loop_values_free(named_value *list)
{
    while (list) {
        named_value *next = list->next;
        free((char *)list->value.text);
        free(list->name);
        free(list);
        list = next;
    }
}

static named_value *find(named_value *list, const char *name)
{
    while (list && strcmp(list->name, name) != 0)
        list = list->next;
    return list;
}

named_value *loop_value(const tutti_loop *l, const char *name)
{
    return find(l->attributes, name);
}

/* The value of this name, made at the end of the list if need be. */
static named_value *demand(named_value **list, const char *name, tutti_error *err)
{
    named_value *found = find(*list, name);
    if (found)
        return found;
    named_value *v = calloc(1, sizeof *v);
    if (v)
        v->name = strdup(name);
    if (!v || !v->name) {
        free(v);
        (void)tutti_fail(err, TUTTI_E_NOMEM, "no memory for %s", name);
        return NULL;
    }
    while (*list)
        list = &(*list)->next;
    *list = v;
    return v;
}

tutti_status tutti_loop_set(tutti_loop *l, const char *name, const tutti_loop_value *value,
                            tutti_error *err)
{
    char *text = NULL;
    if (value->type == TUTTI_LOOP_TEXT && (!value->text || !(text = strdup(value->text))))
        return tutti_fail(err, TUTTI_E_ARG, "%s has no text", name);
    named_value *v = demand(&l->attributes, name, err);
    if (!v) {
        free(text);
        return TUTTI_E_NOMEM;
    }
    free((char *)v->value.text);
    v->value = *value;
    v->value.text = text;
    return TUTTI_OK;
}

const tutti_loop_value *tutti_loop_get(const tutti_loop *l, const char *name)
{
    const named_value *v = loop_value(l, name);
    return v && v->value.type != TUTTI_LOOP_NULL ? &v->value : NULL;
}

tutti_status tutti_loop_set_metric(tutti_loop *l, const char *name, double value,
                                   tutti_error *err)
{
    named_value *v = demand(&l->metrics, name, err);
    if (!v)
        return TUTTI_E_NOMEM;
    v->value = (tutti_loop_value){.type = TUTTI_LOOP_REAL, .real = value};
    return TUTTI_OK;
}

double tutti_loop_metric(const tutti_loop *l, const char *name)
{
    const named_value *v = find(l->metrics, name);
    return v ? v->value.real : NAN;
}

tutti_status tutti_loop_save_attribute(tutti_loop *l, const char *name, tutti_error *err)
{
    named_value *v = demand(&l->attributes, name, err);
    if (!v)
        return TUTTI_E_NOMEM;
    v->saved = true;
    return TUTTI_OK;
}
