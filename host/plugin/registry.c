/* registry.c - all plugins together: selection, duplicates, finding. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/counts.h"
#include "base/env.h"
#include "base/text.h"
#include "plugin/registry_internal.h"
#include "plugin/when.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

void registry_destroy(registry *r)
{
    if (!r)
        return;
    for (size_t k = 0; k < r->count; k++)
        plugin_free(r->plugins[k]);
    free(r->plugins);
    free(r->custom_events);
    authority_fini(&r->authority);
    free(r->untrusted.data);
    search_free(r->places, r->nplaces);
    free(r);
}

/* Whether one of the globs, with commas between them, fits. */
static bool fits(const char *globs, const char *id)
{
    char glob[256];
    while (*globs) {
        const size_t size = strcspn(globs, ",");
        if (size && size < sizeof glob) {
            memcpy(glob, globs, size);
            glob[size] = '\0';
            if (fnmatch(glob, id, 0) == 0)
                return true;
        }
        globs += size + (globs[size] == ',');
    }
    return false;
}

static void select_plugins(registry *r)
{
    const char *ignored[2];
    const char *disable = env_get(ENV_DISABLE, &ignored[0]);
    const char *only = env_get(ENV_SELECT, &ignored[1]);
    for (int k = 0; k < 2; k++)
        if (ignored[k])
            registry_report(r, TUTTI_LOG_WARNING, "%s is ignored in a set-uid program",
                            ignored[k]);
    for (size_t k = 0; k < r->count; k++) {
        plugin *p = r->plugins[k];
        if (p->verdict.fault || !p->id)
            continue;
        if (disable && fits(disable, p->id))
            plugin_fault(p, TUTTI_LOG_INFO, TUTTI_E_STATE, "disabled by TUTTI_DISABLE");
        else if (only && !fits(only, p->id))
            plugin_fault(p, TUTTI_LOG_INFO, TUTTI_E_STATE, "not selected by TUTTI_SELECT");
    }
}

static bool same_id(const plugin *a, const plugin *b)
{
    return a != b && !a->verdict.fault && a->id && b->id && strcmp(a->id, b->id) == 0;
}

static void judge_twice_in_one_folder(registry *r)
{
    bool *twice = calloc(r->count + 1, sizeof *twice);
    r->lacks_memory = r->lacks_memory || !twice;
    for (size_t k = 0; twice && k < r->count; k++)
        for (size_t m = 0; m < r->count; m++)
            if (!r->plugins[k]->verdict.fault && same_id(r->plugins[m], r->plugins[k]) &&
                r->plugins[m]->place == r->plugins[k]->place)
                twice[k] = true;
    for (size_t k = 0; twice && k < r->count; k++) {
        text_buffer b = {0};
        if (!twice[k])
            continue;
        text_add(&b, "%s: plugin %s is twice in one folder, also in", r->plugins[k]->manifest,
                 r->plugins[k]->id);
        for (size_t m = 0; m < r->count; m++)
            if (m != k && twice[m] && strcmp(r->plugins[m]->id, r->plugins[k]->id) == 0 &&
                r->plugins[m]->place == r->plugins[k]->place)
                text_add(&b, " %s", r->plugins[m]->manifest);
        plugin_fault(r->plugins[k], TUTTI_LOG_ERROR, TUTTI_E_EXISTS,
                     b.data ? b.data : "out of memory");
        free(b.data);
    }
    free(twice);
}

/* Of plugins with one id in several folders the first in search order is used. */
static void judge_shadowed(registry *r)
{
    for (size_t k = 0; k < r->count; k++) {
        plugin *p = r->plugins[k];
        for (size_t m = 0; m < k && !p->verdict.fault; m++) {
            const plugin *first = r->plugins[m];
            text_buffer b = {0};
            if (!same_id(first, p))
                continue;
            text_add(&b, "%s: plugin %s %s is hidden by version %s, which comes first, in %s",
                     p->manifest, p->id, p->version, first->version, first->manifest);
            p->verdict.shadowed = 1;
            plugin_fault(p, TUTTI_LOG_WARNING, TUTTI_E_EXISTS,
                         b.data ? b.data : "out of memory");
            free(b.data);
        }
    }
}

/* Whether `p` was refused, not left out by a choice. */
static bool is_refused(const plugin *p)
{
    return p->verdict.fault && !p->verdict.shadowed && p->verdict.status != TUTTI_E_STATE;
}

/* A plugin that was refused is not silently another copy of the same id. */
static void judge_replaced(registry *r)
{
    for (size_t k = 0; k < r->count; k++) {
        plugin *p = r->plugins[k];
        for (size_t m = 0; m < k && !p->verdict.fault; m++) {
            const plugin *first = r->plugins[m];
            text_buffer b = {0};
            if (!is_refused(first) || !first->id || !p->id || strcmp(first->id, p->id) != 0 ||
                first->place == p->place)
                continue;
            text_add(
                &b,
                "%s: plugin %s %s would stand in for %s, which comes first and was refused; "
                "mend or remove that one",
                p->manifest, p->id, p->version, first->manifest);
            p->verdict.shadowed = 1;
            plugin_fault(p, TUTTI_LOG_WARNING, TUTTI_E_EXISTS,
                         b.data ? b.data : "out of memory");
            free(b.data);
        }
    }
}

