/* instance.h - settings of objects, opened objects, their calls and kernels. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_INSTANCE_H
#define HOST_PLUGIN_INSTANCE_H

#include "plugin/registry.h"

/* Settings for `o` out of a run file's object `given` (NULL: all defaults): members of `given` other
 * than the names in `skip` (NULL-terminated, may be NULL) are checked against the manifest: type,
 * range, unit, unknown names with the nearest known one.  Everything wrong goes to `f`.  Relative
 * PATHs are taken from `folder`.  Returns NULL when something was wrong or memory is out; the
 * caller frees the result with params_free.  [control] */
tutti_params *params_from_json(const object *o, const json_node *given, const char *const *skip,
                               const char *folder, faults *f);
/* The same from attributes in memory, for modules that plugins create. */
TUTTI_NODISCARD tutti_status params_from_attrs(const object *o,
                                               const void *attrs /* tutti_attr[] */,
                                               uint32_t nattrs, tutti_params **ret_params,
                                               tutti_error *err);
void params_free(tutti_params *p); /* NULL is allowed */
char *
params_text(const tutti_params *p); /* as a JSON object; the caller frees it; NULL: no memory */

/* What the plugin itself says against settings that its manifest allows; loads it if it is not loaded yet.
 * `name` is the instance's.  [control] */
TUTTI_NODISCARD tutti_status object_check(const object *o, const char *name,
                                          const tutti_params *params, tutti_error *err);

/* Loads the plugin if it is not loaded yet and opens an instance called `name`; it keeps `params`
 * (and frees them at close).  On failure the caller still owns `params`.  `services` answers the
 * plugin's queries; its ctx gets the instance through instance_host.  [control] */
typedef const void *(*service_fn)(void *ctx, instance *i, const char *interface_id);
TUTTI_NODISCARD tutti_status instance_open(const object *o, const char *name,
                                           tutti_params *params, service_fn services, void *ctx,
                                           instance **ret_instance, tutti_error *err);
/* The two halves of the end; each at most once.  Errors carry the plugin's sentence. */
tutti_status instance_close(instance *i, tutti_error *err);
tutti_status instance_post_close(instance *i, tutti_error *err);
void instance_free(
    instance *i); /* closes what is still open, ignoring errors; NULL is allowed */

/* Kernel `number` of the instance's plugin, as tutti.kernel/1 counts; false when there is none, as for
 * the numbers of its handlers.  Borrowed from the registry. */
typedef struct kernel_info {
    const char *name;
    const char *plugin_id;
    const char *folder; /* of the manifest */
    const char *entry;  /* of the device code; NULL: there is none */
    const char *file;   /* where that is, in `folder` */
    const char *const *arg_types;
    uint32_t nargs;
    int32_t grid_arg; /* the argument that counts elements; -1: `grid` blocks */
    uint32_t grid;
    uint32_t block;
    uint32_t shared;
    uint32_t reserved;
} kernel_info;
bool instance_kernel(const instance *i, uint32_t number, kernel_info *ret_info);
uint32_t instance_kernel_count(const instance *i); /* numbers are below it */
TUTTI_NODISCARD tutti_status instance_find_kernel(const instance *i, const char *name,
                                                  uint32_t *ret_kernel, tutti_error *err);
/* The file of its device code, if it is still as it was when the registry judged it; the caller frees
 * *ret_data.  NULL where that file is missing: the plugin was built without a CUDA compiler.
 * Errors: E_TRUST it has changed; E_IO.  [control] */
TUTTI_NODISCARD tutti_status instance_read_code(const instance *i, uint32_t number,
                                                void **ret_data, uint64_t *ret_bytes,
                                                tutti_error *err);
/* Calls its CPU function.  [any] */
void instance_run_kernel(const instance *i, uint32_t number, void *const *args);
/* Bytes of an argument of this type: 8 for a buffer. */
uint32_t kernel_arg_size(const char *type);

const char *instance_name(const instance *i);
const object *instance_object(const instance *i);
const tutti_params *instance_params(const instance *i);
/* Ids of the events that it hears with its settings, in the manifest's order; NULL where that has no list. */
const int32_t *instance_events(const instance *i, size_t *ret_count);
/* Whether an object with these settings hears the k-th of its events. */
bool object_hears(const object *o, size_t k, const tutti_params *params);
/* The k-th event of the manifest that its settings leave out: its id, and in words when it is heard, which the caller
 * frees (NULL: no memory).  False past the last. */
bool instance_left_out(const instance *i, size_t k, int32_t *ret_event, char **ret_when);
const tutti_calls *instance_calls(const instance *i);
void *instance_self(const instance *i);

/* The breadcrumb alone, for calls in which the host does work of its own.  The caller puts back the one of before,
 * which is the result.  `whole` as in crash.h; what is called inside such a call is whole too. */
breadcrumb instance_breadcrumb(const instance *i, const char *call, bool whole);
/* Encloses a call of one of the instance's own functions: who is to blame for a crash or a hang, and
 * with options.check what the call has changed.  [any] */
typedef struct instance_call {
    const instance *instance; /* NULL once the call is over */
    breadcrumb outer;
    struct process_state *before;
} instance_call;
instance_call instance_enter(const instance *i, const char *call); /* `i` NULL: of no plugin */
instance_call instance_enter_whole(const instance *i, const char *call);
void instance_leave(instance_call *c);
/* The same for all calls of the table that the result is, which takes *ret_self. */
const tutti_calls *instance_participant(instance *i, void **ret_self);
/* The instance's typed table, at least as long as in release 1.0; NULL when it has none, and from close on. */
const void *instance_query(instance *i, const char *interface_id);

#endif
