/* plugin_kernels.c - plugins' kernels on a device whose memory is out of the host's reach. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/update/plugin_kernels.h"

#include "graph/program/program.h"
#include "train/update/kernel_launch.h"

#include <stdlib.h>
#include <string.h>

static bool on_host(const instance_kernels *p)
{
    return p->viewed && !p->view.place;
}

static tutti_status find(void *ctx, const char *name, uint32_t *ret_kernel, tutti_error *err)
{
    instance_kernels *p = ctx;
    kernel_info k;
    uint32_t number = 0;
    tutti_status s = instance_find_kernel(p->instance, name, &number, err);
    if (!s && !on_host(p) && instance_kernel(p->instance, number, &k))
        s = p->launcher->find(p, number, &k, err);
    if (!s)
        *ret_kernel = number;
    return s;
}

/* Whether one of the arguments points at weights that there are copies of; the optimizer says itself what it writes. */
static bool gets_weights(const instance_kernels *p, const kernel_info *k, void *const *args)
{
    for (uint32_t a = 0; a < k->nargs; a++) {
        const float *at = NULL;
        if (strncmp(k->arg_types[a], "buf<", 4) != 0)
            continue;
        memcpy(&at, args[a], sizeof at);
        if (net_has_half(p->all->run->net, at))
            return strcmp(object_describe(instance_object(p->instance))->kind,
                          TUTTI_KIND_OPTIMIZER) != 0;
    }
    return false;
}

static tutti_status launch(void *ctx, uint32_t number, void *const *args, uint32_t nargs,
                           tutti_error *err)
{
    instance_kernels *p = ctx;
    kernel_info k;
    if (!instance_kernel(p->instance, number, &k))
        return tutti_fail(err, TUTTI_E_RANGE, "%s: there is no kernel %u",
                          instance_name(p->instance), number);
    if (nargs != k.nargs)
        return tutti_fail(err, TUTTI_E_ARG, "%s: kernel %s takes %u arguments, not %u",
                          k.plugin_id, k.name, k.nargs, nargs);
    if (on_host(p)) {
        instance_run_kernel(p->instance, number, args);
        return TUTTI_OK;
    }
    tutti_status s = mirrors_flush(p->all->mirrors, false, err);
    if (s || (s = scalars_apply_factor(p->all->scalars, err)))
        return s;
    mirrors_invalidate(p->all->mirrors, MIRROR_ALL);
    if (gets_weights(p, &k, args))
        net_touch_weights(p->all->run->net);
    return p->launcher->launch(p, number, &k, args, err);
}

/* Whether all kernels of the plugin run where the run is. */
static bool all_run(instance_kernels *p)
{
    kernel_info k;
    for (uint32_t n = 0; n < instance_kernel_count(p->instance); n++)
        if (instance_kernel(p->instance, n, &k) &&
            p->launcher->find(p, n, &k, NULL) == TUTTI_E_UNSUPPORTED)
            return false; /* what else is wrong is said by who finds it */
    return true;
}

static instance_kernels *entry_of(plugin_kernels *all, instance *i)
{
    instance_kernels *p = all->first;
    const bool remote = context_is_remote(all->run);
    while (p && p->instance != i)
        p = p->next;
    if (p)
        return p;
    p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    /* Device code goes to whichever backend has tutti.cuda/1, which is what launches it: no flag could say more. */
    *p = (instance_kernels){.next = all->first,
                            .all = all,
                            .launcher = program_runs_device_code(context_device(all->run))
                                            ? &kernel_launch_code
                                            : &kernel_launch_host,
                            .instance = i};
    p->table = (tutti_kernel_v1){
        .struct_size = sizeof p->table, .ctx = p, .find = find, .launch = launch};
    device_view_init(&p->view, all, remote && all_run(p) ? context_device(all->run) : NULL);
    all->first = p;
    return p;
}

bool kernels_run_there(plugin_kernels *p, instance *i)
{
    const instance_kernels *one = context_is_remote(p->run) ? entry_of(p, i) : NULL;
    return one && one->view.place;
}

const void *kernels_service(plugin_kernels *p, instance *i)
{
    instance_kernels *one = context_is_remote(p->run) ? entry_of(p, i) : NULL;
    return one ? &one->table : NULL;
}

const void *kernels_view(plugin_kernels *p, instance *i)
{
    instance_kernels *one = entry_of(p, i);
    if (!one)
        return NULL;
    one->viewed = true;
    return &one->view.table;
}

void kernels_fini(plugin_kernels *p)
{
    while (p->first) {
        instance_kernels *one = p->first;
        p->first = one->next;
        device_view_fini(&one->view);
        device_codes_free(one);
        free(one);
    }
}
