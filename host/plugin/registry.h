/* registry.h - the plugins that this host knows: found, judged, loaded, opened. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_REGISTRY_H
#define HOST_PLUGIN_REGISTRY_H

#include "base/faults.h"
#include "base/nearest.h"
#include "plugin/call/ctype.h"
#include "plugin/crash/crash.h"
#include "tutti/tutti.h"

#include <stdbool.h>

typedef struct registry registry; /* opaque */
typedef struct object object;     /* one object of one plugin; borrowed from the registry */
typedef struct instance instance; /* one opened object */

enum { TRUST_OWNER, TRUST_PINNED, TRUST_NONE }; /* NONE: for sanitizer builds and tests only */

typedef struct registry_options {
    const char *const *plugin_paths; /* --plugin-path, in order; NULL-terminated; may be NULL */
    const char *lock_file;           /* for TRUST_PINNED */
    const char *
        program; /* the file, without links, beside whose folder plugins are; NULL: the executable */
    int trust;               /* TRUST_* */
    bool has_policies;       /* the system's and the user's policy.json are kept to */
    const char *policy_file; /* one more, with has_policies; may be NULL */
    bool check; /* look at the process around each call of a plugin: registry_changes */
    /* One line per thing that an operator should know (skipped plugin, ignored variable ...). */
    void (*report)(void *ctx, int level, const char *text); /* may be NULL */
    void *report_ctx;
} registry_options;

/* Reads the manifests of every plugin on the search path (plugin-path, TUTTI_ADD_PLUGIN_PATH,
 * TUTTI_PLUGIN_PATH, XDG data home, /etc/tutti/plugins.d, /usr/local/lib/tutti/plugins,
 * /usr/lib/tutti/plugins, beside the executable).  Nothing is loaded yet.  A bad plugin is reported
 * and kept with its fault, so that a run that names it can say why.  [control] */
TUTTI_NODISCARD tutti_status registry_create(const registry_options *options,
                                             registry **ret_registry, tutti_error *err);
/* The k-th folder of the search path; NULL past the last.  *ret_plugins of it can be used; what has been found
 * before is not counted again. */
enum { REGISTRY_ABSENT, REGISTRY_REFUSED, REGISTRY_READ };
const char *registry_place(const registry *r, size_t k, int *ret_state, size_t *ret_plugins);
/* Whether plugins were found and every one refused for its owners or modes; one sentence is reported then. */
bool registry_trusts_nothing(const registry *r);
void registry_destroy(registry *r); /* NULL is allowed; all instances must be closed */

/* How many changes of the process were found after calls of plugins, with options.check; each was
 * reported as an error.  [any] */
int registry_changes(const registry *r);

/* Whether the plugins of two objects say that they cannot be used together. */
bool registry_conflict(const object *a, const object *b);

/* The object `name` of `kind`.  `name` may be "id:name" or "id@version:name" to pick a plugin.
 * Of several objects with a bare name that of the project's own plugins (ids "org.tutti...") is meant; several
 * others are an error, E_ARG, that names them.  NOTFOUND names the nearest object of that kind, and the fault of a plugin that has one but could
 * not be used.  [control] */
TUTTI_NODISCARD tutti_status registry_find(registry *r, const char *kind, const char *name,
                                           const object **ret_object, tutti_error *err);

/* The id of the project's plugin whose object a bare name means instead of `o`, of another's plugin; NULL: none.
 * `o` goes by "id:name" then. */
const char *registry_hidden_by(const registry *r, const object *o);

/* Events that manifests declare; the k-th is number TUTTI_EVENT_CUSTOM + k. */
typedef struct custom_event {
    const char *name;
    const char *attribute; /* of the state, which counts it; NULL when it has none */
} custom_event;
enum { MAX_CUSTOM_EVENTS = 128 };
size_t registry_events(const registry *r, const custom_event **ret_events);
/* The number of an event, built in or of a manifest, in any case; -1 when there is none. */
int32_t registry_event(const registry *r, const char *name);
/* The event that such a name was meant for, for messages. */
suggestion registry_suggest_event(const registry *r, const char *name);

/* A typed function that a manifest lists under "handlers".  Borrowed from the registry. */
typedef struct handler handler;
typedef struct handler_info {
    const char *name; /* "note" */
    const char *doc;  /* or NULL */
    const char *plugin_id;
    const char *manifest;
    const char *const *arg_names; /* nargs each */
    const char *const *arg_types;
    uint32_t nargs;
    bool engine; /* its first argument is the engine */
    bool filter; /* it answers whether others are called */
    const char
        *returns; /* "status", with a tutti_error * as last argument; or as in engine.h */
    const ctype *const *ctypes; /* of the arguments */
    const ctype *result;
    const char *value_path; /* of "value", or NULL */
    const ctype_place
        *value; /* the number that it gives, where that is not its result; or NULL */
    const json_node *requires_; /* interface ids that its plugin needs, or NULL */
} handler_info;
/* `name` is "plugin.function" with the plugin's id or the end of one ("demo.note" of org.tutti.demo),
 * or the function alone where one plugin has it.  Errors: E_NOTFOUND with the nearest; E_EXISTS with
 * those that have it.  [control] */
TUTTI_NODISCARD tutti_status registry_find_handler(registry *r, const char *name,
                                                   const handler **ret_handler,
                                                   tutti_error *err);
