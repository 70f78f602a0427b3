/* server_check.h - an HTTP server on this machine for the tests of what talks to one: it answers, is slow, talks
 * nonsense, is down. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_CHECK_H
#define SERVER_CHECK_H

#include "run_check.h"
#include "tutti_check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SERVER_ROOM = 1 << 16 };

typedef struct server_request {
    char method[8];
    char path[1024];
    const char *headers; /* whole, with the request line */
    const char *body;    /* ends with a zero */
    size_t size;
} server_request;

typedef struct server {
    int fd;
    int port;
    bool runs;
    pthread_t thread;
    pthread_mutex_t lock; /* held while `answer` runs */
    pthread_cond_t changed;
    uint32_t requests; /* answered so far */
    /* Writes a whole answer, or nonsense; returns bytes, 0 to hang up. */
    size_t (*answer)(struct server *s, const server_request *r, char *out, size_t room);
} server;

/* An answer for server.answer. */
static inline size_t server_reply(char *out, size_t room, int status, const char *headers,
                                  const char *body)
{
    return (size_t)snprintf(out, room,
                            "HTTP/1.1 %d Status\r\nContent-Length: %zu\r\nConnection: "
                            "close\r\n%s\r\n%s",
                            status, strlen(body), headers, body);
}

/* The value of a header; "" where there is none. */
static inline const char *server_header(const server_request *r, const char *name, char *value,
                                        size_t room)
{
    const size_t n = strlen(name);
    value[0] = '\0';
    for (const char *at = r->headers; at && *at; at = strstr(at, "\r\n")) {
        at += at == r->headers ? 0 : 2;
        if (strncasecmp(at, name, n) == 0 && at[n] == ':') {
            at += n + 1 + strspn(at + n + 1, " ");
            (void)snprintf(value, room, "%.*s", (int)strcspn(at, "\r\n"), at);
            break;
        }
    }
    return value;
}

/* Reads a whole request; 0: the other side hung up. */
static inline size_t server_read(int fd, char *data, size_t room, size_t *ret_header)
{
    size_t have = 0, want = SIZE_MAX;
    *ret_header = 0;
    while (have < want) {
        const ssize_t n = recv(fd, data + have, room - 1 - have, 0);
        if (n <= 0)
            return 0;
        have += (size_t)n;
        data[have] = '\0';
        const char *end = strstr(data, "\r\n\r\n");
        if (end && !*ret_header) {
            char length[32];
            const server_request r = {.headers = data};
            *ret_header = (size_t)(end - data) + 4;
            want =
                *ret_header +
                strtoul(server_header(&r, "Content-Length", length, sizeof length), NULL, 10);
        }
    }
    return have;
}

static inline void server_serve(server *s, int fd, char *in, size_t room, char *out)
{
    size_t header;
    const size_t size = server_read(fd, in, room, &header);
    server_request r = {.headers = in, .body = in + header, .size = size - header};
    if (!size || sscanf(in, "%7s %1023s", r.method, r.path) != 2)
        return;
    (void)pthread_mutex_lock(&s->lock);
    const size_t n = s->answer(s, &r, out, SERVER_ROOM);
    s->requests++;
    (void)pthread_cond_broadcast(&s->changed);
    (void)pthread_mutex_unlock(&s->lock);
    if (n)
        (void)!send(fd, out, n, MSG_NOSIGNAL);
    (void)shutdown(fd, SHUT_WR);
}

static inline void *server_work(void *ctx)
{
    server *s = (server *)ctx;
    const size_t room = (size_t)16 << 20;
    char *in = (char *)malloc(room), *out = (char *)malloc(SERVER_ROOM);
    for (int fd; in && out && (fd = accept(s->fd, NULL, NULL)) >= 0;) {
        server_serve(s, fd, in, room, out);
        (void)close(fd);
    }
    free(in);
    free(out);
    return NULL;
}

/* Takes a port; who connects is refused until server_start. */
static inline void server_init(server *s, size_t (*answer)(server *, const server_request *,
                                                           char *, size_t))
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    memset(s, 0, sizeof *s);
    s->answer = answer;
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_cond_init(&s->changed, NULL);
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(s->fd, 0);
    ck_assert_int_eq(bind(s->fd, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(getsockname(s->fd, (struct sockaddr *)&at, &size), 0);
    s->port = ntohs(at.sin_port);
}

static inline void server_start(server *s)
{
    ck_assert_int_eq(listen(s->fd, 16), 0);
    ck_assert_int_eq(pthread_create(&s->thread, NULL, server_work, s), 0);
    s->runs = true;
}

/* Until that many requests were answered. */
static inline void server_wait(server *s, uint32_t requests)
{
    (void)pthread_mutex_lock(&s->lock);
    while (s->requests < requests)
        (void)pthread_cond_wait(&s->changed, &s->lock);
    (void)pthread_mutex_unlock(&s->lock);
}

static inline void server_fini(server *s)
{
    (void)shutdown(s->fd, SHUT_RDWR);
    if (s->runs)
        (void)pthread_join(s->thread, NULL);
    (void)close(s->fd);
}

/* The fixture of a plugin that sends: a run, the plugin in it, the server.  The test defines what the server answers. */
static stage run;
static subject it;
static server there;
static size_t answer(server *s, const server_request *r, char *out, size_t room);

static inline void server_setup(void)
{
    stage_init(&run);
    server_init(&there, answer);
}

static inline void server_teardown(void)
{
    server_fini(&there);
    stage_fini(&run);
}

/* Until the plugin has told something. */
static inline void server_wait_note(void)
{
    while (!run.noted[0]) {
        ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_START);
        (void)usleep(10000);
    }
}

#endif
