/* device_check.h - the backends that the tests run over: the CPU, and kinds of shadow. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_CHECK_H
#define DEVICE_CHECK_H

#include "device/backend.h"
#include "shadow.h"
#include "tutti_check.h"

#include <unistd.h>

static registry *plugins;

/* CPU, then the shadow with these settings. */
static const char *const device_kinds[] = {
    NULL, "{\"megabytes\": 16}", "{\"megabytes\": 16, \"own_relu\": true}",
    "{\"megabytes\": 16, \"unified\": true}",
    "{\"megabytes\": 16, \"adds\": true, \"masks\": true,"
    " \"groups\": true, \"loss_grads\": true}"};
enum { CPU, SHADOW, SHADOW_RELU, UNIFIED, PROMISING, NKINDS };

static inline const object *shadow_object(void)
{
    const char *const folders[] = {SHADOW_FOLDER, NULL};
    const registry_options options = {.plugin_paths = folders, .trust = TRUST_NONE};
    const object *o = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    if (!plugins)
        ck_assert_ok(registry_create(&options, &plugins, &err), err);
    ck_assert_ok(registry_find(plugins, TUTTI_KIND_DEVICE, "shadow", &o, &err), err);
    return o;
}

static inline tutti_params *shadow_params(const char *settings)
{
    faults *f = faults_create();
    json_doc *doc = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(json_parse("settings", settings, strlen(settings), &doc, &err), err);
    tutti_params *p = params_from_json(shadow_object(), json_root(doc), NULL, "/", f);
    ck_assert_ptr_nonnull(p);
    json_free(doc);
    faults_destroy(f);
    return p;
}

static inline backend open_kind(int kind)
{
    backend b;
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_params *params = kind == CPU ? NULL : shadow_params(device_kinds[kind]);
    ck_assert_ok(backend_open(kind == CPU ? NULL : shadow_object(), "shadow", &params, 0, NULL,
                              NULL, &b, &err),
                 err);
    return b;
}

/* What the shadow has done so far. */
static inline const shadow_counts *counts_of(const backend *b)
{
    return instance_query(b->instance, SHADOW_COUNTS);
}

/* Nothing that was opened or allocated is left. */
static inline void close_kind(backend *b)
{
    tutti_device_close(&b->device);
    if (b->instance) {
        ck_assert_uint_eq(counts_of(b)->devices, 0);
        ck_assert_uint_eq(counts_of(b)->blocks, 0);
    }
    backend_close(b);
}

/* Whether the host can read a byte there, by asking the kernel. */
static inline bool is_readable(const void *p)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    const bool readable = write(ends[1], p, 1) == 1;
    (void)close(ends[0]);
    (void)close(ends[1]);
    return readable;
}

#endif
