/* plugin_check.h - a plugin under test, met as the host meets it: dlopen, entry function, tables. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_CHECK_H
#define PLUGIN_CHECK_H

#include "tutti/tutti.h"
#include "tutti_check.h"

#include <dlfcn.h>

/* Settings built by hand, as the host would after checking them against the manifest:
 *
 *     given g;
 *     given_init(&g);
 *     given_float(&g, "lr", 0.1);
 *     given_time(&g, "t_max", 10, TUTTI_UNIT_EPOCH);
 *     given_dur(&g, "t_warmup", 0.25);
 *     const int64_t pads[] = {4, 4};
 *     given_ints(&g, "padding", pads, 2);
 *
 * Not copyable (it points into itself); texts are borrowed. */
#define GIVEN_ROOM 32
#define GIVEN_LIST_ROOM 64
typedef struct given {
    tutti_params params;
    const tutti_param *items[GIVEN_ROOM];
    tutti_param values[GIVEN_ROOM];
    const tutti_param *list_items[GIVEN_LIST_ROOM];
    tutti_param list_values[GIVEN_LIST_ROOM];
    uint32_t list_used;
} given;

static inline void given_init(given *g)
{
    memset(g, 0, sizeof *g);
    g->params.struct_size = (uint32_t)sizeof g->params;
    g->params.items = g->items;
}

/* The setting `name`, new or set before; its value starts over. */
static inline tutti_param *given_slot(given *g, const char *name, int32_t type)
{
    uint32_t k = 0;
    while (k < g->params.count && strcmp(g->values[k].name, name) != 0)
        k++;
    ck_assert_msg(k < GIVEN_ROOM, "more than %d settings", GIVEN_ROOM);
    if (k == g->params.count)
        g->params.count++;
    tutti_param *p = &g->values[k];
    memset(p, 0, sizeof *p);
    p->struct_size = (uint32_t)sizeof *p;
    p->type = type;
    p->name = name;
    g->items[k] = p;
    return p;
}

static inline void given_null(given *g, const char *name)
{
    (void)given_slot(g, name, TUTTI_PARAM_NULL);
}

static inline void given_bool(given *g, const char *name, int value)
{
    given_slot(g, name, TUTTI_PARAM_BOOL)->i = value ? 1 : 0;
}

static inline void given_int(given *g, const char *name, int64_t value)
{
    tutti_param *p = given_slot(g, name, TUTTI_PARAM_INT);
    p->i = value;
    p->f = (double)value;
}

static inline void given_float(given *g, const char *name, double value)
{
    tutti_param *p = given_slot(g, name, TUTTI_PARAM_FLOAT);
    p->f = value;
    if (value == floor(value) && fabs(value) < 9e15)
        p->i = (int64_t)value;
}

static inline void given_string(given *g, const char *name, const char *value)
{
    given_slot(g, name, TUTTI_PARAM_STRING)->s = value;
}

static inline void given_path(given *g, const char *name, const char *value)
{
    given_slot(g, name, TUTTI_PARAM_PATH)->s = value;
}

static inline void given_enum(given *g, const char *name, const char *value, int64_t index)
{
    tutti_param *p = given_slot(g, name, TUTTI_PARAM_ENUM);
    p->s = value;
    p->i = index;
}

static inline void given_time(given *g, const char *name, int64_t count, int32_t unit)
{
    tutti_param *p = given_slot(g, name, TUTTI_PARAM_TIME);
    p->t.count = count;
    p->t.unit = unit;
    p->s = ""; /* the host puts the text here */
}

/* A TIME in "dur": a fraction of the maximum duration. */
static inline void given_dur(given *g, const char *name, double fraction)
{
    tutti_param *p = given_slot(g, name, TUTTI_PARAM_TIME);
    p->t.fraction = fraction;
    p->t.unit = TUTTI_UNIT_DURATION;
    p->s = "";
}

/* An empty LIST of `n` items of `type`, whose values the caller fills in. */
static inline tutti_param *given_list(given *g, const char *name, int32_t type, uint32_t n)
{
    tutti_param *p = given_slot(g, name, TUTTI_PARAM_LIST);
    const uint32_t first = g->list_used;
    ck_assert_msg(first + n <= GIVEN_LIST_ROOM, "more than %d list items", GIVEN_LIST_ROOM);
    p->count = n;
    p->items = &g->list_items[first];
    for (uint32_t k = first; k < first + n; k++) {
        g->list_items[k] = &g->list_values[k];
        g->list_values[k].struct_size = (uint32_t)sizeof g->list_values[k];
        g->list_values[k].type = type;
    }
    g->list_used += n;
    return &g->list_values[first];
}

static inline void given_ints(given *g, const char *name, const int64_t *values, uint32_t n)
{
    tutti_param *items = given_list(g, name, TUTTI_PARAM_INT, n);
    for (uint32_t k = 0; k < n; k++) {
        items[k].i = values[k];
        items[k].f = (double)values[k];
    }
}

static inline void given_floats(given *g, const char *name, const double *values, uint32_t n)
{
    tutti_param *items = given_list(g, name, TUTTI_PARAM_FLOAT, n);
    for (uint32_t k = 0; k < n; k++)
        items[k].f = values[k];
}

