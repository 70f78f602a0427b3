/* needs.h - the libraries that a plugin's library brings along: found, judged, in the order of loading. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_NEEDS_H
#define HOST_PLUGIN_NEEDS_H

#include "plugin/trust/bytes.h"

typedef struct plugin plugin;

/* One library, by the name under which another asks for it (DT_NEEDED). */
typedef struct need {
    char *name;
    char *path; /* absolute, without symbolic links; NULL: the system's loader looks for it */
    bool
        is_system; /* it lies below /lib or /usr/lib: trusted as the program's own libraries are */
    file_mark mark;
    bytes content; /* of one that is not the system's */
} need;

typedef struct needs {
    need *items; /* each comes after those that it needs itself */
    size_t count;
    size_t capacity;
} needs;

/* What `library`, the plugin's own at `path`, needs, and what that needs in turn, looked for as the system's
 * loader does: LD_LIBRARY_PATH, RUNPATH (or RPATH, that of those that asked too), the system.  Each file that is
 * not the system's is held to the plugin's rules.  Two things differ: a relative folder of a RUNPATH is passed
 * over, since it means another one wherever the program stands, and glibc-hwcaps below it is not looked into.
 * seal: the contents are in sealed memory, to be loaded from.  The caller calls needs_fini.
 * Errors: E_TRUST, E_FORMAT name library and cause; E_NOMEM. */
TUTTI_NODISCARD tutti_status needs_find(const plugin *p, const char *path, const bytes *library,
                                        bool seal, needs *ret, tutti_error *err);
void needs_fini(needs *n);

#endif
