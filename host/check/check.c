/* check.c - all checks of one plugin, in order: its files, its load, the life of each object. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "check/check.h"
#include "base/monotonic.h"
#include "check/bench.h"
#include "check/imports.h"
#include "check/life.h"
#include "check/values.h"

#include <errno.h>
#include <ftw.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void tell(const check_options *o, int check, int outcome, const object_info *i,
                 const char *text)
{
    const check_result r = {check, outcome, i ? i->kind : NULL, i ? i->name : NULL, text};
    o->tell(o->ctx, &r);
}

/* ---- the plugin ---- */

/* What the registry has found: a fault of one stage leaves the later ones untried. */
static bool tell_stages(const check_options *o, size_t k)
{
    static const int stages[] = {[STAGE_MANIFEST] = CHECK_MANIFEST,
                                 [STAGE_FILES] = CHECK_FILES,
                                 [STAGE_EXPORTS] = CHECK_EXPORTS,
                                 [STAGE_DEVICE_CODE] = CHECK_DEVICE_CODE,
                                 [STAGE_LOAD] = CHECK_LOAD};
    plugin_info p;
    registry_plugin(o->registry, k, &p);
    for (int stage = STAGE_MANIFEST; stage < (p.fault ? STAGE_LOAD + 1 : STAGE_LOAD); stage++) {
        const bool none = stage == STAGE_DEVICE_CODE && !registry_code(o->registry, k, 0);
        if (p.fault && stage == p.stage)
            tell(o, stages[stage], CHECK_FAILED, NULL, p.fault);
        else if (p.fault && stage > p.stage)
            tell(o, stages[stage], CHECK_NOT_TRIED, NULL, "what comes before it failed");
        else
            tell(o, stages[stage], none ? CHECK_NOT_TRIED : CHECK_PASSED, NULL,
                 none ? "no device code lies beside the library" : "");
    }
    return p.fault == NULL;
}

typedef struct loading {
    const check_options *options;
    size_t plugin;
    child *child;
    registry_probe probe;
} loading;

static void report(void *ctx, int level, const char *text)
{
    const loading *l = ctx;
    if (level >= TUTTI_LOG_ERROR)
        child_say(l->child, CHECK_LOAD, CHECK_FAILED, "%s", text);
}

enum { LOAD_MS = 100 }; /* of computing: who lists plugins waits for all of them */

static double cpu_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void try_entry(const loading *l)
{
    static const uint32_t hosts[] = {TUTTI_ABI_VERSION(1, 0),
                                     TUTTI_ABI_VERSION(1, 1),
                                     TUTTI_ABI_VERSION(1, 0xffff),
                                     TUTTI_ABI,
                                     0,
                                     UINT32_MAX,
                                     TUTTI_ABI_VERSION(2, 0)};
    const registry *r = l->options->registry;
    child_begin(l->child, CHECK_ENTRY);
    const tutti_plugin *first = registry_entry(r, l->plugin, TUTTI_ABI);
    if (!first) /* a foreign library has no entry */
        return;
    const tutti_plugin copy = *first;
    const size_t heap = mallinfo2().uordblks;
    for (int k = 0; k < 1000; k++)
        for (size_t n = 0; n < sizeof hosts / sizeof *hosts; n++) {
            const tutti_plugin *p = registry_entry(r, l->plugin, hosts[n]);
            if (hosts[n] == TUTTI_ABI && p != first)
                child_say(l->child, CHECK_ENTRY, CHECK_FAILED,
                          "the entry gives another table each time");
            if (!p && hosts[n] >> 16 == 1 && hosts[n] >= copy.abi_min)
                child_say(l->child, CHECK_ENTRY, CHECK_FAILED,
                          "the entry has nothing for host ABI %u.%u, later than the %u.%u that "
                          "it needs",
                          hosts[n] >> 16, hosts[n] & 0xffff, copy.abi_min >> 16,
                          copy.abi_min & 0xffff);
        }
    if (memcmp(first, &copy, sizeof copy) != 0)
        child_say(l->child, CHECK_ENTRY, CHECK_FAILED, "the entry changes its table");
    if (mallinfo2().uordblks > heap + 7000 * 8)
        child_say(l->child, CHECK_ENTRY, CHECK_FAILED, "the entry takes memory");
}

