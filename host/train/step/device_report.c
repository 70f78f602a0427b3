/* device_report.c - messages about the device: kernel libraries, TF32, refusals, captured graphs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/step/device_report.h"

#include "train/step/trainer_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CHOICES_MOST = 64, REFUSALS_TOLD = 4, GRAPHS_TOLD = 4 };

/* Loggers get it as a message; people where they look, once. */
static void tell(trainer *t, const char *key, const char *text)
{
    const fact_hook *facts = &t->hooks.facts;
    run_log_message(&t->run.log, TUTTI_LOG_INFO, key, text);
    if (facts->call && !t->run.log.tells_all && distributed_first(&t->distributed))
        facts->call(facts->ctx, key, text);
}

static void append(char text[DEVICE_REPORT_TEXT], const char *more)
{
    const size_t used = strlen(text);
    (void)snprintf(text + used, DEVICE_REPORT_TEXT - used, "%s", more);
}

/* Whether products of F32 keep the bits of their factors. */
static const char *tf32_text(const tutti_device *d)
{
    if (!program_runs_device_code(d))
        return "";
    return program_allows_tf32(d) ? "; F32 by TF32" : "; F32 without TF32";
}

void device_report_libraries(const trainer *t, const plan *p, char text[DEVICE_REPORT_TEXT])
{
    plan_choice choices[CHOICES_MOST];
    char part[96];
    const uint32_t n = plan_choices(p, choices, CHOICES_MOST);
    uint32_t own = 0;
    *text = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (!*choices[k].first->library) {
            own += choices[k].steps;
            continue;
        }
        (void)snprintf(part, sizeof part, "%s%u%s by %s", *text ? ", " : "", choices[k].steps,
                       *text ? "" : " steps", choices[k].first->library);
        append(text, part);
    }
    (void)snprintf(part, sizeof part, "%s%u%s by own kernels", *text ? ", " : "", own,
                   *text ? "" : " steps");
    if (own)
        append(text, part);
    if (n)
        append(text, tf32_text(context_device(&t->run)));
}

static void tell_refusal(trainer *t, const plan_choice *c)
{
    char text[DEVICE_REPORT_TEXT];
    (void)snprintf(text, sizeof text,
                   "%u step%s of a plan, %s%s%s the first, run by slow kernels of our own: %s",
                   c->steps, c->steps == 1 ? "" : "s", c->op, *c->scope ? " of " : "", c->scope,
                   c->first->text);
    run_log_message(&t->run.log, TUTTI_LOG_WARNING, "device", text);
}

void device_report_plan(trainer *t, const plan *p)
{
    plan_choice choices[CHOICES_MOST];
    char text[DEVICE_REPORT_TEXT];
    uint32_t told = 0;
    const uint32_t n = plan_choices(p, choices, CHOICES_MOST);
    device_report_libraries(t, p, text);
    if (*text)
        tell(t, "libraries", text);
    for (uint32_t k = 0; k < n && told < REFUSALS_TOLD; k++)
        if (choices[k].first->refused) {
            tell_refusal(t, &choices[k]);
            told++;
        }
}

void device_report_graphs(trainer *t)
{
    const capture_log *now = t->run.net ? net_captures(t->run.net) : NULL;
    capture_log *told = &t->plans.captures;
    char text[DEVICE_REPORT_TEXT];
    if (!now || memcmp(now, told, offsetof(capture_log, nodes)) == 0)
        return;
    if (now->failed > told->failed && told->failed < GRAPHS_TOLD) {
        (void)snprintf(text, sizeof text,
                       "work that could not become a graph is launched kernel by kernel: %s",
                       now->why.text);
        run_log_message(&t->run.log, TUTTI_LOG_WARNING, "device", text);
    }
    if (now->graphs > told->graphs && told->graphs < GRAPHS_TOLD) {
        (void)snprintf(text, sizeof text, "%u gathered, of %" PRIu64 " nodes the newest",
                       now->graphs, now->nodes);
        tell(t, "graphs", text);
    }
    if (now->unwanted && !told->unwanted)
        tell(t, "graphs", now->why.text);
    *told = *now;
}
