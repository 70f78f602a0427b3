/* bench.c - opening objects in a child, with all services of a run or without some. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "check/bench.h"
#include "base/json_tree.h"
#include "check/imports.h"
#include "train/trainer/services.h"
#include "tutti/log.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

static void report(void *ctx, int level, const char *text)
{
    bench *b = ctx;
    if (level >= TUTTI_LOG_ERROR)
        child_say(b->child, CHECK_PROCESS, CHECK_FAILED, "%s", text);
}

const void *bench_service(void *ctx, instance *i, const char *interface_id)
{
    bench *b = ctx;
    int k = 0;
    while (k < b->nasked && strcmp(b->asked[k], interface_id) != 0)
        k++;
    if (k == b->nasked && k < BENCH_SERVICES)
        (void)snprintf(b->asked[b->nasked++], sizeof *b->asked, "%s", interface_id);
    if (b->denies_all || (b->denied && strcmp(b->denied, interface_id) == 0))
        return NULL;
    /* The log keeps one table for an instance as long as the run lives. */
    const bool log = strcmp(interface_id, TUTTI_LOG_V1) == 0;
    return trainer_service(b->trainer, log ? NULL : i, interface_id);
}

bool bench_begin(bench *b, const subject *s, child *c, int check)
{
    tutti_error e = TUTTI_ERROR_INIT;
    plugin_info p;
    memset(b, 0, sizeof *b);
    b->subject = s;
    b->child = c;
    subject_write_files();
    b->probe = (registry_probe){.ctx = b, .plugin = s->info->plugin_id, .report = report};
    if (subject_train(s, false, s->folder, &b->run, &b->trainer, &e)) {
        child_give_up(c, check, "the stock run cannot be opened here: ", &e);
        return false;
    }
    registry_watch(s->options->registry, &b->probe);
    child_begin(c, check);
    imports_begin();
    if (registry_check(s->options->registry, s->plugin, &e)) {
        child_say(c, check, CHECK_NOT_TRIED, "it does not load");
        bench_end(b);
        return false;
    }
    registry_plugin(s->options->registry, s->plugin, &p);
    (void)imports_redirect(p.library);
    return true;
}

void bench_end(bench *b)
{
    subject_end(b->run, b->trainer);
}

tutti_status bench_open(bench *b, const char *more, bool *ret_given, instance **ret_instance,
                        tutti_error *err)
{
    char text[400];
    tutti_params *p = subject_params(b->subject, more, text, sizeof text);
    *ret_given = p != NULL;
    if (!p)
        return tutti_fail(err, TUTTI_E_ARG, "%s", text);
    const tutti_status s = instance_open(b->subject->object, b->subject->info->name, p,
                                         bench_service, b, ret_instance, err);
    if (s)
        params_free(p);
    return s;
}

void bench_judge_refusal(bench *b, int check, const char *what, tutti_status s,
                         const tutti_error *err)
{
    const char *name = tutti_status_name(s);
    const size_t size = strlen(err->text), n = strlen(name);
    if (s > 0)
        child_say(b->child, check, CHECK_FAILED, "%s: status %d is no status of an error", what,
                  (int)s);
    else if (!size || (size >= n && strcmp(err->text + size - n, name) == 0))
        child_say(b->child, check, CHECK_FAILED, "%s: fails with %s and says nothing", what,
                  name);
    else if (strchr(err->text, '\n') || !tree_utf8(err->text))
        child_say(b->child, check, CHECK_FAILED, "%s: its error is not one line of UTF-8",
                  what);
}

size_t bench_heap(void)
{
    const struct mallinfo2 heap = mallinfo2();
    return heap.uordblks + heap.hblkhd;
}
