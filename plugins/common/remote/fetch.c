/* fetch.c - a file that is fetched until it is there whole. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "remote_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_WAIT_MS = 250, LONGEST_WAIT_MS = 30000 };

static tutti_status fetch_once(remote *r, const remote_request *request, const char *part,
                               const remote_check *check, remote_answer *answer,
                               tutti_error *err)
{
    char address[REMOTE_ADDRESS];
    remote_request q = *request;
    tutti_status s = remote_address(r, q.name, NULL, address, err);
    *answer = (remote_answer){0};
    q.file = s ? NULL : fopen(part, "wbe");
    if (!q.file)
        return s ? s : tutti_fail(err, TUTTI_E_IO, "%s: %s", part, strerror(errno));
    s = remote_send(r, &q, answer, err);
    const bool lost = fflush(q.file) != 0 || ferror(q.file);
    if (fclose(q.file) != 0 || lost)
        return s ? s : tutti_fail(err, TUTTI_E_IO, "%s: cannot be written", part);
    if (s || !check->check)
        return s;
    s = check->check(check->ctx, part, answer->size, address, err);
    answer->again = s == TUTTI_E_FORMAT;
    return s;
}

/* In small steps; longer after each attempt. */
void remote_wait(const remote *r, int64_t turn, int64_t asked_s)
{
    const struct timespec step = {0, 50000000};
    int64_t ms = FIRST_WAIT_MS;
    for (int64_t k = 1; k < turn && ms < LONGEST_WAIT_MS; k++)
        ms *= 2;
    ms = 1000 * asked_s > ms ? 1000 * asked_s : ms;
    ms = ms < LONGEST_WAIT_MS ? ms : LONGEST_WAIT_MS;
    for (int64_t waited = 0; waited < ms && !remote_is_stopped(r); waited += 50)
        (void)nanosleep(&step, NULL);
}

static void make_folders(const char *path)
{
    char folder[4096];
    (void)snprintf(folder, sizeof folder, "%s", path);
    for (char *c = strchr(folder + 1, '/'); c; c = strchr(c + 1, '/')) {
        *c = '\0';
        (void)mkdir(folder, 0777); /* what fails is told when the file is opened */
        *c = '/';
    }
}

tutti_status remote_fetch(remote *r, const char *name, const char *path,
                          const remote_check *check, tutti_error *err)
{
    char part[4096];
    tutti_error cause = TUTTI_ERROR_INIT;
    remote_answer answer = {.again = true};
    int64_t tries = 0;
    tutti_status s = TUTTI_E_IO;
    const remote_request request = {.method = "GET", .name = name, .most = check->most};
    const uint32_t number = __atomic_fetch_add(&r->fetches, 1, __ATOMIC_RELAXED);
    if ((size_t)snprintf(part, sizeof part, "%s.part-%ld-%u", path, (long)getpid(), number) >=
        sizeof part)
        return tutti_fail(err, TUTTI_E_ARG, "%s: the path is too long", path);
    make_folders(path);
    for (; s && answer.again && tries <= r->retries; tries++) {
        if (tries > 0)
            remote_wait(r, tries, answer.wait_s);
        cause = (tutti_error)TUTTI_ERROR_INIT;
        s = fetch_once(r, &request, part, check, &answer, &cause);
    }
    if (s == TUTTI_OK && rename(part, path) != 0)
        s = tutti_fail(&cause, TUTTI_E_IO, "%s: %s", path, strerror(errno));
    if (s == TUTTI_OK)
        return s;
    (void)unlink(part);
    return tries > 1 ? tutti_fail(err, s, "%s; tried %lld times", cause.text, (long long)tries)
                     : tutti_fail(err, s, "%s", cause.text);
}
