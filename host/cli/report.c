/* report.c - tutti report: runs as one HTML file. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report.h"
#include "base/input_file.h"
#include "base/output_file.h"
#include "cli/cli.h"
#include "cli/report_live.h"
#include "cli/runs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where Debian and others have the library that draws charts; TUTTI_CHART_JS names another file. */
static const char *const libraries[] = {"/usr/share/javascript/chart.js/chart.min.js",
                                        "/usr/share/javascript/chart.js/Chart.min.js",
                                        "/usr/share/javascript/chart.js/chart.umd.js",
                                        "/usr/share/nodejs/chart.js/dist/chart.min.js",
                                        "/usr/share/nodejs/chart.js/dist/chart.umd.js"};

/* The whole file; the caller frees it.  NULL after saying why. */
static char *read_text(const char *path)
{
    char part[65536];
    text_buffer b = {.data = NULL};
    FILE *file;
    tutti_error e = TUTTI_ERROR_INIT;
    if (input_file_open(path, &file, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        return NULL;
    }
    for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0;)
        text_add_bytes(&b, part, n);
    if (!ferror(file) && !b.failed && b.data) {
        (void)fclose(file);
        return b.data;
    }
    (void)fprintf(stderr, "tutti: %s: %s\n", path,
                  b.failed ? "no memory to read it"
                  : errno  ? strerror(errno)
                           : "it is empty");
    (void)fclose(file);
    free(b.data);
    return NULL;
}

static char *read_library(void)
{
    const char *own = getenv("TUTTI_CHART_JS");
    if (own && *own)
        return read_text(own);
    for (size_t k = 0; k < sizeof libraries / sizeof *libraries; k++)
        if (access(libraries[k], R_OK) == 0)
            return read_text(libraries[k]);
    (void)fprintf(
        stderr,
        "tutti: report draws its charts with Chart.js, which is not at %s: install the "
        "package libjs-chart.js, or name the file in TUTTI_CHART_JS\n",
        libraries[0]);
    return NULL;
}

/* A part of the page, as it is installed. */
static char *read_part(const char *name)
{
    char path[PATH_MAX];
    if (cli_share(name, path, sizeof path))
        return read_text(path);
    (void)fprintf(stderr, "tutti: %s: it is missing, install tutti anew\n", path);
    return NULL;
}

static bool read_runs(const cli_options *o, run_list *l)
{
    if (!runs_open(o, 0, l) || !runs_read_logs(l))
        return false;
    if (l->count == 0)
        return false; /* which has been said */
    for (size_t k = 0; k < l->count; k++) {
        tutti_error e = TUTTI_ERROR_INIT;
        if (run_folder_read_traces(&l->items[k], &e)) {
            (void)fprintf(stderr, "tutti: %s\n", e.text);
            return false;
        }
    }
    return true;
}

/* The scripts of the page, one behind the other; the caller frees them. */
static char *read_scripts(void)
{
    static const char *const names[] = {"report/samples.js", "report/report.js"};
    text_buffer b = {.data = NULL};
    bool whole = true;
    for (size_t k = 0; whole && k < sizeof names / sizeof *names; k++) {
        char *text = read_part(names[k]);
        whole = text != NULL;
        text_add(&b, "%s", text ? text : "");
        free(text);
    }
    if (whole && !b.failed)
        return b.data;
    if (whole)
        (void)fprintf(stderr, "tutti: no memory for the scripts of the page\n");
    free(b.data);
    return NULL;
}

/* False after saying what is missing. */
static bool read_parts(report_parts *p, bool live)
{
    return (p->library = read_library()) && (p->page = read_part("report/report.html")) &&
           (p->style = read_part("report/report.css")) && (p->script = read_scripts()) &&
           (!live || (p->live = read_part("report/live.js")));
}

static void free_parts(report_parts *p)
{
    free(p->page);
    free(p->style);
    free(p->library);
    free(p->script);
    free(p->live);
}

static bool compose(const run_list *l, const report_parts *parts, text_buffer *page)
{
    text_buffer data = {.data = NULL};
    tutti_error e = TUTTI_ERROR_INIT;
    const bool done = report_data(&data, l, TUTTI_VERSION, &e) == TUTTI_OK &&
                      report_page(page, parts, data.data, 0, &e) == TUTTI_OK;
    if (!done)
        (void)fprintf(stderr, "tutti: %s\n", e.text);
    free(data.data);
    return done;
}

/* The whole file, or the one that was there. */
static bool write_page(const char *path, const text_buffer *page)
{
    output_file f;
    tutti_error e = TUTTI_ERROR_INIT;
    cli_tell_closed_pipes();
    tutti_status s = output_file_open(path, NULL, &f, &e);
    if (!s) {
        (void)fwrite(page->data, 1, page->size, f.file);
        s = output_file_close(&f, true, &e);
    }
    if (s)
        (void)fprintf(stderr, "tutti: the page cannot be written: %s\n", e.text);
    return !s;
}

static int run(const cli_options *o, const tutti_op *const *ops)
{
    run_list l = {.items = NULL};
    text_buffer page = {.data = NULL};
    report_parts parts = {.page = NULL};
    const char *path = o->look.page ? o->look.page : "report.html";
    int status = CLI_USAGE;
    (void)ops;
    if (read_runs(o, &l)) {
        status = CLI_FAILED;
        if (!read_parts(&parts, o->look.live))
            ; /* which has been said */
        else if (o->look.live)
            status = report_live(&l, &parts, o->look.port);
        else if (compose(&l, &parts, &page) && write_page(path, &page)) {
            (void)fprintf(cli_notes(path), "%s: %zu run%s, %zu KiB\n", path, l.count,
                          l.count == 1 ? "" : "s", page.size / 1024);
            status = CLI_OK;
        }
    }
    free(page.data);
    free_parts(&parts);
    run_list_fini(&l);
    return status;
}

const cli_command cli_report = {
    .name = "report",
    .args = "[RUN_FOLDER...]",
    .kind = CLI_VALUE_FOLDER,
    .summary = "write runs as one HTML file with their curves",
    .doc =
        "Writes the runs, those of ./runs without a folder, as one HTML file that needs no "
        "network: curves over each other, settings that differ, what each algorithm did, step "
        "times, memory by part, images and answers with their classes, texts, the machine, "
        "warnings.",
    .more = "Curves are read from the log of the logger jsonl, what algorithms did from its "
            "traces\n(\"log_traces\": true) or from \"traces\", step times from \"profiler\", "
            "images from the\n"
            "callback image_visualizer, answers from eval_output_logging, a confusion matrix "
            "from\nthe metric of that name.\n"
            "Exit status: 0 written, 1 it cannot be written, or Chart.js is missing,\n"
            "             2 wrong usage, or there is no run.\n"
            "With --live it prints an address, http://127.0.0.1:PORT/, answers nobody but "
            "this\nmachine, and ends with\n"
            "status 0 when none of the runs goes on, or by Ctrl-C.",
    .takes = CLI_TAKES_PAGE,
    .least = 0,
    .most = CLI_MAX_OPTIONS,
    .run = run,
};
