/* step_costs.c - what the operations of a training step take here, measured before any training. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer/step_costs.h"
#include "train/step/trainer_state.h"
#include "train/trainer/preview.h"

#include <stdlib.h>
#include <string.h>

/* After one that warms up. */
enum { LEAST_ROUNDS = 5, MOST_ROUNDS = 20 };
#define ENOUGH 1.0 /* seconds of rounds */

static step_cost *row_of(step_costs *c, const char *name)
{
    for (uint32_t k = 0; k < c->count; k++)
        if (strcmp(c->rows[k].name, name) == 0)
            return &c->rows[k];
    if (c->count == c->capacity) {
        const uint32_t capacity = c->capacity ? 2 * c->capacity : 32;
        step_cost *rows = realloc(c->rows, capacity * sizeof *rows);
        if (!rows)
            return NULL;
        c->rows = rows;
        c->capacity = capacity;
    }
    step_cost *row = &c->rows[c->count++];
    *row = (step_cost){.best = -1.0};
    (void)snprintf(row->name, sizeof row->name, "%s", name);
    return row;
}

static void ran(void *ctx, const program *p, uint32_t k, int64_t begin_ns, int64_t end_ns)
{
    step_costs *c = ctx;
    program_step step;
    program_describe(p, k, &step);
    step_cost *row = row_of(c, step.name);
    c->lost = c->lost || !row;
    if (!row)
        return;
    row->round += (double)(end_ns - begin_ns) * 1e-9;
    row->several = row->several || step.algorithm;
    row->steps++;
}

/* Seconds that the steps took. */
static double end_round(step_costs *c, bool counts)
{
    double sum = 0.0;
    for (uint32_t k = 0; k < c->count; k++) {
        step_cost *row = &c->rows[k];
        if (counts && (row->best < 0.0 || row->round < row->best))
            row->best = row->round;
        sum += row->round;
        row->round = 0.0;
    }
    return sum;
}

static tutti_status measure(trainer *t, plan *p, step_costs *c, tutti_error *err)
{
    double spent = 0.0;
    for (int round = 0; round <= LEAST_ROUNDS || (round <= MOST_ROUNDS && spent < ENOUGH);
         round++) {
        for (uint32_t k = 0; k < c->count; k++)
            c->rows[k].steps = 0;
        for (int segment = SEGMENT_FORWARD; segment <= SEGMENT_BACKWARD; segment++) {
            const tutti_status s = plan_run(p, segment, &t->run.step, 1.0f, err);
            if (s)
                return s;
        }
        spent += end_round(c, round > 0);
    }
    return c->lost ? tutti_fail(err, TUTTI_E_NOMEM, "no memory for times of operations")
                   : TUTTI_OK;
}

tutti_status trainer_measure_step(trainer *t, step_costs *ret, tutti_error *err)
{
    plan *p = NULL;
    const program_observer observer = {ran, ret};
    *ret = (step_costs){.threads = t->run.threads};
    if (context_is_remote(&t->run))
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "operations are timed on the host, the run's device is %s",
                          t->run.file->device.part.name);
    tutti_status s = trainer_preview_plan(t, &p, err);
    if (s)
        return s;
    net_observe(t->run.net, &observer);
    s = measure(t, p, ret, err);
    net_observe(t->run.net, NULL);
    return s;
}

void step_costs_fini(step_costs *c)
{
    free(c->rows);
    *c = (step_costs){.rows = NULL};
}

/* ---- the table ---- */

static void write_row(const char *name, uint32_t steps, double anywhere, double fastest,
                      FILE *file)
{
    (void)fprintf(file, "  %-28s %5u step%s %10.3f ms %10.3f ms", name, steps,
                  steps == 1 ? " " : "s", 1e3 * anywhere, 1e3 * fastest);
    if (fastest > 0.0)
        (void)fprintf(file, "  %5.2f times", anywhere / fastest);
    (void)fprintf(file, "\n");
}

/* Seconds of the rows called `name`, of all others that are not `several`, or, without a name, of all. */
static double seconds_of(const step_costs *c, const step_costs *names, const char *name,
                         bool others)
{
    double sum = 0.0;
    for (uint32_t k = 0; k < c->count; k++) {
        bool several = false;
        for (uint32_t j = 0; j < names->count && others; j++)
            several = several || (names->rows[j].several &&
                                  strcmp(names->rows[j].name, c->rows[k].name) == 0);
        if (name ? strcmp(c->rows[k].name, name) == 0 : !several)
            sum += c->rows[k].best;
    }
    return sum;
}

void step_costs_compare(const step_costs *anywhere, const step_costs *fastest, FILE *file)
{
    uint32_t steps = 0, others = 0;
    (void)fprintf(
        file,
        "\"deterministic\": \"anywhere\" costs, of a step's passes on this CPU by %d thread%s, "
        "measured beside kernels of \"run\":\n",
        anywhere->threads, anywhere->threads == 1 ? "" : "s");
    for (uint32_t k = 0; k < anywhere->count; k++) {
        const step_cost *row = &anywhere->rows[k];
        steps += row->steps;
        others += row->several ? 0 : row->steps;
        if (row->several)
            write_row(row->name, row->steps, row->best,
                      seconds_of(fastest, NULL, row->name, false), file);
    }
    write_row("others, of one kernel", others, seconds_of(anywhere, anywhere, NULL, true),
              seconds_of(fastest, anywhere, NULL, true), file);
    write_row("all", steps, seconds_of(anywhere, NULL, NULL, false),
              seconds_of(fastest, NULL, NULL, false), file);
}
