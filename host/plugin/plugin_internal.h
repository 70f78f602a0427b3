/* plugin_internal.h - plugins and objects as the files of this folder see them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_INTERNAL_H
#define HOST_PLUGIN_INTERNAL_H

#include "plugin/registry.h"
#include "tutti/graph.h"

#include <sys/stat.h>

enum { MANIFEST_LIMIT = 1 << 20, MAX_OBJECTS = 256, MAX_WORDS = 64 };

struct object {
    object_info info;
    struct bundle *bundle;
    int32_t events[128];
    const char *tags[MAX_WORDS + 1];
    const char *traits[MAX_WORDS + 1];
    const tutti_calls *calls; /* once the plugin is loaded */
};

/* One plugin folder: its manifest, its verdict, its library. */
typedef struct bundle {
    char *folder;   /* absolute, as found */
    char *manifest; /* path */
    char *library;  /* path; NULL before the manifest is read */
    json_doc *doc;
    const char *id;      /* "?" before the manifest is read */
    const char *version; /* likewise */
    const char *license;
    uint32_t abi_built;
    uint32_t abi_min;
    object *objects;
    const object **list; /* the same, as pointers */
    size_t nobjects;
    char *fault;  /* NULL when usable */
    void *handle; /* of the loaded library */
    dev_t device; /* of the manifest, to tell two ways to one plugin */
    ino_t inode;
    int root; /* place of its directory on the search path */
} bundle;

/* Reads and checks the manifest; fills the bundle.  Errors name file, line and key. */
TUTTI_NODISCARD tutti_status manifest_read(bundle *b, tutti_error *err);

/* Every part of `path` from the root: no writer but root and this user, no links that loop, the last
 * part a regular file. */
TUTTI_NODISCARD tutti_status trust_check(const char *path, tutti_error *err);

/* Looks at a shared object without loading it: machine, executable stack, text relocations, and that
 * it exports the entry function and nothing else. */
TUTTI_NODISCARD tutti_status elf_check(const char *path, tutti_error *err);

/* Loads the library, asks for its plugin and compares it with the manifest. */
TUTTI_NODISCARD tutti_status module_load(bundle *b, tutti_error *err);

void bundle_fini(bundle *b);

#endif
