/* plugin.h - one plugin as the registry keeps it; for the sources of this folder. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_PLUGIN_H
#define HOST_PLUGIN_PLUGIN_H

#include "base/json_members.h"
#include "plugin/call/ctype.h"
#include "plugin/crash/process_state.h"
#include "plugin/instance.h"
#include "plugin/needs.h"
#include "plugin/trust/policy.h"
#include "plugin/trust/signed.h"

#define MANIFEST_LIMIT ((size_t)1 << 20)
#define MANIFEST_MINOR 1 /* of format 1.N, as this host reads it */
#define ENTRY_SYMBOL "tutti_plugin_v1"
#define HANDLER_HIDDEN ((size_t)3) /* engine, count and error beside the declared arguments */

typedef struct module module; /* a loaded library */
typedef struct spec spec;     /* what a manifest says of one setting */

/* A file of device code beside the manifest, once it was judged. */
typedef struct code_file {
    struct code_file *next;
    const char *name; /* as in the manifest */
    char *path;
    file_mark mark;
} code_file;

/* A typed function that the manifest declares: a kernel, or a handler of the run file. */
typedef struct handler kernel;
struct handler {
    plugin *plugin;
    const char *name;
    const char *doc; /* or NULL */
    const char *symbol;
    const char *const *arg_names; /* nargs each */
    const char *const *arg_types; /* words such as "buf<f32>" */
    uint32_t nargs;
    bool handler;           /* listed under "handlers" */
    bool engine;            /* a handler whose first argument is the engine */
    bool filter;            /* a handler that answers whether others are called */
    const char *returns;    /* of a handler: as in engine.h, or a struct of "types" */
    const ctype **ctypes;   /* of a handler's arguments, nargs; owned */
    const ctype *result;    /* of a handler */
    const char *value_path; /* of a handler that gives the number at `value`, or NULL */
    ctype_place value;
    void *function;        /* set at load */
    const char *entry;     /* of a kernel's device code; NULL: it has none */
    const char *file;      /* where that is, beside the manifest */
    const char *sha256;    /* of the file, or NULL */
    const code_file *code; /* the file; NULL: there is none, this build made no device code */
    int32_t
        grid_arg; /* the argument that counts elements, one for a thread; -1: `grid` blocks */
    uint32_t grid;
    uint32_t block;
    uint32_t shared; /* bytes */
    void *cif;       /* libffi's, prepared at load; owned */
};

/* How far a plugin's files are trusted, and what they were when they were judged. */
typedef struct plugin_trust {
    unsigned demands; /* DEMAND_*; 0: the system's loader may do as it likes */
    trust_rule rule;  /* that its paths are held to */
    file_mark manifest;
    file_mark library;
    needs needs;      /* libraries that its own brings along */
    signed_sums sums; /* of one that must be signed */
} plugin_trust;

struct object {
    object_info info;
    plugin *plugin;
    spec *specs;
    size_t nspecs;
    const json_node *event_names;
    int32_t *event_ids;
    const json_node **events; /* entries of event_names, one for each id */
    tutti_calls calls; /* the plugin's table, as much as both sides know; zeros before load */
    tutti_status (*check)(const tutti_params *params,
                          tutti_error *err); /* NULL: there is none */
};

/* What a manifest says of the plugin as a whole. */
typedef struct plugin_declared {
    const char *license;
    const char *library; /* as in the manifest; NULL: soname has it */
    const char *soname;  /* of a foreign library of the system; NULL: it is a file here */
    const char *sha256;  /* or NULL */
    uint32_t abi_min;
    bool
        foreign; /* the library knows nothing of Tutti: it has no entry, and handlers alone are called */
    bool newer; /* the manifest is of a newer format: what is unknown is left out */
    const json_node *events; /* custom events, or NULL */
    const json_node *requires_;
    const json_node *conflicts;
    const json_node *uses;   /* interfaces that it would like to have */
    const json_node **later; /* objects of kinds that this host does not know; nlater */
    size_t nlater;
} plugin_declared;

/* What judging found. */
typedef struct plugin_verdict {
    char *fault; /* NULL: none */
    tutti_status status;
    int stage;      /* of the judgement under way, or at which it ended: STAGE_* */
    bool ill_owned; /* the fault is about owners and modes */
    bool shadowed;  /* another of this id comes first: only id@version reaches it */
} plugin_verdict;

