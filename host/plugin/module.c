/* module.c - loading a plugin's library and holding it to its manifest. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/released.h"
#include "plugin/call/call.h"
#include "plugin/image.h"
#include "plugin/registry_internal.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

struct module {
    image *image;
    const tutti_plugin *(*entry)(uint32_t host_abi);
    const tutti_plugin *table;
};

const tutti_plugin *module_entry(const module *m, uint32_t host_abi)
{
    return m->entry ? m->entry(host_abi) : NULL;
}

void module_free(module *m)
{
    free(m);
}

static tutti_status check_text(const plugin *p, const char *what, const char *got,
                               const char *want, tutti_error *err)
{
    if (got && strcmp(got, want) == 0)
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_FORMAT, "%s: its %s is \"%s\", its manifest says \"%s\"",
                      p->library, what, got ? got : "", want);
}

static tutti_status check_table(const plugin *p, const tutti_plugin *t, tutti_error *err)
{
    if (!t)
        return tutti_fail(err, TUTTI_E_VERSION, "%s: its entry has nothing for host ABI %u.%u",
                          p->library, TUTTI_ABI >> 16, TUTTI_ABI & 0xffff);
    if (t->magic != TUTTI_MAGIC)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: its entry has magic 0x%08x, want 0x%08x",
                          p->library, t->magic, TUTTI_MAGIC);
    if (t->struct_size < RELEASED(tutti_plugin))
        return tutti_fail(err, TUTTI_E_VERSION,
                          "%s: its tutti_plugin has %u bytes, want at least %u", p->library,
                          t->struct_size, RELEASED(tutti_plugin));
    if (t->abi_min != p->declared.abi_min)
        return tutti_fail(err, TUTTI_E_VERSION,
                          "%s: needs host ABI %u.%u, its manifest says %u.%u (abi.min)",
                          p->library, t->abi_min >> 16, t->abi_min & 0xffff,
                          p->declared.abi_min >> 16, p->declared.abi_min & 0xffff);
    if (t->abi_built < t->abi_min)
        return tutti_fail(err, TUTTI_E_VERSION,
                          "%s: was built for host ABI %u.%u, less than the %u.%u that it needs",
                          p->library, t->abi_built >> 16, t->abi_built & 0xffff,
                          t->abi_min >> 16, t->abi_min & 0xffff);
    const tutti_status status = check_text(p, "id", t->id, p->id, err);
    return status ? status : check_text(p, "version", t->version, p->version, err);
}

/* Kinds that hear events need calls for them; the others answer query. */
static const char *missing_call(const object *o, const tutti_calls *c)
{
    const char *kind = o->info.kind;
    if (!c->open)
        return "open";
    if (!c->close)
        return "close";
    if (strcmp(kind, TUTTI_KIND_ALGORITHM) == 0)
        return !c->match ? "match" : !c->apply ? "apply" : NULL;
    if (strcmp(kind, TUTTI_KIND_CALLBACK) == 0 || strcmp(kind, TUTTI_KIND_LOGGER) == 0)
        return c->run_event || (!o->event_names && c->query) ? NULL : "run_event";
    if (strcmp(kind, TUTTI_KIND_PASS) == 0 && c->match && c->apply)
        return NULL;
    return c->query ? NULL : "query";
}

static tutti_status take_object(object *o, const tutti_object *t, tutti_error *err)
{
    const plugin *p = o->plugin;
    if (!t->calls || t->calls->struct_size < RELEASED(tutti_calls))
        return tutti_fail(err, TUTTI_E_VERSION,
                          "%s: the calls of %s have %u bytes, want at least %u", p->library,
                          o->info.name, t->calls ? t->calls->struct_size : 0,
                          RELEASED(tutti_calls));
    if (t->reserved || t->calls->reserved)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: the %s of %s has a reserved member that is not 0", p->library,
                          t->reserved ? "tutti_object" : "tutti_calls", o->info.name);
    const size_t size =
        t->calls->struct_size < sizeof o->calls ? t->calls->struct_size : sizeof o->calls;
    memset(&o->calls, 0, sizeof o->calls);
    memcpy(&o->calls, t->calls, size);
    o->calls.struct_size = (uint32_t)size;
    o->check = TUTTI_HAS(t, tutti_object, check) ? t->check : NULL;
    const char *missing = missing_call(o, &o->calls);
    if (missing)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: %s of kind %s has no %s", p->library,
                          o->info.name, o->info.kind, missing);
    return TUTTI_OK;
}

static bool same_object(const object *o, const tutti_object *t)
{
    return t->name && t->kind && strcmp(o->info.name, t->name) == 0 &&
           strcmp(o->info.kind, t->kind) == 0;
}

/* Whether the manifest has it under a kind that this host does not know. */
static bool is_later(const plugin *p, const tutti_object *t)
{
    for (size_t k = 0; k < p->declared.nlater; k++) {
        const char *name = json_string(json_get(p->declared.later[k], "name"));
        const char *kind = json_string(json_get(p->declared.later[k], "kind"));
        if (t->name && t->kind && name && kind && strcmp(name, t->name) == 0 &&
            strcmp(kind, t->kind) == 0)
            return true;
    }
    return false;
}