/* Where this process has no memory for it, or may not have so much, nothing is known of the plugin. */
static void refuse_load(child *c, const tutti_error *why)
{
    if (why->status == TUTTI_E_NOMEM)
        child_give_up(c, CHECK_LOAD, "", why);
    else
        child_say(c, CHECK_LOAD, CHECK_FAILED, "%s", why->text);
}

static void load(child *c, void *ctx)
{
    loading *l = ctx;
    tutti_error e = TUTTI_ERROR_INIT;
    l->child = c;
    plugin_info p;
    registry_plugin(l->options->registry, l->plugin, &p);
    l->probe = (registry_probe){.ctx = l, .plugin = p.id, .report = report};
    registry_watch(l->options->registry, &l->probe);
    child_begin(c, CHECK_LOAD);
    const double before = cpu_ms();
    if (registry_check(l->options->registry, l->plugin, &e)) {
        refuse_load(c, &e);
        return;
    }
    if (cpu_ms() - before > LOAD_MS)
        child_say(c, CHECK_LOAD, CHECK_FAILED, "computes for %.0f ms, want at most %d",
                  cpu_ms() - before, LOAD_MS);
    try_entry(l);
}

static void load_alone(child *c, void *ctx)
{
    const loading *l = ctx;
    tutti_error e = TUTTI_ERROR_INIT;
    child_begin(c, CHECK_LOAD);
    if (registry_check(l->options->registry, l->plugin, &e))
        refuse_load(c, &e);
}

enum { LIST_SECONDS = 20 };

tutti_status check_loads(registry *r, size_t k, char *ret_text, size_t size)
{
    const check_options o = {.registry = r, .seconds = LIST_SECONDS};
    loading l = {.options = &o, .plugin = k};
    child_report all = {.text = {""}};
    bool ended;
    tutti_error e = TUTTI_ERROR_INIT;
    const tutti_status s = child_run("/", o.seconds, true, load_alone, &l, &all, &ended, &e);
    const bool good = !s && all.outcome[CHECK_LOAD] == CHECK_PASSED;
    const char *why = *all.text[CHECK_LOAD] ? all.text[CHECK_LOAD] : e.text;
    (void)snprintf(ret_text, size, "%s", good ? "" : why);
    return good || s ? s : TUTTI_E_FAIL;
}

/* ---- what children said ---- */

static void take(child_report *all, const child_report *one)
{
    for (int k = 0; k < CHECKS_COUNT; k++) {
        const bool worse =
            one->outcome[k] == CHECK_FAILED || (one->outcome[k] >= 0 && all->outcome[k] < 0);
        if (worse && all->outcome[k] != CHECK_FAILED) {
            all->outcome[k] = one->outcome[k];
            memcpy(all->text[k], one->text[k], sizeof all->text[k]);
        }
    }
}

static void report_init(child_report *r)
{
    memset(r, 0, sizeof *r);
    for (int k = 0; k < CHECKS_COUNT; k++)
        r->outcome[k] = -1;
}

/* ---- an object ---- */

static int remove_one(const char *path, const struct stat *s, int flag, struct FTW *f)
{
    (void)s;
    (void)flag;
    (void)f;
    return remove(path);
}

