/* plan_traffic.c - what the steps of a plan read and write, by operation. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/plan/plan_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All steps of one name. */
typedef struct traffic {
    char name[96];
    uint32_t steps;
    uint64_t read;
    uint64_t written;
} traffic;

static uint32_t add(const program *p, traffic *rows, uint32_t n)
{
    for (uint32_t k = 0; p && k < program_nsteps(p); k++) {
        program_step s;
        uint32_t at = 0;
        program_describe(p, k, &s);
        while (at < n && strcmp(rows[at].name, s.name) != 0)
            at++;
        if (at == n) {
            rows[n] = (traffic){.steps = 0};
            (void)snprintf(rows[n++].name, sizeof rows->name, "%s", s.name);
        }
        rows[at].steps++;
        rows[at].read += s.read;
        rows[at].written += s.written;
    }
    return n;
}

static int more_first(const void *a, const void *b)
{
    const traffic *x = a, *y = b;
    const uint64_t p = x->read + x->written, q = y->read + y->written;
    return p < q ? 1 : p > q ? -1 : strcmp(x->name, y->name);
}

static void write_row(const traffic *t, uint64_t all, FILE *file)
{
    const uint64_t bytes = t->read + t->written;
    (void)fprintf(file, "%14.6f %14.6f %14.6f %5.1f %% %6u  %s\n", (double)bytes * 1e-9,
                  (double)t->read * 1e-9, (double)t->written * 1e-9,
                  all ? 100.0 * (double)bytes / (double)all : 0.0, t->steps, t->name);
}

tutti_status plan_write_traffic(const plan *p, FILE *file, tutti_error *err)
{
    const program *model = p->model_graph->compiled.program,
                  *loss = p->loss_graph.compiled.program;
    const size_t most = (size_t)program_nsteps(model) + (loss ? program_nsteps(loss) : 0);
    traffic *rows = calloc(most + 1, sizeof *rows), all = {.name = "all"};
    if (!rows)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a table");
    const uint32_t n = add(loss, rows, add(model, rows, 0));
    for (uint32_t k = 0; k < n; k++) {
        all.steps += rows[k].steps;
        all.read += rows[k].read;
        all.written += rows[k].written;
    }
    qsort(rows, n, sizeof *rows, more_first);
    (void)fprintf(file, "%14s %14s %14s %7s %6s  operation\n", "GB", "read", "written", "",
                  "steps");
    for (uint32_t k = 0; k < n; k++)
        write_row(&rows[k], all.read + all.written, file);
    write_row(&all, all.read + all.written, file);
    free(rows);
    return TUTTI_OK;
}
