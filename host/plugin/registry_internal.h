/* registry_internal.h - the registry's own pieces; for the sources of this folder. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_REGISTRY_INTERNAL_H
#define HOST_PLUGIN_REGISTRY_INTERNAL_H

#include "base/text.h"
#include "plugin/crash/process_state.h"
#include "plugin/plugin.h"
#include "plugin/trust/config.h"
#include "plugin/trust/keyring.h"
#include "tutti/logger.h"

/* A folder to look in. */
typedef struct search_place {
    char *path;
    int kind;  /* PLACE_STANDARD ... */
    int state; /* REGISTRY_READ ... */
} search_place;
enum {
    PLACE_STANDARD,
    PLACE_NAMED,  /* by an option or variable: it must be there */
    PLACE_BESIDE, /* the program */
};

/* Who says what may be loaded. */
typedef struct authority {
    policy *policies[CONFIG_MAX + 2]; /* of files and of options; all of them are kept to */
    size_t count;
    config_folders folders;
    keyring keys;
    bool has_keys; /* they have been read */
} authority;

struct registry {
    search_place *places; /* in the order of search */
    size_t nplaces;
    plugin **plugins;
    size_t count;
    size_t capacity;
    authority authority;
    bool check;
    const registry_probe *probe; /* or NULL */
    _Atomic int changes;
    void (*report)(void *ctx, int level, const char *text);
    void *report_ctx;
    program_owners program;
    uint32_t refusals;     /* for owners and modes, of the search so far */
    text_buffer untrusted; /* remarks on them that wait, one a line */
    bool searching, nothing_is_trusted;
    bool lacks_memory;           /* for what it wanted to know of a plugin */
    custom_event *custom_events; /* number TUTTI_EVENT_CUSTOM + k */
    size_t ncustom;
};

TUTTI_PRINTF(3, 4)
void registry_report(const registry *r, int level, const char *format, ...);
/* A warning on what was found.  Those on owners and modes wait for the search's end: where they leave
 * nothing that can be used, one sentence stands for all. */
TUTTI_PRINTF(3, 4)
void registry_remark(registry *r, bool ill_owned, const char *format, ...);
void registry_searched(registry *r); /* the search's end */

/* Reads the policies, and the keys where signatures are wanted.  Errors: those of policy_read and pins_read. */
TUTTI_NODISCARD tutti_status authority_read(registry *r, const registry_options *o,
                                            tutti_error *err);
/* Reads the trusted keys, if that has not been done.  Error: E_NOMEM. */
TUTTI_NODISCARD tutti_status authority_keys(registry *r, tutti_error *err);
/* What all policies together ask of a plugin in this folder: DEMAND_*. */
unsigned authority_demands(const registry *r, const char *folder);
void authority_fini(authority *a);

/* Fills r->places. */
TUTTI_NODISCARD tutti_status search_places(registry *r, const char *const *plugin_paths,
                                           tutti_error *err);
void search_free(search_place *places, size_t count);

/* Adds the plugins below search folder number `place`.  What is wrong with one of them becomes its
 * fault.  Errors: E_NOMEM only. */
TUTTI_NODISCARD tutti_status search_folder(registry *r, size_t place, tutti_error *err);

/* Keeps the first fault of a plugin and reports it.  One of E_NOMEM found in the search ends the search: who
 * knows what the run would have used. */
void plugin_fault(plugin *p, int level, tutti_status status, const char *text);

/* Loads p, unless it has a fault or conflicts with what is loaded; a failure becomes its fault. */
TUTTI_NODISCARD tutti_status registry_load(plugin *p, tutti_error *err);

void plugin_free(plugin *p);

/* A look at the process before a call of the plugin, or NULL without options.check; the end reports
 * what the call changed. */
process_state *check_begin(const plugin *p);
void check_end(const plugin *p, process_state *before, process_account *account);

#endif
