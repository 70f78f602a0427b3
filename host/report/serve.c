/* serve.c - one thread: requests by libmicrohttpd, between them a look for what is new. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "report/serve.h"

#include "base/monotonic.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOOK_MS = 250,    /* between two looks */
    PING_MS = 10000,  /* between signs of life, by which a reader that is gone is noticed */
    LINGER_MS = 3000, /* that readers have to take the end */
    CONNECTIONS = 64, /* at a time */
    IDLE_S = 30,      /* that a request may take */
    KEPT = 512,       /* events; a reader that is further behind loads the page anew */
    BLOCK = 64 * 1024 /* bytes handed over at a time */
};

typedef struct event {
    uint64_t number;
    char *text; /* as it is sent */
    size_t size;
} event;

/* One reader of /events. */
typedef struct stream {
    struct server *server;
    struct MHD_Connection *connection;
    uint64_t next; /* event */
    size_t at;     /* what of it has been sent */
    bool waits;    /* the connection is suspended */
    bool pinged;   /* a sign of life is due */
    bool ended;    /* all is sent */
    struct stream *following;
} stream;

typedef struct server {
    const serve_calls *calls;
    struct MHD_Daemon *daemon;
    uint16_t port;
    uint64_t number; /* of the last event; the first has 1 */
    event kept[KEPT];
    stream *streams;
    bool over;           /* no event will follow */
    tutti_error failure; /* of a call, which ends the server */
} server;

static int64_t now_ms(void)
{
    return monotonic_ns() / 1000000;
}

/* ---- events ---- */

static void wake(server *s)
{
    for (stream *r = s->streams; r; r = r->following)
        if (r->waits) {
            r->waits = false;
            MHD_resume_connection(r->connection);
        }
}

static tutti_status add_event(server *s, const char *name, const char *line, tutti_error *err)
{
    text_buffer b = {.data = NULL};
    event *e = &s->kept[(s->number + 1) % KEPT];
    text_add(&b, "id: %llu\nevent: %s\ndata: ", (unsigned long long)s->number + 1, name);
    text_add_bytes(&b, line, strlen(line));
    text_add(&b, "\n\n");
    if (b.failed) {
        free(b.data);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory to serve the page");
    }
    free(e->text);
    *e = (event){++s->number, b.data, b.size};
    wake(s);
    return TUTTI_OK;
}

/* The event that a reader wants next; NULL: it is not there, or no longer. */
static const event *find_event(const server *s, uint64_t number)
{
    const event *e = &s->kept[number % KEPT];
    return e->text && e->number == number ? e : NULL;
}

/* ---- streams ---- */

static ssize_t give(char *to, size_t capacity, const char *text, size_t size)
{
    const size_t n = size < capacity ? size : capacity;
    memcpy(to, text, n);
    return (ssize_t)n;
}

static ssize_t read_stream(void *ctx, uint64_t at, char *to, size_t capacity)
{
    static const char ping[] = ":\n\n", again[] = "event: again\ndata: {}\n\n";
    stream *r = ctx;
    const server *s = r->server;
    const event *e = find_event(s, r->next);
    (void)at;
    if (r->ended)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (!e && r->next <= s->number && capacity >= sizeof again - 1) { /* too far behind */
        r->ended = true;
        return give(to, capacity, again, sizeof again - 1);
    }
    if (e) {
        const ssize_t n = give(to, capacity, e->text + r->at, e->size - r->at);
        r->at += (size_t)n;
        if (r->at == e->size) {
            r->next++;
            r->at = 0;
            r->pinged = false;
        }
        return n;
    }
    if (s->over)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (r->pinged && capacity >= sizeof ping - 1) {
        r->pinged = false;
        return give(to, capacity, ping, sizeof ping - 1);
    }
    r->waits = true;
    MHD_suspend_connection(r->connection);
    return 0;
}

static void close_stream(void *ctx)
{
    stream *gone = ctx;
    for (stream **at = &gone->server->streams; *at; at = &(*at)->following)
        if (*at == gone) {
            *at = gone->following;
            break;
        }
    free(gone);
}

static void ping(server *s)
{
    for (stream *r = s->streams; r; r = r->following)
        r->pinged = true;
    wake(s);
}

/* ---- answers ---- */