static tutti_status check_objects(plugin *p, const tutti_plugin *t, tutti_error *err)
{
    size_t count = 0;
    for (; t->objects && t->objects[count]; count++) {
        const tutti_object *one = t->objects[count];
        object *o = NULL;
        if (one->struct_size < RELEASED(tutti_object))
            return tutti_fail(err, TUTTI_E_VERSION,
                              "%s: its object %zu has %u bytes, want at least %u", p->library,
                              count, one->struct_size, RELEASED(tutti_object));
        for (size_t k = 0; k < p->nobjects && !o; k++)
            o = same_object(&p->objects[k], one) ? &p->objects[k] : NULL;
        if (!o && is_later(p, one))
            continue;
        if (!o)
            return tutti_fail(err, TUTTI_E_FORMAT,
                              "%s: has an object of kind %s called %s, which its manifest does "
                              "not have",
                              p->library, one->kind ? one->kind : "?",
                              one->name ? one->name : "?");
        const tutti_status status = take_object(o, one, err);
        if (status)
            return status;
    }
    for (size_t k = 0; k < p->nobjects; k++) {
        const object *o = &p->objects[k];
        if (!o->calls.open)
            return tutti_fail(err, TUTTI_E_FORMAT,
                              "%s: has no object of kind %s called %s, which its manifest has",
                              p->library, o->info.kind, o->info.name);
    }
    return TUTTI_OK;
}

/* Prepares calls of a handler, hidden arguments included. */
static tutti_status prepare_handler(kernel *k, tutti_error *err)
{
    static const ctype pointer = {.kind = CTYPE_OPAQUE},
                       count = {.word = "i64", .kind = CTYPE_NUMBER};
    const ctype *types[CALL_MAX_ARGS];
    uint32_t n = 0;
    if (k->engine)
        types[n++] = &pointer;
    if (k->filter)
        types[n++] = &count;
    for (uint32_t a = 0; a < k->nargs; a++)
        types[n++] = k->ctypes[a];
    if (strcmp(k->returns, "status") == 0)
        types[n++] = &pointer;
    return call_prepare_typed(types, n, k->result, &k->cif, err);
}

static tutti_status take_kernels(plugin *p, const image *i, tutti_error *err)
{
    for (size_t k = 0; k < p->nkernels; k++) {
        kernel *one = &p->kernels[k];
        one->function = image_symbol(i, one->symbol);
        if (!one->function)
            return tutti_fail(err, TUTTI_E_FORMAT, "%s: does not export \"%s\"", p->library,
                              one->symbol);
        const tutti_status status =
            one->handler ? prepare_handler(one, err)
                         : call_prepare(one->arg_types, one->nargs, &one->cif, err);
        if (status)
            return status;
    }
    return TUTTI_OK;
}

typedef struct loaded {
    const plugin *plugin;
    uintptr_t base;
} loaded;

/* Tells whose code the library's segments are. */
static int add_code(struct dl_phdr_info *info, size_t size, void *ctx)
{
    const loaded *l = ctx;
    for (int k = 0; info->dlpi_addr == l->base && k < info->dlpi_phnum; k++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[k];
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X))
            crash_add_code(l->plugin->id, l->base + p->p_vaddr,
                           l->base + p->p_vaddr + p->p_memsz);
    }
    return 0;
}

static void note_code(const plugin *p, const image *i)
{
    loaded l = {p, image_base(i)};
    (void)dl_iterate_phdr(add_code, &l);
}

static tutti_status open_library(const plugin *p, bytes *library, needs *n, module *m,
                                 tutti_error *err)
{
    if (p->declared.soname) /* whose code the host and others may run too */
        return image_load_system(p->declared.soname, &m->image, err);
    const tutti_status status = image_load(p->library, library, n, &m->image, err);
    if (status)
        return status;
    note_code(p, m->image);
    if (p->declared.foreign)
        return TUTTI_OK;
    void *symbol = image_symbol(m->image, ENTRY_SYMBOL);
    if (!symbol)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: does not export \"%s\"", p->library,
                          ENTRY_SYMBOL);
    memcpy(&m->entry, &symbol, sizeof m->entry);
    m->table = m->entry(TUTTI_ABI);
    return TUTTI_OK;
}

/* Constructors run inside image_load, and what the entry returns need not be a table. */
static tutti_status run_library(plugin *p, bytes *library, needs *n, module *m,
                                tutti_error *err)
{
    const breadcrumb outer = crash_breadcrumb;
    crash_breadcrumb = (breadcrumb){.plugin = p->id, .object = p->library, .call = "load"};
    process_state *before = check_begin(p);
    process_account account = {0};
    tutti_status status = open_library(p, library, n, m, err);
    check_end(p, before, &account);
    if (!status && !p->declared.foreign)
        status = check_table(p, m->table, err);
    if (!status && !p->declared.foreign)
        status = check_objects(p, m->table, err);
    crash_breadcrumb = outer;
    return status;
}

tutti_status module_load(plugin *p, tutti_error *err)
{
    if (p->module)
        return TUTTI_OK;
    module *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to load it", p->library);
    bytes library;
    needs n = {0};
    tutti_status status = library_take(p, &library, &n, err);
    if (!status)
        status = run_library(p, &library, &n, m, err);
    if (!status)
        status = take_kernels(p, m->image, err);
    bytes_free(&library);
    needs_fini(&n);
    if (status)
        module_free(m);
    else
        p->module = m;
    return status;
}
