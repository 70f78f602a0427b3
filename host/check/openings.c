/* openings.c - the checks open, services, leaks and instances. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "check/bench.h"
#include "check/imports.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tables are those of the first time; what nobody has heard of is not known. */
static void check_query(bench *b, instance *i)
{
    const char *const *ids = tables_consumed();
    for (size_t k = 0; ids[k]; k++) {
        const void *first = instance_query(i, ids[k]);
        for (int again = 0; again < 3; again++)
            if (instance_query(i, ids[k]) != first)
                child_say(b->child, CHECK_OPEN, CHECK_FAILED,
                          "query gives another %s each time", ids[k]);
    }
    if (instance_query(i, "tutti.nonsense/1") || instance_query(i, "") ||
        instance_query(i, "tutti.optimizer/99"))
        child_say(b->child, CHECK_OPEN, CHECK_FAILED,
                  "query answers interfaces that do not exist");
}

static bool close_one(bench *b, int check, instance *i)
{
    tutti_error e = TUTTI_ERROR_INIT;
    tutti_status s = instance_close(i, &e);
    if (!s)
        s = instance_post_close(i, &e);
    if (s)
        child_say(b->child, check, CHECK_FAILED, "%s", e.text);
    instance_free(i);
    return !s;
}

/* The object can be opened here at all. */
static bool check_open(bench *b)
{
    tutti_error e = TUTTI_ERROR_INIT;
    bool given;
    instance *i = NULL;
    const tutti_status s = bench_open(b, NULL, &given, &i, &e);
    if (s && given)
        bench_judge_refusal(b, CHECK_OPEN, "open", s, &e);
    if (s) {
        child_give_up(b->child, CHECK_OPEN, "", &e);
        return false;
    }
    check_query(b, i);
    return close_one(b, CHECK_OPEN, i);
}

static bool is_required(const bench *b, const char *id)
{
    const json_node *list =
        registry_requires(b->subject->options->registry, b->subject->plugin);
    for (size_t k = 0; k < json_count(list); k++)
        if (strcmp(json_string(json_at(list, k)), id) == 0)
            return true;
    return false;
}

/* Without one service after the other. */
static void check_services(bench *b)
{
    child_begin(b->child, CHECK_SERVICES);
    const int n = b->nasked;
    for (int k = 0; k < n; k++) {
        tutti_error e = TUTTI_ERROR_INIT;
        bool given;
        instance *i = NULL;
        char what[96];
        if (is_required(b, b->asked[k]))
            continue;
        b->denied = b->asked[k];
        (void)snprintf(what, sizeof what, "open without %s", b->denied);
        const tutti_status s = bench_open(b, NULL, &given, &i, &e);
        if (s)
            bench_judge_refusal(b, CHECK_SERVICES, what, s, &e);
        if (s)
            child_say(b->child, CHECK_SERVICES, CHECK_FAILED,
                      "does not open without %s, which its manifest does not require",
                      b->denied);
        else
            (void)close_one(b, CHECK_SERVICES, i);
        b->denied = NULL;
    }
}

static const void *no_service(void *ctx, const char *interface_id)
{
    (void)ctx;
    (void)interface_id;
    return NULL;
}

/* Straight into open: nobody wants to hear of the error, and no host has anything. */
static void check_bare_open(bench *b)
{
    char text[400];
    tutti_error e = TUTTI_ERROR_INIT;
    bool given;
    instance *i = NULL;
    tutti_params *p = subject_params(b->subject, NULL, text, sizeof text);
    if (p && !bench_open(b, NULL, &given, &i, &e)) {
        const tutti_calls *calls = instance_calls(i);
        const tutti_host host = {
            .struct_size = (uint32_t)sizeof host, .abi = TUTTI_ABI, .query = no_service};
        char mark;
        void *self = &mark;
        const tutti_status s = calls->open(&host, p, &self, NULL);
        if (s && self != (void *)&mark)
            child_say(b->child, CHECK_SERVICES, CHECK_FAILED,
                      "open fails and writes *ret_self all the same");
        if (!s && !calls->close(self, NULL) && calls->post_close)
            (void)calls->post_close(self, NULL);
        instance_free(i);
    }
    params_free(p);
}