static inline void given_strings(given *g, const char *name, const char *const *values,
                                 uint32_t n)
{
    tutti_param *items = given_list(g, name, TUTTI_PARAM_STRING, n);
    for (uint32_t k = 0; k < n; k++)
        items[k].s = values[k];
}

static inline void given_times(given *g, const char *name, const tutti_time *values, uint32_t n)
{
    tutti_param *items = given_list(g, name, TUTTI_PARAM_TIME, n);
    for (uint32_t k = 0; k < n; k++) {
        items[k].t = values[k];
        items[k].s = "";
    }
}

/* What a fake host answers to query; the last entry has id NULL.  A service has its own ctx. */
typedef struct service {
    const char *id; /* "tutti.state/1" */
    const void *table;
} service;

/* One opened object.  Not copyable: the plugin keeps the address of `host`. */
typedef struct subject {
    const tutti_object *object;
    const tutti_calls *calls;
    void *self;
    tutti_host host;
} subject;

static inline const void *fake_host_query(void *ctx, const char *interface_id)
{
    for (const service *s = (const service *)ctx; s && s->id; s++)
        if (strcmp(s->id, interface_id) == 0)
            return s->table;
    return NULL;
}

/* Loads the module at `path` as the host does and checks what its entry function says. */
static inline const tutti_plugin *plugin_load(const char *path)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    ck_assert_msg(lib != NULL, "%s", dlerror());
    const tutti_plugin *(*entry)(uint32_t host_abi) = NULL;
    *(void **)&entry = dlsym(lib, "tutti_plugin_v1");
    ck_assert_msg(entry != NULL, "%s", dlerror());
    const tutti_plugin *p = entry(TUTTI_ABI);
    ck_assert_msg(p != NULL, "%s: tutti_plugin_v1 returned NULL", path);
    ck_assert_uint_eq(p->magic, TUTTI_MAGIC);
    ck_assert_uint_eq(p->struct_size, sizeof *p);
    ck_assert_ptr_nonnull(p->objects);
    (void)dlclose(lib); /* NODELETE: the code stays */
    return p;
}

/* The object `name` of the plugin at `path`; it must be of `kind`. */
static inline const tutti_object *plugin_object(const char *path, const char *kind,
                                                const char *name)
{
    const tutti_plugin *p = plugin_load(path);
    for (const tutti_object *const *o = p->objects; *o; o++) {
        if (strcmp((*o)->name, name) != 0)
            continue;
        ck_assert_str_eq((*o)->kind, kind);
        ck_assert_ptr_nonnull((*o)->calls);
        ck_assert_ptr_nonnull((*o)->calls->open);
        ck_assert_ptr_nonnull((*o)->calls->close);
        return *o;
    }
    ck_abort_msg("%s has no object called %s", path, name);
    return NULL;
}

/* Opens object `name`; `services` may be NULL.  On failure s->self is NULL. */
static inline tutti_status subject_open(subject *s, const char *path, const char *kind,
                                        const char *name, const given *g,
                                        const service *services, tutti_error *err)
{
    memset(s, 0, sizeof *s);
    s->object = plugin_object(path, kind, name);
    s->calls = s->object->calls;
    s->host.struct_size = (uint32_t)sizeof s->host;
    s->host.abi = TUTTI_ABI;
    s->host.ctx = (void *)services;
    s->host.query = fake_host_query;
    tutti_status status = TUTTI_OK;
    if (TUTTI_HAS(s->object, tutti_object, check) && s->object->check)
        status = s->object->check(g ? &g->params : NULL, err);
    if (status == TUTTI_OK)
        status = s->calls->open(&s->host, g ? &g->params : NULL, &s->self, err);
    if (status != TUTTI_OK)
        ck_assert_msg(s->self == NULL, "%s: a failed open wrote *ret_self", name);
    return status;
}

/* The object's typed table; it must have one. */
static inline const void *subject_query(subject *s, const char *interface_id)
{
    ck_assert_ptr_nonnull(s->calls->query);
    const void *table = s->calls->query(s->self, interface_id);
    ck_assert_msg(table != NULL, "%s has no %s", s->object->name, interface_id);
    ck_assert_msg(s->calls->query(s->self, "tutti.nonsense/1") == NULL,
                  "%s answers to an interface that does not exist", s->object->name);
    return table;
}

/* close, then post_close where there is one.  Both must succeed. */
static inline void subject_close(subject *s)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(s->calls->close(s->self, &err), err);
    if (s->calls->post_close)
        ck_assert_ok(s->calls->post_close(s->self, &err), err);
    s->self = NULL;
}

/* Opens and expects to be refused with this whole sentence. */
#define ck_assert_open_refused(path, kind, name, given_, status_, text_)                       \
    do {                                                                                       \
        subject s_;                                                                            \
        tutti_error err_ = TUTTI_ERROR_INIT;                                                   \
        ck_assert_int_eq(subject_open(&s_, path, kind, name, given_, NULL, &err_), status_);   \
        ck_assert_error(err_, status_, text_);                                                 \
    } while (0)

#endif
