/* report_live.c - tutti report --live: the page while runs train. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_live.h"

#include "cli/cli.h"
#include "report/live.h"
#include "report/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t stopped;

static void stop(int number)
{
    (void)number;
    stopped = 1;
}

static void catch_signals(void)
{
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = stop};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        (void)sigaction(numbers[k], &action, NULL);
    action.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &action, NULL); /* a browser that is gone */
}

/* What is served. */
typedef struct live_page {
    run_list *runs;
    const report_parts *parts;
    live_runs live;
} live_page;

static void tell_port(void *ctx, uint16_t port)
{
    (void)ctx;
    (void)printf("http://127.0.0.1:%u/ shows the runs until they end; Ctrl-C ends it earlier\n",
                 (unsigned)port);
    (void)cli_flush();
}

static tutti_status make_page(void *ctx, uint64_t number, text_buffer *b, tutti_error *err)
{
    const live_page *p = ctx;
    text_buffer data = {.data = NULL};
    tutti_status s = report_data(&data, p->runs, TUTTI_VERSION, err);
    if (!s)
        s = report_page(b, p->parts, data.data, number, err);
    free(data.data);
    return s;
}

static tutti_status look(void *ctx, text_buffer *b, int *ret_what, tutti_error *err)
{
    live_page *p = ctx;
    int what;
    if (!live_goes_on(&p->live)) {
        *ret_what = SERVE_END;
        return TUTTI_OK;
    }
    const tutti_status s = live_look(&p->live, b, &what, err);
    *ret_what = what == LIVE_MORE    ? SERVE_CHANGE
                : what == LIVE_AGAIN ? SERVE_AGAIN
                                     : SERVE_NOTHING;
    return s;
}

/* False after saying what is wrong. */
static bool read_port(const char *text, uint16_t *ret)
{
    char *end = NULL;
    const long port = text ? strtol(text, &end, 10) : 0;
    *ret = (uint16_t)port;
    if (!text || (*text && *end == '\0' && port >= 0 && port <= 65535))
        return true;
    (void)fprintf(stderr, "tutti: --port %s: want a number from 0 to 65535\n", text);
    return false;
}

static void tell_end(const run_list *runs)
{
    if (stopped)
        (void)printf("stopped; runs that train go on\n");
    for (size_t k = 0; !stopped && k < runs->count; k++)
        (void)printf("%s: %s after %lld batches\n", runs->items[k].path, runs->items[k].status,
                     (long long)runs->items[k].batches);
}

int report_live(run_list *runs, const report_parts *parts, const char *port)
{
    live_page p = {.runs = runs, .parts = parts};
    const serve_calls calls = {
        .ctx = &p, .begun = tell_port, .page = make_page, .look = look, .stopped = &stopped};
    tutti_error e = TUTTI_ERROR_INIT;
    uint16_t number;
    if (!read_port(port, &number))
        return CLI_USAGE;
    tutti_status s = live_init(&p.live, runs, &e);
    if (!s && !live_goes_on(&p.live)) {
        (void)fprintf(stderr, "tutti: none of the runs goes on; without --live report writes "
                              "their page to a file\n");
        live_fini(&p.live);
        return CLI_USAGE;
    }
    catch_signals();
    if (!s)
        s = serve(&calls, number, &e);
    if (s)
        (void)fprintf(stderr, "tutti: %s\n", e.text);
    else
        tell_end(runs);
    live_fini(&p.live);
    return s ? CLI_FAILED : CLI_OK;
}
