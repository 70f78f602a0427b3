/* http_fuzz.c - any bytes as what a server answers: an error, or a file that is there whole. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_file.h"

#include "common/remote/remote.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

enum { MOST_BYTES = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A server on loopback that gives every request the same bytes and hangs up. */
static struct {
    int listener;
    char url[64];
    pthread_mutex_t lock;
    const uint8_t *data; /* of the input under way: the fuzzer frees it behind that */
    size_t size;
} server = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void set_answer(const uint8_t *data, size_t size)
{
    (void)pthread_mutex_lock(&server.lock);
    server.data = data;
    server.size = size;
    (void)pthread_mutex_unlock(&server.lock);
}

static void *serve(void *unused)
{
    char request[4096];
    for (;;) {
        const int client = accept4(server.listener, NULL, NULL, SOCK_CLOEXEC);
        if (client < 0)
            continue;
        (void)!read(client, request, sizeof request);
        (void)pthread_mutex_lock(&server.lock);
        if (server.size)
            (void)!write(client, server.data, server.size);
        (void)pthread_mutex_unlock(&server.lock);
        (void)close(client);
    }
    return unused;
}

static void start(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    pthread_t thread;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)signal(SIGPIPE, SIG_IGN);
    server.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server.listener < 0 ||
        bind(server.listener, (struct sockaddr *)&address, length) != 0 ||
        listen(server.listener, 16) != 0 ||
        getsockname(server.listener, (struct sockaddr *)&address, &length) != 0 ||
        pthread_create(&thread, NULL, serve, NULL) != 0)
        abort();
    (void)snprintf(server.url, sizeof server.url, "http://127.0.0.1:%d/a",
                   ntohs(address.sin_port));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[2 * FUZZ_PATH];
    remote *r = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    if (!REMOTE_HAS_CURL)
        return 0; /* each address is refused */
    if (!*server.url)
        start();
    set_answer(data, size);
    const remote_options options = {.who = "fuzz", .url = server.url, .silence_s = 5};
    const remote_check check = {.most = MOST_BYTES};
    if (remote_open(&options, &r, &err))
        abort();
    (void)snprintf(path, sizeof path, "%s/got", fuzz_folder());
    (void)unlink(path);
    const tutti_status s = remote_fetch(r, "x", path, &check, &err);
    if ((s != TUTTI_OK) != (err.text[0] != '\0') ||
        (s == TUTTI_OK) != (access(path, F_OK) == 0))
        abort();
    remote_close(r);
    set_answer(NULL, 0);
    return 0;
}
