/* module.c - loading: the one file that knows dlopen. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/plugin_internal.h"

#include <dlfcn.h>
#include <string.h>

typedef const tutti_plugin *(*entry_fn)(uint32_t host_abi);

/* The code says the same as the manifest did. */
static tutti_status compare(bundle *b, const tutti_plugin *p, tutti_error *err)
{
    if (!p)
        return tutti_fail(err, TUTTI_E_VERSION, "%s: tutti_plugin_v1 returned NULL",
                          b->library);
    if (p->magic != TUTTI_MAGIC)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: its magic number is %08x, want %08x: it is no Tutti plugin",
                          b->library, p->magic, TUTTI_MAGIC);
    if (p->struct_size < sizeof(tutti_plugin))
        return tutti_fail(err, TUTTI_E_VERSION,
                          "%s: its description has %u bytes, want at least %zu", b->library,
                          p->struct_size, sizeof(tutti_plugin));
    if (p->abi_built != b->abi_built || p->abi_min != b->abi_min)
        return tutti_fail(err, TUTTI_E_VERSION,
                          "%s: was built for ABI %u.%u (at least %u.%u), its manifest says "
                          "%u.%u (at least %u.%u)",
                          b->library, p->abi_built >> 16, p->abi_built & 0xFFFFu,
                          p->abi_min >> 16, p->abi_min & 0xFFFFu, b->abi_built >> 16,
                          b->abi_built & 0xFFFFu, b->abi_min >> 16, b->abi_min & 0xFFFFu);
    if (!p->id || strcmp(p->id, b->id) != 0)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: calls itself %s, its manifest says %s",
                          b->library, p->id ? p->id : "nothing", b->id);
    if (!p->version || strcmp(p->version, b->version) != 0)
        return tutti_fail(err, TUTTI_E_VERSION, "%s: is version %s, its manifest says %s",
                          b->library, p->version ? p->version : "nothing", b->version);
    return TUTTI_OK;
}

static tutti_status take_objects(bundle *b, const tutti_plugin *p, tutti_error *err)
{
    size_t n = 0;
    for (; p->objects && p->objects[n]; n++) {
        const tutti_object *from = p->objects[n];
        object *to = NULL;
        for (size_t k = 0; k < b->nobjects; k++)
            if (strcmp(b->objects[k].info.name, from->name) == 0 &&
                strcmp(b->objects[k].info.kind, from->kind) == 0)
                to = &b->objects[k];
        if (!to)
            return tutti_fail(err, TUTTI_E_FORMAT,
                              "%s: has the %s %s, which its manifest does not declare",
                              b->library, from->kind, from->name);
        if (!from->calls || from->calls->struct_size < sizeof(tutti_calls) ||
            !from->calls->open || !from->calls->close)
            return tutti_fail(err, TUTTI_E_FORMAT, "%s: the %s %s has no open and close",
                              b->library, from->kind, from->name);
        to->calls = from->calls;
    }
    for (size_t k = 0; k < b->nobjects; k++)
        if (!b->objects[k].calls)
            return tutti_fail(err, TUTTI_E_FORMAT,
                              "%s: has no %s %s, which its manifest declares", b->library,
                              b->objects[k].info.kind, b->objects[k].info.name);
    return TUTTI_OK;
}

/* Code is never unmapped: a pointer into a plugin stays good to the end of the process. */
tutti_status module_load(bundle *b, tutti_error *err)
{
    if (b->handle)
        return TUTTI_OK;
    tutti_status s = elf_check(b->library, err);
    if (s)
        return s;
    const breadcrumb outer = crash_breadcrumb;
    crash_breadcrumb = (breadcrumb){b->id, "", "load", NULL, 0};
    void *handle = dlopen(b->library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) {
        const char *why = dlerror();
        crash_breadcrumb = outer;
        return tutti_fail(err, TUTTI_E_IO, "%s", why ? why : b->library);
    }
    entry_fn entry;
    void *symbol = dlsym(handle, "tutti_plugin_v1");
    memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from object to function */
    const tutti_plugin *p = entry ? entry(TUTTI_ABI) : NULL;
    crash_breadcrumb = outer;
    if (!entry)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: does not export the entry function tutti_plugin_v1", b->library);
    if ((s = compare(b, p, err)) || (s = take_objects(b, p, err)))
        return s;
    b->handle = handle;
    return TUTTI_OK;
}
