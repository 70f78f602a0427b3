/* check.h - holds one plugin to the contract: its files, its load, each object's life. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CHECK_CHECK_H
#define HOST_CHECK_CHECK_H

#include "plugin/instance.h"
#include "tutti/op.h"

/* name, what it holds the plugin to.  The first six are about the plugin, the others about one object. */
#define CHECKS(X)                                                                              \
    X(MANIFEST, "manifest", "the manifest follows the schema")                                 \
    X(FILES, "files", "manifest and library are there, and nobody else may write them")        \
    X(EXPORTS, "exports", "the library exports its entry and what the manifest names")         \
    X(DEVICE_CODE, "device_code", "kernels in device code have the manifest's arguments")      \
    X(LOAD, "load", "the library loads, and its tables are those of the manifest")             \
    X(ENTRY, "entry", "the entry function is pure and knows hosts of any version")             \
    X(OPEN, "open", "it opens, answers query the same each time, and closes")                  \
    X(SETTINGS, "settings", "it opens with settings at their limits, or says why not")         \
    X(SERVICES, "services", "it does without each service that it does not require")           \
    X(MEMORY, "memory", "it says so when there is no memory, and keeps none")                  \
    X(LEAKS, "leaks", "what open takes, close gives back: memory, files, threads")             \
    X(INSTANCES, "instances", "two instances live side by side and end in any order")          \
    X(CALLS, "calls", "calls of its table answer the same each time and refuse bad input")     \
    X(THREADS, "threads", "calls tagged [any] answer the same from several threads at once")   \
    X(TRAITS, "traits", "an operation says what the compiler asks of it")                      \
    X(LIFE, "life", "a training run with it ends well")                                        \
    X(PROCESS, "process", "its calls leave the process as it was")                             \
    X(MATCH, "match", "match changes nothing, answers the same, and 0 where \"when\" fails")   \
    X(EVENTS, "events", "it fires events of its own manifest only")                            \
    X(STATE, "state", "a run that stops and goes on ends with the bits of one that does not")  \
    X(DEVICE, "device",                                                                        \
      "on a device the run ends with the weights of the CPU's, but for rounding")

enum {
#define CHECK_X(name, id, text) CHECK_##name,
    CHECKS(CHECK_X)
#undef CHECK_X
        CHECKS_COUNT
};

/* NOT_TRIED: `text` says why, and what would have to be there. */
enum { CHECK_PASSED, CHECK_FAILED, CHECK_NOT_TRIED };

typedef struct check_result {
    int check;          /* CHECK_* */
    int outcome;        /* CHECK_PASSED ... */
    const char *kind;   /* of the object; NULL: the whole plugin */
    const char *object; /* its name, likewise */
    const char *text;   /* one sentence; "" where it passed and there is nothing to note */
} check_result;

enum { CHECK_RUN_BYTES = 1 << 20 }; /* of a run's members, at the most */

typedef struct check_options {
    registry *registry;
    const tutti_op *const *ops;
    /* Path of a JSON object whose members take the place of those of the stock run in which objects live; NULL:
     * check.json beside the manifest, if there is one. */
    const char *run;
    const char *device; /* on which the run is tried as well, "cuda"; NULL: on none */
    double seconds;     /* that one child may take */
    void (*tell)(void *ctx, const check_result *r);
    void *ctx;
} check_options;

const char *check_name(int check); /* "open" */
const char *check_text(int check); /* what it holds a plugin to */

/* Tells a result of every check for the k-th plugin of the registry and each of its objects.  All code of the
 * plugin runs in children of this process, which must have one thread and no instance open.  Nothing but
 * memory and the system can fail: E_NOMEM, E_IO.  [control] */
TUTTI_NODISCARD tutti_status check_plugin(const check_options *o, size_t k, tutti_error *err);

/* Whether the k-th plugin, in which the registry has found no fault, loads: tried in a child.  `ret_text` gets a sentence
 * where not.  Errors: E_FAIL the plugin does not load; E_NOMEM, E_IO there is no memory or no child for it, or a limit of
 * this process is in the way, so that nothing is known of the plugin.  [control] */
TUTTI_NODISCARD tutti_status check_loads(registry *r, size_t k, char *ret_text, size_t size);

#endif