static enum MHD_Result answer(struct MHD_Connection *c, unsigned code, const char *type,
                              struct MHD_Response *r)
{
    const char *const headers[][2] = {
        {MHD_HTTP_HEADER_CONTENT_TYPE, type},  {MHD_HTTP_HEADER_CACHE_CONTROL, "no-store"},
        {"X-Content-Type-Options", "nosniff"}, {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},    {"Cross-Origin-Resource-Policy", "same-origin"}};
    enum MHD_Result done = r ? MHD_YES : MHD_NO;
    for (size_t k = 0; done == MHD_YES && k < sizeof headers / sizeof *headers; k++)
        done = MHD_add_response_header(r, headers[k][0], headers[k][1]);
    if (done == MHD_YES && code == MHD_HTTP_METHOD_NOT_ALLOWED)
        done = MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET");
    if (done == MHD_YES)
        done = MHD_queue_response(c, code, r);
    if (r)
        MHD_destroy_response(r);
    return done;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned code, const char *why)
{
    return answer(c, code, "text/plain; charset=utf-8",
                  MHD_create_response_from_buffer(strlen(why), (void *)(uintptr_t)why,
                                                  MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result answer_page(server *s, struct MHD_Connection *c)
{
    text_buffer b = {.data = NULL};
    if (s->calls->page(s->calls->ctx, s->number, &b, &s->failure)) {
        free(b.data);
        return refuse(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "the page cannot be made\n");
    }
    struct MHD_Response *page =
        MHD_create_response_from_buffer(b.size, b.data, MHD_RESPMEM_MUST_FREE);
    if (!page)
        free(b.data);
    return answer(c, MHD_HTTP_OK, "text/html; charset=utf-8", page);
}

/* The number behind the text; 0 without one, or with one that is none. */
static uint64_t number_of(const char *text)
{
    char *end = NULL;
    const unsigned long long n =
        text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    return end && *end == '\0' ? (uint64_t)n : 0;
}

/* From the event behind the last that the reader has: the header is a browser's that has lost the connection. */
static enum MHD_Result answer_events(server *s, struct MHD_Connection *c)
{
    const char *last = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Last-Event-ID");
    const char *after = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "after");
    stream *r = calloc(1, sizeof *r);
    if (!r)
        return MHD_NO;
    *r = (stream){.server = s,
                  .connection = c,
                  .next = number_of(last ? last : after) + 1,
                  .following = s->streams};
    s->streams = r;
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, BLOCK, read_stream, r, close_stream);
    if (!response)
        close_stream(r);
    return answer(c, MHD_HTTP_OK, "text/event-stream", response);
}

/* A page of elsewhere that has its name resolve to this machine is told apart by that name. */
static bool is_local(const server *s, struct MHD_Connection *c)
{
    char name[2][32];
    const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    (void)snprintf(name[0], sizeof name[0], "127.0.0.1:%u", (unsigned)s->port);
    (void)snprintf(name[1], sizeof name[1], "localhost:%u", (unsigned)s->port);
    return host && (strcmp(host, name[0]) == 0 || strcmp(host, name[1]) == 0);
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *c, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *size, void **request)
{
    server *s = ctx;
    (void)version, (void)data, (void)size, (void)request;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0)
        return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET is answered here\n");
    if (!is_local(s, c))
        return refuse(c, MHD_HTTP_FORBIDDEN, "ask for 127.0.0.1 or localhost, with the port\n");
    if (strcmp(url, "/") == 0)
        return answer_page(s, c);
    if (strcmp(url, "/events") == 0)
        return answer_events(s, c);
    return refuse(c, MHD_HTTP_NOT_FOUND, "there is / and /events\n");
}

/* ---- the loop ---- */

static tutti_status start(server *s, uint16_t port, tutti_error *err)
{
    struct sockaddr_in here = {.sin_family = AF_INET,
                               .sin_port = htons(port),
                               .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    s->daemon = MHD_start_daemon(MHD_ALLOW_SUSPEND_RESUME, port, NULL, NULL, handle, s,
                                 MHD_OPTION_SOCK_ADDR, &here, MHD_OPTION_CONNECTION_LIMIT,
                                 (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
                                 (unsigned)IDLE_S, MHD_OPTION_END);
    const union MHD_DaemonInfo *info =
        s->daemon ? MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
    if (!info)
        return tutti_fail(err, TUTTI_E_IO, "port %u of 127.0.0.1 cannot be had: %s",
                          (unsigned)port, errno ? strerror(errno) : "no reason is known");
    s->port = info->port;
    return TUTTI_OK;
}

static tutti_status look(server *s, tutti_error *err)
{
    static const char *const names[] = {"", "change", "again", "end"};
    text_buffer b = {.data = NULL};
    int what = SERVE_NOTHING;
    tutti_status status = s->calls->look(s->calls->ctx, &b, &what, err);
    if (!status && what != SERVE_NOTHING)
        status = add_event(s, names[what], what == SERVE_CHANGE ? b.data : "{}", err);
    s->over = s->over || what == SERVE_END;
    free(b.data);
    return status;
}

static tutti_status run(server *s, tutti_error *err)
{
    int64_t looked = 0, pinged = now_ms();
    while (!s->over && !*s->calls->stopped) {
        const int64_t now = now_ms();
        tutti_status status = TUTTI_OK;
        if (now - looked >= LOOK_MS) {
            looked = now;
            status = look(s, err);
        }
        if (now - pinged >= PING_MS) {
            pinged = now;
            ping(s);
        }
        if (!status && s->failure.status)
            status = tutti_fail(err, s->failure.status, "%s", s->failure.text);
        if (status)
            return status;
        (void)MHD_run_wait(s->daemon, LOOK_MS);
    }
    return TUTTI_OK;
}

/* Readers take what they have not yet. */
static void finish(server *s)
{
    const int64_t end = now_ms() + LINGER_MS;
    s->over = true;
    wake(s);
    while (s->streams && now_ms() < end)
        (void)MHD_run_wait(s->daemon, LOOK_MS);
    wake(s); /* a daemon that stops wants no suspended connection */
    (void)MHD_run(s->daemon);
    MHD_stop_daemon(s->daemon);
}

tutti_status serve(const serve_calls *calls, uint16_t port, tutti_error *err)
{
    server *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory to serve the page");
    *s = (server){.calls = calls, .failure = TUTTI_ERROR_INIT};
    errno = 0;
    tutti_status status = start(s, port, err);
    if (!status) {
        calls->begun(calls->ctx, s->port);
        status = run(s, err);
    }
    if (s->daemon)
        finish(s);
    for (size_t k = 0; k < KEPT; k++)
        free(s->kept[k].text);
    free(s);
    return status;
}
