/* report.h - runs as one HTML file that asks nothing of a network. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_REPORT_REPORT_H
#define HOST_REPORT_REPORT_H

#include "base/text.h"
#include "report/run_folder.h"

/* The data of a report as JSON: runs, whose logs and traces have been read, with their curves, time lines, step times and
 * messages, and their settings side by side.  "<" stands nowhere in it, so that it can lie in a page.  Errors: E_NOMEM;
 * a trace that cannot be read.  [any] */
TUTTI_NODISCARD tutti_status report_data(text_buffer *b, const run_list *runs,
                                         const char *version, tutti_error *err);

/* What all pages have; of who fills it. */
typedef struct report_parts {
    char *
        page; /* with {{CONNECT}}, {{STYLE}}, {{DATA}}, {{LIBRARY}}, {{SCRIPT}} and {{LIVE}}, once each */
    char *style;
    char *library; /* Chart.js */
    char *script;
    char *live; /* what follows events of a server; NULL: the page asks nothing of anybody */
} report_parts;
/* Puts them together with the data; of a page that follows events `number` is the last that its data have.
 * Errors: E_FORMAT a mark is missing; E_NOMEM. */
TUTTI_NODISCARD tutti_status report_page(text_buffer *b, const report_parts *parts,
                                         const char *data, uint64_t number, tutti_error *err);

#endif
