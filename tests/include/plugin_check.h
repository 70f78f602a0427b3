/* plugin_check.h - a plugin under test, met as the host meets it: dlopen, entry function, tables. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_CHECK_H
#define PLUGIN_CHECK_H

#include "settings_check.h"
#include "tutti/tutti.h"
#include "tutti_check.h"

#include <dlfcn.h>

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
                                        const char *name, const test_settings *g,
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
