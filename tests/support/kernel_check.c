/* kernel_check.c - a manifest's kernels and the functions behind them, as tutti.kernel/1. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_check.h"
#include "base/json.h"
#include "plugin/call/call.h"
#include "tutti_check.h"

#include <dlfcn.h>
#include <stdio.h>

enum { MAX_KERNELS = 32 };

typedef struct declared {
    char name[64];
    uint32_t nargs;
    void *call;
    void *function;
} declared;

static struct {
    tutti_kernel_v1 table;
    declared list[MAX_KERNELS];
    uint32_t count;
} all;

static tutti_status find(void *ctx, const char *name, uint32_t *ret_kernel, tutti_error *err)
{
    for (uint32_t k = 0; k < all.count; k++)
        if (strcmp(all.list[k].name, name) == 0) {
            *ret_kernel = k;
            return TUTTI_OK;
        }
    return tutti_fail(err, TUTTI_E_NOTFOUND, "the manifest declares no kernel %s", name);
}

static tutti_status launch(void *ctx, uint32_t kernel, void *const *args, uint32_t nargs,
                           tutti_error *err)
{
    ck_assert_uint_lt(kernel, all.count);
    ck_assert_uint_eq(nargs, all.list[kernel].nargs);
    call_run(all.list[kernel].call, all.list[kernel].function, args);
    return TUTTI_OK;
}

static void declare(void *library, const json_node *node)
{
    const char *types[CALL_MAX_ARGS];
    tutti_error err = TUTTI_ERROR_INIT;
    declared *d = &all.list[all.count];
    const json_node *args = json_get(node, "args");
    const char *symbol = json_string(json_get(json_get(node, "cpu"), "symbol"));
    (void)snprintf(d->name, sizeof d->name, "%s", json_string(json_get(node, "name")));
    d->nargs = (uint32_t)json_count(args);
    for (uint32_t a = 0; a < d->nargs; a++)
        types[a] = json_string(json_at(json_at(args, a), 1));
    ck_assert_ok(call_prepare(types, d->nargs, &d->call, &err), err);
    d->function = dlsym(library, symbol);
    ck_assert_msg(d->function, "%s", dlerror());
    all.count++;
}

const tutti_kernel_v1 *kernel_check_open(const char *library, const char *manifest)
{
    tutti_error err = TUTTI_ERROR_INIT;
    json_doc *doc = NULL;
    if (all.count)
        return &all.table;
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(handle, "%s", dlerror());
    ck_assert_ok(json_read(manifest, 1 << 20, &doc, &err), err);
    const json_node *kernels = json_get(json_root(doc), "kernels");
    for (size_t k = 0; k < json_count(kernels); k++)
        declare(handle, json_at(kernels, k));
    json_free(doc);
    all.table =
        (tutti_kernel_v1){.struct_size = sizeof all.table, .find = find, .launch = launch};
    return &all.table;
}
