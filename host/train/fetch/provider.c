/* provider.c - among the run's objects, else among all plugins: an object with the tag "scheme:..." of an address. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/fetch/provider.h"

#include "base/faults.h"

#include <stdio.h>
#include <string.h>

enum { TAG_SIZE = 64 };

static bool has_tag(const object *o, const char *tag)
{
    const char *const *tags = object_describe(o)->tags;
    for (; tags && *tags; tags++)
        if (strcmp(*tags, tag) == 0)
            return true;
    return false;
}

static const tutti_files_v1 *files_of(instance *i)
{
    const tutti_files_v1 *files = instance_query(i, TUTTI_FILES_V1);
    return files && TUTTI_HAS(files, tutti_files_v1, download) && files->download ? files
                                                                                  : NULL;
}

static const object *find_object(registry *r, const char *tag)
{
    for (size_t k = 0; k < registry_plugin_count(r); k++) {
        plugin_info p;
        registry_plugin(r, k, &p);
        for (size_t n = 0; !p.fault && n < p.nobjects; n++)
            if (has_tag(p.objects[n], tag))
                return p.objects[n];
    }
    return NULL;
}

/* It is no part of a run, which has services. */
static const void *no_service(void *ctx, instance *i, const char *interface_id)
{
    (void)ctx, (void)i, (void)interface_id;
    return NULL;
}

/* With the settings that it has without any. */
static tutti_status open_alone(const object *o, provider *ret, tutti_error *err)
{
    const char *name = object_describe(o)->name;
    faults *f = faults_create();
    tutti_params *params = f ? params_from_json(o, NULL, NULL, "/", f) : NULL;
    tutti_status s = params
                         ? instance_open(o, name, params, no_service, NULL, &ret->instance, err)
                         : tutti_fail(err, TUTTI_E_ARG, "%s: %s", name,
                                      f && faults_count(f) ? faults_text(f, 0) : "no memory");
    if (s)
        params_free(params);
    ret->owned = !s;
    faults_destroy(f);
    return s;
}

tutti_status provider_open(const fetch_source *from, const char *address, provider *ret,
                           tutti_error *err)
{
    char tag[TAG_SIZE];
    const int scheme = (int)(strstr(address, "://") - address);
    (void)snprintf(tag, sizeof tag, "scheme:%.*s", scheme, address);
    *ret = (provider){.instance = NULL};
    for (size_t k = 0; k < from->ninstances && !ret->files; k++) {
        ret->instance = from->instances[k];
        if (has_tag(instance_object(ret->instance), tag))
            ret->files = files_of(ret->instance);
    }
    if (ret->files)
        return TUTTI_OK;
    const object *o = find_object(from->registry, tag);
    if (!o)
        return tutti_fail(err, TUTTI_E_NOTFOUND,
                          "%.400s: no plugin here fetches addresses of %.*s", address, scheme,
                          address);
    const tutti_status s = open_alone(o, ret, err);
    if (s)
        return s;
    ret->files = files_of(ret->instance);
    if (ret->files)
        return TUTTI_OK;
    provider_close(ret);
    return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                      "%.400s: %s has the tag %s and does not provide %s with download",
                      address, object_describe(o)->name, tag, TUTTI_FILES_V1);
}

void provider_close(provider *p)
{
    if (p->owned)
        instance_free(p->instance);
    *p = (provider){.instance = NULL};
}