struct plugin {
    registry *registry;
    char *folder;   /* absolute, symbolic links resolved */
    char *manifest; /* path of plugin.json */
    char *library;  /* path of the shared object */
    json_doc *doc;
    const char *id;
    const char *version;
    size_t place; /* number of its folder on the search path */
    plugin_declared declared;
    plugin_trust trust;
    plugin_verdict verdict;
    object *objects;
    size_t nobjects;
    const object **object_list;
    ctypes *types; /* of handlers */
    kernel *kernels;
    size_t nkernels;
    code_file *codes; /* each once */
    module *module;
    process_account functions; /* what calls of its handlers have taken */
};

/* Reads p->doc into the rest of `p`; everything wrong goes to `f`, and to `notes` what a manifest of a newer
 * format has that this host does not know.  What could be read is kept even then, so that messages can name
 * the plugin. */
void manifest_read(plugin *p, faults *f, faults *notes);

/* The objects of a manifest and their settings. */
void objects_read(plugin *p, const json_node *list, faults *f);
void objects_free(plugin *p);

/* The kernels and handlers of a manifest; p->types before those. */
void kernels_read(plugin *p, const json_node *list, bool handlers, faults *f);
void kernels_free(plugin *p);

/* Reads the signature of the plugin's folder, which is held, where one is demanded.  Errors as signed_read. */
TUTTI_NODISCARD tutti_status authority_signature(plugin *p, const held *folder,
                                                 tutti_error *err);
/* A file of the plugin, or a library that it brings along, must be pinned and signed where that is demanded, and
 * have the hash `sha256` of its manifest unless that is NULL.  Error: E_TRUST. */
TUTTI_NODISCARD tutti_status admit(const plugin *p, const char *path, const bytes *b,
                                   const char *sha256, tutti_error *err);

/* Judges the library below the plugin's folder, which is held, and what it brings along.  Nothing is loaded.
 * Errors: E_NOTFOUND; E_TRUST; E_FORMAT; E_IO; E_NOMEM. */
TUTTI_NODISCARD tutti_status library_judge(plugin *p, const held *folder, tutti_error *err);
/* The same once more, of contents that nobody can change any more, to be loaded; the caller frees both.  Nothing
 * in *ret: nothing is demanded of the plugin, and its path will do. */
TUTTI_NODISCARD tutti_status library_take(plugin *p, bytes *ret, needs *ret_needs,
                                          tutti_error *err);

/* Holds the files of device code to the trust that the library needs, and their functions to the
 * kernels that name them.  A file that is not there is none: such a kernel has no device code. */
TUTTI_NODISCARD tutti_status codes_judge(plugin *p, const held *folder, tutti_error *err);
void codes_free(plugin *p);
/* The file's bytes, if it is still what was judged; the caller frees *ret_data.  Errors: E_TRUST; E_IO;
 * E_NOMEM. */
TUTTI_NODISCARD tutti_status code_read(const plugin *p, const code_file *f, void **ret_data,
                                       uint64_t *ret_bytes, tutti_error *err);

/* Holds every typed table of an open instance of `o` to release 1.0, and its traits to the tables that they promise.  `name`
 * is the instance's, `query` gives its tables. */
typedef const void *tables_query(instance *i, const char *interface_id);
TUTTI_NODISCARD tutti_status tables_check(instance *i, const object *o, const char *name,
                                          tables_query *query, tutti_error *err);

/* An event that an object hears, and whether it may be missing here: a name or {"name": ..., "optional": true},
 * which may have a "when" (when.h). */
const char *manifest_heard(const json_node *node, bool *ret_optional);

/* Events of its own: {"name": ..., "attribute": ...} or the name alone.  NULL in *ret_attribute: none. */
const char *manifest_event(const json_node *node, const char **ret_attribute);

/* TUTTI_EVENT_* of a Composer or Ignite event, in any case; -1 for others. */
int32_t event_number(const char *name);

/* Loads p's library if that has not been done, checks it against the manifest, prepares its
 * kernels. */
TUTTI_NODISCARD tutti_status module_load(plugin *p, tutti_error *err);
/* What its entry function answers. */
const tutti_plugin *module_entry(const module *m, uint32_t host_abi);
void module_free(module *m); /* the code stays mapped; NULL is allowed */

#endif
