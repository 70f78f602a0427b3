/* tutti.h - the core of the plugin ABI: entry, object table, event, host. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_H
#define TUTTI_H

#include "base.h"
#include "events.h"
#include "params.h"
#include "time.h"

TUTTI_C_BEGIN

#define TUTTI_MAGIC 0x49545554u /* "TUTI" */
#define TUTTI_ABI_VERSION(major, minor) ((uint32_t)(major) << 16 | (uint32_t)(minor))
#define TUTTI_ABI TUTTI_ABI_VERSION(1, TUTTI_USE_MINOR) /* what this code sees */

/* Thread tags.  [control]: the thread that opens and closes, nothing else runs in the plugin.
 * [step]: never two calls at once on one object, but the thread may change.  [any]: concurrent. */

/* What an object may be.  Participants hear events; providers answer `query` with a table. */
#define TUTTI_KIND_ALGORITHM "algorithm"
#define TUTTI_KIND_CALLBACK "callback"
#define TUTTI_KIND_LOGGER "logger"
#define TUTTI_KIND_PASS "pass"
#define TUTTI_KIND_MODEL "model"
#define TUTTI_KIND_LAYER "layer"
#define TUTTI_KIND_OP "op"
#define TUTTI_KIND_DATASET "dataset"
#define TUTTI_KIND_TRANSFORM "transform"
#define TUTTI_KIND_OPTIMIZER "optimizer"
#define TUTTI_KIND_SCHEDULER "scheduler"
#define TUTTI_KIND_METRIC "metric"
#define TUTTI_KIND_DEVICE "device"
#define TUTTI_KIND_COMM "comm"
#define TUTTI_KIND_LOSS "loss"

/* The host as one object sees it.  Valid until that object's last close or post_close returns. */
typedef struct tutti_host {
    uint32_t struct_size;
    uint32_t abi; /* TUTTI_ABI of the host */
    void *ctx;    /* the host's; pass it back */
    /* The service's const table ("tutti.state/1"), or NULL where this host has none.  The host
     * owns it; it lives as long as this struct.  [any] */
    const void *(*query)(void *ctx, const char *interface_id);
} tutti_host;

/* One event, as match, apply and run_event receive it.  The host owns it; valid for the call. */
typedef struct tutti_event {
    uint32_t struct_size;
    int32_t id;                       /* TUTTI_EVENT_*, or TUTTI_EVENT_CUSTOM + n */
    const char *name;                 /* "before_loss"; never NULL */
    uint64_t step;                    /* training batches completed so far */
    const tutti_timestamp *time;      /* training clock; never NULL */
    const tutti_timestamp *eval_time; /* evaluation clock; never NULL */
} tutti_event;

/* An apply that has no exit code leaves *ret_exit_code alone: the trace tells "none" from 0. */
#define TUTTI_EXIT_NONE INT64_MIN

/* The calls of an object, the same table for every kind.  A call that a kind does not need is
 * NULL: participants need match and apply (algorithm, pass) or run_event (callback, logger);
 * providers need query.  open and close are never NULL. */
typedef struct tutti_calls {
    uint32_t struct_size;
    uint32_t reserved; /* write 0 */
    /* Makes an instance.  `params` are complete and valid by the manifest, borrowed for the call;
     * strings in them live until close.  On failure *ret_self stays untouched.  [control] */
    tutti_status (*open)(const tutti_host *host, const tutti_params *params, void **ret_self,
                         tutti_error *err);
    /* 1 to apply, 0 to stay out, negative status on error.  Must not change anything: all matches
     * of an event come before any apply.  [step] */
    int32_t (*match)(void *self, const tutti_event *event);
    /* Changes the state in place.  *ret_exit_code is TUTTI_EXIT_NONE on entry.  [step] */
    tutti_status (*apply)(void *self, const tutti_event *event, int64_t *ret_exit_code,
                          tutti_error *err);
    /* Hears an event that the manifest subscribes to.  [step] */
    tutti_status (*run_event)(void *self, const tutti_event *event, tutti_error *err);
    /* Stops working: flush, finish.  Called once, also after failed events.  Where post_close is
     * NULL, or close fails, close is the last call and frees `self`; so a plugin that has both
     * frees in post_close and, when close fails, in close.  [control] */
    tutti_status (*close)(void *self, tutti_error *err);
    /* After every participant's close, if this one's succeeded; frees `self`.  [control] */
    tutti_status (*post_close)(void *self, tutti_error *err);
    /* The instance's typed table ("tutti.optimizer/1"), or NULL.  Lives until close.  [any] */
    const void *(*query)(void *self, const char *interface_id);
} tutti_calls;