static custom_event *custom_find(const registry *r, const char *name)
{
    for (size_t k = 0; k < r->ncustom; k++)
        if (strcasecmp(r->custom_events[k].name, name) == 0)
            return &r->custom_events[k];
    return NULL;
}

/* Plugins may share an event, but then they agree on what counts it. */
static void take_event(registry *r, plugin *p, const json_node *node)
{
    custom_event e;
    char text[512];
    e.name = manifest_event(node, &e.attribute);
    custom_event *known = custom_find(r, e.name);
    if (!known && r->ncustom == MAX_CUSTOM_EVENTS) {
        (void)snprintf(text, sizeof text, "%s:%d: %s: all plugins together have over %d events",
                       p->manifest, json_line(node), json_path(node), MAX_CUSTOM_EVENTS);
        plugin_fault(p, TUTTI_LOG_WARNING, TUTTI_E_RANGE, text);
    } else if (!known) {
        r->custom_events[r->ncustom++] = e;
    } else if (e.attribute && known->attribute && strcmp(e.attribute, known->attribute) != 0) {
        (void)snprintf(text, sizeof text,
                       "%s:%d: %s: another plugin counts %s with the attribute %s, not %s",
                       p->manifest, json_line(node), json_path(node), e.name, known->attribute,
                       e.attribute);
        plugin_fault(p, TUTTI_LOG_WARNING, TUTTI_E_EXISTS, text);
    } else if (e.attribute) {
        known->attribute = e.attribute;
    }
}

size_t registry_events(const registry *r, const custom_event **ret_events)
{
    *ret_events = r->custom_events;
    return r->ncustom;
}

int32_t registry_event(const registry *r, const char *name)
{
    const int32_t number = event_number(name);
    const custom_event *own = number < 0 ? custom_find(r, name) : NULL;
    return own ? TUTTI_EVENT_CUSTOM + (int32_t)(own - r->custom_events) : number;
}

static tutti_status number_custom_events(registry *r, tutti_error *err)
{
    size_t count = 0;
    for (size_t k = 0; k < r->count; k++)
        count +=
            r->plugins[k]->declared.events ? json_count(r->plugins[k]->declared.events) : 0;
    r->custom_events = calloc(count + 1, sizeof *r->custom_events);
    if (!r->custom_events)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the plugins' events");
    for (size_t k = 0; k < r->count; k++) {
        plugin *p = r->plugins[k];
        for (size_t m = 0;
             !p->verdict.fault && p->declared.events && m < json_count(p->declared.events); m++)
            take_event(r, p, json_at(p->declared.events, m));
    }
    return TUTTI_OK;
}

suggestion registry_suggest_event(const registry *r, const char *name)
{
    const char *names[COMPOSER_EVENT_END + IGNITE_EVENT_END - TUTTI_IGNITE_FIRST +
                      MAX_CUSTOM_EVENTS + 1] = {
#define TUTTI_X(constant, value, canonical, side) value,
        TUTTI_COMPOSER_EVENTS(TUTTI_X)
#undef TUTTI_X
#define TUTTI_X(constant, value, code) value,
            TUTTI_IGNITE_EVENTS(TUTTI_X)
#undef TUTTI_X
    };
    size_t n = 0;
    while (names[n])
        n++;
    for (size_t k = 0; k < r->ncustom; k++)
        names[n + k] = r->custom_events[k].name;
    return suggest_word(name, names);
}

static bool must_understand(const plugin *p, const char *word)
{
    const json_node *list = json_get(json_root(p->doc), "must_understand");
    for (size_t k = 0; k < json_count(list); k++)
        if (json_string(json_at(list, k)) && strcmp(json_string(json_at(list, k)), word) == 0)
            return true;
    return false;
}

static void resolve_events(registry *r, object *o)
{
    plugin *p = o->plugin;
    for (size_t k = 0; o->event_ids && o->events && k < json_count(o->event_names); k++) {
        const json_node *node = json_at(o->event_names, k);
        bool optional;
        const char *name = manifest_heard(node, &optional);
        const int32_t number = registry_event(r, name);
        if (number < 0 && optional)
            continue;
        if (number < 0 && p->declared.newer && !must_understand(p, name)) {
            registry_report(r, TUTTI_LOG_WARNING,
                            "%s:%d: %s: \"%s\" is no event (its format is newer than this "
                            "host's 1.%d)",
                            p->manifest, json_line(node), json_path(node), name,
                            MANIFEST_MINOR);
            continue;
        }
        if (number < 0) {
            char text[512];
            (void)snprintf(text, sizeof text, "%s:%d: %s: \"%s\" is no event%s", p->manifest,
                           json_line(node), json_path(node), name,
                           registry_suggest_event(r, name).text);
            plugin_fault(p, TUTTI_LOG_WARNING, TUTTI_E_FORMAT, text);
            return;
        }
        o->events[o->info.nevents] = node;
        o->event_ids[o->info.nevents++] = number;
    }
    o->info.events = o->event_ids;
}

