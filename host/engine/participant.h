/* participant.h - who takes part in an engine: its identity, its calls, its order rules. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_ENGINE_PARTICIPANT_H
#define HOST_ENGINE_PARTICIPANT_H

#include "engine/engine.h"

enum {
    ENGINE_EVENTS = 256, /* built-in and custom ones */
    ENGINE_WIDTH = 64    /* algorithms at one event: one bit each */
};

/* The "order" rules of a manifest.  The lists are NULL-terminated selectors, an object's or instance's
 * name or "tag:x"; NULL means none. */
typedef struct order_rules {
    bool first;
    bool last;
    const char *const *before;
    const char *const *after;
    const char *const *exclusive;
    uint64_t reverse_on[ENGINE_EVENTS / 64]; /* events at which the rules are reversed */
} order_rules;

enum { CLASS_ALGORITHM, CLASS_CALLBACK, CLASS_LOGGER, CLASS_PASS, CLASS_HANDLER, CLASS_COUNT };
#define KIND_HANDLER "handler" /* a bound function; no object of a plugin has this kind */

/* One participant; all texts and lists are borrowed for the engine's life. */
typedef struct participant {
    const char *name;     /* of the instance */
    const char *object;   /* name of its object */
    const char *kind;     /* TUTTI_KIND_* of a participant */
    const char *plugin;   /* id */
    const char *manifest; /* path */
    const tutti_calls *calls;
    void *self;
    const int32_t *events; /* NULL: a pass counts on all, others hear none */
    size_t nevents;
    const char *const *tags; /* NULL-terminated, or NULL */
    order_rules rules;
    int on_error;   /* ON_ERROR_* */
    int pass_index; /* of a pass: its place among the passes, -1 for the end */
    bool interpolates_loss;
    /* How it ends: NULL means calls->close and calls->post_close. */
    tutti_status (*close)(void *owner, tutti_error *err);
    tutti_status (*post_close)(void *owner, tutti_error *err);
    void *owner;
    void *memory;   /* freed with the engine */
    bool evaluates; /* a handler of the host that is an evaluation: engine_hold lets it run */
    /* The engine's own. */
    int class;
    bool disabled;
    bool closed;
    bool begun; /* has heard INIT */
} participant;

/* engine_add, without a registry: `p` is copied, and its `memory` becomes the engine's on success. */
TUTTI_NODISCARD tutti_status engine_add_object(engine *e, const participant *p,
                                               tutti_error *err);

/* rules.c: sorts `list` (n participants in their present order, at most ENGINE_WIDTH) by the absolute
 * rules and the manifests'; place[k] is the index of the k-th to run.  E_STATE: the rules go round
 * in a circle, with its edges. */
tutti_status rules_sort(const participant *const *list, uint32_t n, int32_t event,
                        const char *event_text, uint8_t *place, tutti_error *err);
/* Which rule holds list[k] where it is; false when none does. */
bool rules_reason(const participant *const *list, uint32_t n, uint32_t k, int32_t event,
                  char *text, size_t size);
/* Whether `selector` means `p`. */
bool rules_select(const char *selector, const participant *p);
bool rules_always_first(const participant *p); /* built in, whatever manifests say */

#endif