static void remove_tree(const char *folder)
{
    (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

enum { CONDITIONS = 16 }; /* sets of events that are tried */

/* One more run for each other set of events that some setting leaves out.  *tried: those sets so far. */
static tutti_status try_condition(subject *s, const char *at, const char *value,
                                  uint64_t *tried, size_t *ntried, child_report *all,
                                  tutti_error *err)
{
    char folder[600];
    child_report one;
    bool ended;
    if (json_override(s->run, at, value, NULL))
        return TUTTI_OK;
    const uint64_t left = subject_left_out(s);
    bool known = left == ~UINT64_C(0) || *ntried == CONDITIONS;
    for (size_t k = 0; k < *ntried; k++)
        known = known || tried[k] == left;
    if (known)
        return TUTTI_OK;
    (void)snprintf(folder, sizeof folder, "%s/when", s->folder);
    remove_tree(folder);
    const tutti_status status =
        child_run(s->folder, s->options->seconds, false, life_condition, s, &one, &ended, err);
    if (status || one.outcome[CHECK_MATCH] < 0)
        return status;
    tried[(*ntried)++] = left;
    take(all, &one);
    return TUTTI_OK;
}

/* Settings decide which events it hears: the runs with other settings, one at a time. */
static tutti_status try_conditions(subject *s, child_report *all, tutti_error *err)
{
    uint64_t tried[CONDITIONS] = {subject_left_out(s)};
    size_t ntried = 1;
    const int stock = s->stock;
    tutti_status status = TUTTI_OK;
    bool any = false;
    for (size_t k = 0; k < s->info->nevents && !any; k++)
        any = object_when(s->object, k, NULL);
    for (size_t k = 0; any && k < json_count(s->info->params) && !status; k++) {
        const json_node *spec = json_at(s->info->params, k);
        setting_values v;
        setting_values_of(&v, spec);
        for (int n = 0; n < v.count && !status; n++) {
            char at[256];
            if ((status = subject_place(s, stock, err)) || !s->given)
                return status;
            (void)snprintf(at, sizeof at, "%s.%s", json_path(s->given), json_key(spec));
            status = try_condition(s, at, v.text[n], tried, &ntried, all, err);
        }
    }
    return status ? status : subject_place(s, stock, err);
}

enum {
    DEVICE_PATIENCE = 4, /* an emulated device is slow */
    LONGER = 60          /* than the whole run, which has 8 batches or those of check.json */
};

/* The run in two parts, and where there is time for it, a longer one. */
static tutti_status try_more_life(subject *s, bool may_print, double whole_s, child_report *all,
                                  tutti_error *err)
{
    void (*const works[])(child *, void *) = {life_half, life_long};
    const int n = whole_s * LONGER < s->options->seconds ? 2 : 1;
    tutti_status status = TUTTI_OK;
    for (int k = 0; k < n && !status; k++) {
        child_report one;
        bool ended;
        status = child_run(s->folder, s->options->seconds, may_print, works[k], s, &one, &ended,
                           err);
        if (!status)
            take(all, &one);
    }
    return status;
}

/* The stock run in which the object lives, tried in order; a child that crashes is no reason to go on. */
static tutti_status try_life(subject *s, child_report *all, tutti_error *err)
{
    child_report one;
    bool ended;
    double whole_s = 0.0;
    tutti_status status = TUTTI_OK;
    const bool may_print = strcmp(s->info->kind, TUTTI_KIND_LOGGER) == 0;
    for (int k = 0; k < (s->members ? 1 : STOCK_RUNS) && !status; k++) {
        char whole[600];
        (void)snprintf(whole, sizeof whole, "%s/whole", s->folder);
        remove_tree(whole);
        if (subject_place(s, k, err))
            return err->status;
        const double began = monotonic_s();
        status = child_run(s->folder, s->options->seconds, may_print, life_whole, s, &one,
                           &ended, err);
        whole_s = monotonic_s() - began;
        if (!status && one.outcome[CHECK_LIFE] != CHECK_NOT_TRIED) {
            take(all, &one);
            break;
        }
        if (!status && k == 0)
            memcpy(all->text[CHECK_LIFE], one.text[CHECK_LIFE], sizeof all->text[CHECK_LIFE]);
        if (!status && k == (s->members ? 1 : STOCK_RUNS) - 1)
            all->outcome[CHECK_LIFE] = CHECK_NOT_TRIED;
    }
    if (status || all->outcome[CHECK_LIFE] != CHECK_PASSED)
        return status;
    status = try_more_life(s, may_print, whole_s, all, err);
    if (!status && strcmp(s->info->kind, TUTTI_KIND_ALGORITHM) == 0)
        status = try_conditions(s, all, err);
    if (status || !s->options->device || strcmp(s->info->kind, TUTTI_KIND_DEVICE) == 0)
        return status;
    status = child_run(s->folder, DEVICE_PATIENCE * s->options->seconds, may_print, life_device,
                       s, &one, &ended, err);
    if (!status)
        take(all, &one);
    return status;
}

/* Why a check of an object was not even begun. */
static const char *why_not(const subject *s, const child_report *all, int check)
{
    if (check == CHECK_MATCH && strcmp(s->info->kind, TUTTI_KIND_ALGORITHM) != 0)
        return "only algorithms are asked by match in a run";
    if (check == CHECK_DEVICE && !s->options->device)
        return "no device is named; --device cuda does";
    if (check == CHECK_DEVICE && strcmp(s->info->kind, TUTTI_KIND_DEVICE) == 0)
        return "it is a device itself";
    if (check == CHECK_TRAITS)
        return "it is no operation";
    if (check == CHECK_THREADS)
        return "it has no call tagged [any] that can be made by itself";
    if (check > CHECK_LIFE && all->outcome[CHECK_LIFE] != CHECK_PASSED)
        return "it did not live through a training run";
    return "it does not open";
}

static void tell_object(const subject *s, const child_report *r)
{
    for (int k = CHECK_OPEN; k < CHECKS_COUNT; k++)
        if (r->outcome[k] >= 0)
            tell(s->options, k, r->outcome[k], s->info, r->text[k]);
        else
            tell(s->options, k, CHECK_NOT_TRIED, s->info, why_not(s, r, k));
}

/* All works in one child; where it dies, the rest in children of their own. */
typedef struct works {
    subject *subject;
    size_t from, to;
} works;

static void (*const bench_works[])(child *, void *) = {bench_check_openings,
                                                       bench_check_settings, bench_check_memory,
                                                       bench_check_tables, bench_check_traits};
enum { BENCH_WORKS = sizeof bench_works / sizeof *bench_works };

static void run_works(child *c, void *ctx)
{
    const works *w = ctx;
    for (size_t k = w->from; k < w->to; k++)
        bench_works[k](c, w->subject);
}

static tutti_status try_bench(subject *s, bool may_print, child_report *all, tutti_error *err)
{
    child_report one;
    works w = {s, 0, BENCH_WORKS};
    bool ended;
    tutti_status status =
        child_run(s->folder, s->options->seconds, may_print, run_works, &w, &one, &ended, err);
    if (status || ended) {
        if (!status)
            take(all, &one);
        return status;
    }
    for (size_t k = 0; k < BENCH_WORKS && !status; k++) {
        w = (works){s, k, k + 1};
        status = child_run(s->folder, s->options->seconds, may_print, run_works, &w, &one,
                           &ended, err);
        if (!status)
            take(all, &one);
    }
    return status;
}

static tutti_status try_object(subject *s, tutti_error *err)
{
    child_report all;
    report_init(&all);
    const bool may_print = strcmp(s->info->kind, TUTTI_KIND_LOGGER) == 0;
    tutti_status status = subject_place(s, 0, err);
    if (!status)
        status = try_bench(s, may_print, &all, err);
    if (!status)
        status = try_life(s, &all, err);
    if (!status)
        tell_object(s, &all);
    return status;
}

/* check.json beside the manifest, or what the user names. */
static tutti_status read_members(const check_options *o, const char *folder,
                                 json_doc **ret_members, tutti_error *err)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/check.json", folder);
    if (!o->run && access(path, R_OK) != 0)
        return TUTTI_OK;
    return json_read(o->run ? o->run : path, CHECK_RUN_BYTES, ret_members, err);
}

static tutti_status try_in_folder(const check_options *o, size_t k, const object *what,
                                  tutti_error *err)
{
    char folder[] = "/tmp/tutti-check-XXXXXX";
    plugin_info p;
    registry_plugin(o->registry, k, &p);
    subject s = {.options = o, .plugin = k, .object = what, .info = object_describe(what)};
    if (!mkdtemp(folder))
        return tutti_fail(err, TUTTI_E_IO, "%s: %s", folder, strerror(errno));
    s.folder = folder;
    (void)snprintf(s.name, sizeof s.name, "%s:%s", p.id, s.info->name);
    tutti_status status = read_members(o, p.folder, &s.members, err);
    if (!status)
        status = try_object(&s, err);
    subject_fini(&s);
    remove_tree(folder);
    return status;
}

tutti_status check_plugin(const check_options *o, size_t k, tutti_error *err)
{
    child_report r;
    bool ended;
    loading l = {.options = o, .plugin = k};
    if (!tell_stages(o, k))
        return TUTTI_OK;
    tutti_status status = child_run("/", o->seconds, false, load, &l, &r, &ended, err);
    if (status)
        return status;
    for (int check = CHECK_LOAD; check <= CHECK_ENTRY; check++)
        if (r.outcome[check] >= 0)
            tell(o, check, r.outcome[check], NULL, r.text[check]);
        else
            tell(o, check, CHECK_NOT_TRIED, NULL, "it does not load");
    if (r.outcome[CHECK_LOAD] != CHECK_PASSED)
        return TUTTI_OK;
    plugin_info p;
    registry_plugin(o->registry, k, &p);
    for (size_t n = 0; n < p.nobjects && !status; n++)
        status = try_in_folder(o, k, p.objects[n], err);
    return status;
}