static void find_program(registry *r, const char *program)
{
    char exe[PATH_MAX];
    if (program) {
        program_owners_of(program, &r->program);
        return;
    }
    const ssize_t size = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (size <= 0)
        return;
    exe[size] = '\0';
    program_owners_of(exe, &r->program);
}

tutti_status registry_create(const registry_options *options, registry **ret_registry,
                             tutti_error *err)
{
    tutti_status status = TUTTI_OK;
    registry *r = calloc(1, sizeof *r);
    if (!r)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the registry of plugins");
    r->check = options->check;
    r->report = options->report;
    r->report_ctx = options->report_ctx;
    status = authority_read(r, options, err);
    if (status)
        goto fail;
    find_program(r, options->program);
    r->searching = true;
    status = search_places(r, options->plugin_paths, err);
    for (size_t k = 0; k < r->nplaces && !status; k++)
        status = search_folder(r, k, err);
    registry_searched(r);
    if (!status)
        status = number_custom_events(r, err);
    if (status)
        goto fail;
    for (size_t k = 0; k < r->count; k++)
        for (size_t m = 0; !r->plugins[k]->verdict.fault && m < r->plugins[k]->nobjects; m++)
            resolve_events(r, &r->plugins[k]->objects[m]);
    select_plugins(r);
    judge_twice_in_one_folder(r);
    judge_replaced(r);
    judge_shadowed(r);
    if (r->lacks_memory || r->untrusted.failed) {
        status = tutti_fail(err, TUTTI_E_NOMEM, "no memory to judge all plugins");
        goto fail;
    }
    *ret_registry = r;
    return TUTTI_OK;

fail:
    registry_destroy(r);
    return status;
}

const char *registry_place(const registry *r, size_t k, int *ret_state, size_t *ret_plugins)
{
    if (k >= r->nplaces)
        return NULL;
    *ret_state = r->places[k].state;
    *ret_plugins = 0;
    for (size_t m = 0; m < r->count; m++)
        *ret_plugins += r->plugins[m]->place == k && !r->plugins[m]->verdict.fault;
    return r->places[k].path;
}

int registry_changes(const registry *r)
{
    return atomic_load(&r->changes);
}

size_t registry_plugin_count(const registry *r)
{
    return r->count;
}

void registry_watch(registry *r, const registry_probe *probe)
{
    r->probe = probe;
    r->check = true;
    r->report = probe->report;
    r->report_ctx = probe->ctx;
}

void registry_look(registry *r, bool on)
{
    r->check = on;
}

const tutti_plugin *registry_entry(const registry *r, size_t k, uint32_t host_abi)
{
    return module_entry(r->plugins[k]->module, host_abi);
}

const json_node *registry_requires(const registry *r, size_t k)
{
    return r->plugins[k]->declared.requires_;
}

bool registry_declares(const registry *r, const char *id, const char *name)
{
    for (size_t k = 0; k < r->count; k++) {
        const plugin *p = r->plugins[k];
        if (p->verdict.fault || strcmp(p->id, id) != 0)
            continue;
        for (size_t m = 0; m < json_count(p->declared.events); m++) {
            const char *attribute;
            const char *event = manifest_event(json_at(p->declared.events, m), &attribute);
            if (event && strcasecmp(event, name) == 0)
                return true;
        }
    }
    return false;
}

void registry_plugin(const registry *r, size_t k, plugin_info *ret_info)
{
    const plugin *p = r->plugins[k];
    *ret_info = (plugin_info){.id = p->id ? p->id : "?",
                              .version = p->version ? p->version : "?",
                              .folder = p->folder,
                              .manifest = p->manifest,
                              .library = p->declared.soname ? NULL : p->library,
                              .license = p->declared.license ? p->declared.license : "?",
                              .fault = p->verdict.fault,
                              .stage = p->verdict.stage,
                              .loaded = p->module != NULL,
                              .nobjects = p->verdict.fault ? 0 : p->nobjects,
                              .objects = p->object_list};
}

tutti_status registry_check(registry *r, size_t k, tutti_error *err)
{
    return registry_load(r->plugins[k], err);
}

const object_info *object_describe(const object *o)
{
    return &o->info;
}

bool object_when(const object *o, size_t k, char **ret_when)
{
    if (k >= o->info.nevents || !json_get(o->events[k], "when"))
        return false;
    if (ret_when)
        *ret_when = when_text(o->events[k]);
    return true;
}