typedef struct tutti_object {
    uint32_t struct_size;
    uint32_t reserved; /* write 0 */
    const char *name;  /* [a-z][a-z0-9_]*, as in the manifest and in run files */
    const char *kind;  /* TUTTI_KIND_* */
    const tutti_calls *calls;
    /* NULL, or what the manifest cannot say about settings, such as that
     * one is to be below another.  Pure; called before every open, and by `tutti validate`.  `params` as
     * for open; the sentence starts with the object's name.  [any] */
    tutti_status (*check)(const tutti_params *params, tutti_error *err);
} tutti_object;

/* Static const data in the plugin. */
typedef struct tutti_plugin {
    uint32_t magic; /* TUTTI_MAGIC */
    uint32_t struct_size;
    uint32_t abi_built;                 /* the TUTTI_ABI that it was compiled against */
    uint32_t abi_min;                   /* the oldest host that it works with */
    const char *id;                     /* reverse DNS, as in the manifest */
    const char *version;                /* semantic version, as in the manifest */
    const tutti_object *const *objects; /* NULL-terminated */
} tutti_plugin;

/* The one symbol that a plugin exports.  Pure: allocates nothing, may be called any number of
 * times.  [any] */
TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi);

#define TUTTI_PLUGIN_INIT(id_, version_, objects_)                                             \
    {                                                                                          \
        TUTTI_MAGIC, (uint32_t)sizeof(tutti_plugin), TUTTI_ABI,                                \
            TUTTI_ABI_VERSION(1, TUTTI_MIN_MINOR), id_, version_, objects_                     \
    }
#define TUTTI_OBJECT_INIT(name_, kind_, calls_)                                                \
    {                                                                                          \
        (uint32_t)sizeof(tutti_object), 0, name_, kind_, calls_, NULL                          \
    }
#define TUTTI_OBJECT_INIT_CHECKED(name_, kind_, calls_, check_)                                \
    {                                                                                          \
        (uint32_t)sizeof(tutti_object), 0, name_, kind_, calls_, check_                        \
    }

/* C alone: the whole table of a plugin with one object, with its entry function.  What follows the kind are members
 * of tutti_calls: TUTTI_PLUGIN_OF_ONE("org.example.noise", "1.0.0", "noise", TUTTI_KIND_ALGORITHM, .open = noise_open,
 * .match = noise_match, .apply = noise_apply, .close = noise_close) */
#define TUTTI_PLUGIN_OF_ONE(id_, version_, name_, kind_, ...)                                  \
    static const tutti_calls tutti_only_calls = {.struct_size = sizeof(tutti_calls),           \
                                                 __VA_ARGS__};                                 \
    static const tutti_object tutti_only_object =                                              \
        TUTTI_OBJECT_INIT(name_, kind_, &tutti_only_calls);                                    \
    static const tutti_object *const tutti_only_objects[] = {&tutti_only_object, NULL};        \
    static const tutti_plugin tutti_only_plugin =                                              \
        TUTTI_PLUGIN_INIT(id_, version_, tutti_only_objects);                                  \
    TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)                        \
    {                                                                                          \
        (void)host_abi; /* one table for every host */                                         \
        return &tutti_only_plugin;                                                             \
    }                                                                                          \
    struct tutti_plugin /* takes the semicolon behind the macro */

TUTTI_C_END
#endif
