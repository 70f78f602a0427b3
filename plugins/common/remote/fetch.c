/* fetch.c - a file that is fetched until it is there whole. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "remote_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_WAIT_MS = 250, LONGEST_WAIT_MS = REMOTE_LONGEST_WAIT_MS };

/* What has come so far. */
typedef struct part {
    char path[4096];
    uint64_t have;          /* its first bytes, to go on from */
    char etag[REMOTE_ETAG]; /* of the file that they are of */
} part;

/* Whether bytes of two answers with this ETag are those of one file. */
static bool is_strong(const char *etag)
{
    return *etag && strncmp(etag, "W/", 2) != 0;
}

/* After an attempt that failed: how much of the part another one can go on from. */
static void keep_part(part *p, const remote_answer *answer, tutti_status s)
{
    const bool began = answer->status >= 200 && answer->status < 300;
    if (s == TUTTI_E_FORMAT)
        p->have = 0;
    else if (!began) /* 416: the file is shorter than the part */
        p->have = answer->status == 416 ? 0 : p->have;
    else if (answer->from == 0 || strcmp(answer->etag, p->etag) == 0)
        p->have = is_strong(answer->etag) ? answer->from + answer->size : 0;
    else
        p->have = 0;
    if (began && answer->from == 0)
        (void)snprintf(p->etag, sizeof p->etag, "%s", answer->etag);
}

static tutti_status fetch_once(remote *r, const remote_request *request, part *p,
                               const remote_check *check, remote_answer *answer,
                               tutti_error *err)
{
    char address[REMOTE_ADDRESS];
    remote_request q = *request;
    tutti_status s = remote_address(r, q.name, NULL, address, err);
    *answer = (remote_answer){0};
    if (s)
        return s;
    q.from = p->have;
    q.etag = p->etag;
    q.file = fopen(p->path, p->have ? "r+be" : "wbe");
    if (!q.file)
        return tutti_fail(err, TUTTI_E_IO, "%s: %s", p->path, strerror(errno));
    s = fseeko(q.file, (off_t)p->have, SEEK_SET) == 0
            ? remote_send(r, &q, answer, err)
            : tutti_fail(err, TUTTI_E_IO, "%s: %s", p->path, strerror(errno));
    const bool lost = fflush(q.file) != 0 || ferror(q.file);
    if (fclose(q.file) != 0 || lost)
        return s ? s : tutti_fail(err, TUTTI_E_IO, "%s: cannot be written", p->path);
    if (s) {
        keep_part(p, answer, s);
        return s;
    }
    p->have = 0;
    s = check->check
            ? check->check(check->ctx, p->path, answer->from + answer->size, address, err)
            : TUTTI_OK;
    answer->again = s == TUTTI_E_FORMAT;
    return s;
}

/* Before attempt `turn` from 1 on: longer after each, or as long as the server asks for; in small steps. */
static void wait_for_turn(const remote *r, const remote_check *check, int64_t turn,
                          int64_t asked_s)
{
    const struct timespec step = {0, 50000000};
    int64_t ms = FIRST_WAIT_MS;
    for (int64_t k = 1; k < turn && ms < LONGEST_WAIT_MS; k++)
        ms *= 2;
    ms = 1000 * asked_s > ms ? 1000 * asked_s : ms;
    ms = ms < LONGEST_WAIT_MS ? ms : LONGEST_WAIT_MS;
    for (int64_t waited = 0; waited < ms && !remote_must_end(r, check); waited += 50)
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

/* To `path`, by way of the part. */
static tutti_status fetch_file(remote *r, const char *name, const char *path, part *p,
                               const remote_check *check, tutti_error *err)
{
    tutti_error cause = TUTTI_ERROR_INIT;
    remote_answer answer = {.again = true};
    int64_t tries = 0;
    tutti_status s = TUTTI_E_IO;
    const remote_request request = {.method = "GET",
                                    .name = name,
                                    .most = check->most,
                                    .must_end = check->must_end,
                                    .ctx = check->ctx};
    for (; s && answer.again && tries <= r->retries; tries++) {
        if (tries > 0)
            wait_for_turn(r, check, tries, answer.wait_s);
        cause = (tutti_error)TUTTI_ERROR_INIT;
        s = fetch_once(r, &request, p, check, &answer, &cause);
    }
    if (s == TUTTI_OK && rename(p->path, path) != 0)
        s = tutti_fail(&cause, TUTTI_E_IO, "%s: %s", path, strerror(errno));
    if (s == TUTTI_OK)
        return s;
    (void)unlink(p->path);
    return tries > 1 ? tutti_fail(err, s, "%s; tried %lld times", cause.text, (long long)tries)
                     : tutti_fail(err, s, "%s", cause.text);
}

/* Whether another process has fetched the right one. */
static bool is_here(const remote *r, const char *name, const char *path,
                    const remote_check *check)
{
    struct stat st;
    char address[REMOTE_ADDRESS];
    tutti_error why = TUTTI_ERROR_INIT;
    if (stat(path, &st) != 0 || remote_address(r, name, NULL, address, &why))
        return false;
    return !check->check ||
           check->check(check->ctx, path, (uint64_t)st.st_size, address, &why) == TUTTI_OK;
}

static tutti_status fetch_in_turn(remote *r, const char *name, const char *path, part *p,
                                  const remote_check *check, tutti_error *err)
{
    remote_turn turn;
    if (!remote_turn_take(r, check, path, p->path, &turn))
        return tutti_fail(err, TUTTI_E_INTERRUPTED, "%s: not fetched, it is being closed",
                          path);
    const tutti_status s =
        is_here(r, name, path, check) ? TUTTI_OK : fetch_file(r, name, path, p, check, err);
    remote_turn_end(&turn);
    return s;
}

tutti_status remote_fetch(remote *r, const char *name, const char *path,
                          const remote_check *check, tutti_error *err)
{
    part p = {.have = 0};
    const uint32_t number = __atomic_fetch_add(&r->fetches, 1, __ATOMIC_RELAXED);
    if ((size_t)snprintf(p.path, sizeof p.path, "%s" REMOTE_PART "%ld-%u", path, (long)getpid(),
                         number) >= sizeof p.path)
        return tutti_fail(err, TUTTI_E_ARG, "%s: the path is too long", path);
    make_folders(path);
    return check->shared ? fetch_in_turn(r, name, path, &p, check, err)
                         : fetch_file(r, name, path, &p, check, err);
}