void handler_describe(const handler *h, handler_info *ret_info);
/* Loads its plugin.  [control] */
TUTTI_NODISCARD tutti_status handler_load(const handler *h, tutti_error *err);
/* Calls it: args[k] points to the storage of declared argument k; `count` counts for a filter only.
 * *ret_result, of CALL_RESULT_BYTES, is the function's, as C stores it.  After handler_load.  [step] */
void handler_call(const handler *h, const void *engine, int64_t count, void *const *args,
                  void *ret_result, tutti_error *err);

/* For listing: plugins in search order, each with its verdict. */
size_t registry_plugin_count(const registry *r);
enum { STAGE_MANIFEST, STAGE_FILES, STAGE_EXPORTS, STAGE_DEVICE_CODE, STAGE_LOAD };
typedef struct plugin_info {
    const char *id;      /* "?" when the manifest could not be read */
    const char *version; /* "?" likewise */
    const char *folder;
    const char *manifest; /* path */
    const char *library;  /* path; NULL when it has none that may be loaded, or the system's */
    const char *license;
    const char *fault; /* NULL when usable, else the whole sentence */
    int stage;         /* STAGE_*: what the fault is about; STAGE_LOAD when there is none */
    bool loaded;       /* its code is in use */
    size_t nobjects;
    const object *const *objects;
} plugin_info;
void registry_plugin(const registry *r, size_t k, plugin_info *ret_info);
/* The n-th handler of the k-th plugin; NULL past the last, and where the plugin is not usable. */
const handler *registry_handler(const registry *r, size_t k, size_t n);

/* Loads the k-th plugin, so that the code is held to all that its manifest says; opens nothing.
 * What is wrong becomes the plugin's fault.  [control] */
TUTTI_NODISCARD tutti_status registry_check(registry *r, size_t k, tutti_error *err);

/* What the entry function of the k-th plugin, which is loaded, answers to a host of that ABI; NULL: nothing, as
 * of a foreign library, which has none. */
const tutti_plugin *registry_entry(const registry *r, size_t k, uint32_t host_abi);
/* Interface ids without which the k-th plugin does not open, or NULL. */
const json_node *registry_requires(const registry *r, size_t k);
/* Whether the manifest of plugin `id` declares the event `name` as its own. */
bool registry_declares(const registry *r, const char *id, const char *name);

/* Somebody who looks on.  `call` comes before each call of a plugin that is enclosed by instance_enter, those
 * of participants among them; crash_breadcrumb says which event it is.  `service` may put a table of its own in
 * the place of `table`, which the host would give; NULL: leaves all as they are.  [any] */
typedef struct registry_probe {
    void *ctx;
    const char *plugin; /* id: only its calls are enclosed by looks at the process */
    void (*call)(void *ctx, const instance *i, const char *call);
    const void *(*service)(void *ctx, instance *i, const char *interface_id, const void *table);
    /* Takes what options.report would. */
    void (*report)(void *ctx, int level, const char *text);
} registry_probe;
/* From now on, with looks at the process as by options.check; `probe` outlives the registry, and nothing is open
 * yet.  [control] */
void registry_watch(registry *r, const registry_probe *probe);
/* Whether calls are still enclosed by looks at the process, which are slow. */
void registry_look(registry *r, bool on);
/* Interface ids that this host asks objects for; NULL-terminated. */
const char *const *tables_consumed(void);

/* The n-th file of device code of the k-th plugin, a path; NULL past the last. */
const char *registry_code(const registry *r, size_t k, size_t n);

/* The n-th file of the k-th plugin, a path: manifest, library, device code, libraries that it brings along; NULL
 * past the last. */
const char *registry_file(const registry *r, size_t k, size_t n);
/* Policies, keys, the loader's environment, then a line a plugin; the caller frees it.  NULL: no memory. */
char *registry_trust(registry *r);
/* SHA-256 of a plugin's file as the lock file of pinned trust has it.  Errors: E_ARG for a path with a line break;
 * E_IO. */
enum { REGISTRY_HEX_SIZE = 65 };
TUTTI_NODISCARD tutti_status registry_sha256(const char *path, char *hex, tutti_error *err);

/* What the manifest says of an object.  All borrowed from the registry. */
typedef struct object_info {
    const char *name;
    const char *kind;
    const char *doc;
    const char *plugin_id;
    const char *plugin_version;
    const char *manifest;  /* path */
    const int32_t *events; /* ids subscribed to */
    size_t nevents;
    const char *const *tags;   /* NULL-terminated */
    const char *const *traits; /* NULL-terminated: find_unused_parameters, interpolate_loss,
                                  backwards_create_graph, required_on_load, wraps_optimizer */
    const json_node *order;    /* the "order" object of the manifest, or NULL */
    const json_node *params;   /* the "params" object, or NULL */
    int on_error;              /* ON_ERROR_* */
    int index;                 /* of a pass: its place among the passes; -1: the end */
} object_info;
enum { ON_ERROR_STOP, ON_ERROR_DISABLE, ON_ERROR_IGNORE };
const object_info *object_describe(const object *o);
/* Whether settings decide if it hears its k-th event; *ret_when (or NULL): in words, caller frees; NULL: no memory. */
bool object_when(const object *o, size_t k, char **ret_when);

#endif