static int entries(const char *folder)
{
    DIR *d = opendir(folder);
    int n = 0;
    while (d && readdir(d))
        n++;
    if (d)
        (void)closedir(d);
    return n;
}

enum { ROUNDS = 24, PARTS = 3, MOST_PARTS = 12, LEAK = 16 /* bytes an open */ };

/* What a part of the openings left behind. */
typedef struct leftovers {
    int64_t heap, files, tasks;
} leftovers;

static leftovers count_all(void)
{
    return (leftovers){(int64_t)bench_heap(), entries("/proc/self/fd"),
                       entries("/proc/self/task")};
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool is_leak(const leftovers *l)
{
    return l->files >= ROUNDS || l->tasks >= ROUNDS || l->heap >= (int64_t)ROUNDS * LEAK;
}

/* Growth that every part has is no cache that fills. */
static void check_leaks(bench *b)
{
    leftovers least = {INT64_MAX, INT64_MAX, INT64_MAX};
    child_begin(b->child, CHECK_LEAKS);
    for (int part = 0; part < PARTS || (part < MOST_PARTS && is_leak(&least)); part++) {
        const leftovers before = count_all();
        for (int k = 0; k < ROUNDS; k++) {
            tutti_error e = TUTTI_ERROR_INIT;
            bool given;
            instance *i = NULL;
            if (!bench_open(b, NULL, &given, &i, &e) && !close_one(b, CHECK_LEAKS, i))
                return;
        }
        const leftovers now = count_all();
        least.heap = lesser(least.heap, now.heap - before.heap);
        least.files = lesser(least.files, now.files - before.files);
        least.tasks = lesser(least.tasks, now.tasks - before.tasks);
    }
    if (least.files >= ROUNDS)
        child_say(b->child, CHECK_LEAKS, CHECK_FAILED, "each open leaves a file open");
    else if (least.tasks >= ROUNDS)
        child_say(b->child, CHECK_LEAKS, CHECK_FAILED, "each open leaves a thread behind");
    else if (is_leak(&least))
        child_say(b->child, CHECK_LEAKS, CHECK_FAILED,
                  "each open leaves %lld bytes of memory behind",
                  (long long)(least.heap / ROUNDS));
}

static void check_instances(bench *b)
{
    child_begin(b->child, CHECK_INSTANCES);
    for (int order = 0; order < 2; order++) {
        tutti_error e = TUTTI_ERROR_INIT;
        bool given;
        instance *pair[2] = {NULL, NULL};
        for (int k = 0; k < 2; k++)
            if (bench_open(b, NULL, &given, &pair[k], &e))
                child_say(b->child, CHECK_INSTANCES, CHECK_FAILED, "beside another one: %s",
                          e.text);
        for (int k = 0; k < 2; k++)
            if (pair[k ^ order])
                (void)close_one(b, CHECK_INSTANCES, pair[k ^ order]);
    }
}

static void check_forbidden(bench *b)
{
    const char *name = imports_forbidden();
    if (name)
        child_say(b->child, CHECK_PROCESS, CHECK_FAILED,
                  "calls %s, which is the host's alone (see CONTRACT.md)", name);
}

void bench_check_openings(child *c, void *subject_)
{
    bench b;
    if (!bench_begin(&b, subject_, c, CHECK_OPEN))
        return;
    const bool open = check_open(&b);
    registry_look(b.subject->options->registry, false);
    if (open) {
        check_services(&b);
        check_bare_open(&b);
        check_instances(&b);
        check_leaks(&b);
    }
    check_forbidden(&b);
    bench_end(&b);
}
