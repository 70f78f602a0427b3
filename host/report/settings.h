/* settings.h - in what the settings of runs differ. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_REPORT_SETTINGS_H
#define HOST_REPORT_SETTINGS_H

#include "report/run_folder.h"

/* One setting: "optimizer.lr", and what each run has there, as JSON; NULL: it is not set. */
typedef struct setting {
    char *path;
    char **values; /* one a run */
} setting;

typedef struct settings {
    setting *items;
    size_t count;
    size_t nruns;
} settings;

/* The settings in which the runs are not all alike, their names apart, in the order of the run files; with `all` the
 * others too.  Objects in lists are compared by their names, not by their places.  The caller finishes *ret.
 * Error: E_NOMEM.  [any] */
TUTTI_NODISCARD tutti_status settings_compare(const run_folder *runs, size_t n, bool all,
                                              settings *ret, tutti_error *err);
void settings_fini(settings *s);

#endif
