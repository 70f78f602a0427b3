/* bench_optimizer.c - one update of all weights, as a share of what memory can do. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpus.h"
#include "base/monotonic.h"
#include "cli/cli.h"
#include "graph/runtime/host_memory.h"
#include "tutti/half.h"
#include "tutti/optimizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARRAYS = 2 + TUTTI_OPTIMIZER_MAX_SLOTS, ROUNDS = 15 };

static const char *const names[] = {"sgd", "decoupled_sgdw", "adamw", "decoupled_adamw"};
enum { NAMES = sizeof names / sizeof *names };

/* Without copies in 16 bits; with them; and with a pass of its own for them. */
enum { PLAIN, COPIES, APART, VARIANTS };

/* Weights, gradients, slots. */
typedef struct update_arrays {
    float *arrays[ARRAYS];
    uint16_t *half;
    int64_t count; /* a multiple of 16 */
    int threads;
    int reserved;
} update_arrays;

static void arrays_fini(update_arrays *s)
{
    for (int k = 0; k < ARRAYS; k++)
        free(s->arrays[k]);
    free(s->half);
}

static int arrays_init(update_arrays *s, int64_t count, bool copies)
{
    const char *threads = getenv("OMP_NUM_THREADS");
    *s = (update_arrays){.count = count,
                         .threads = threads ? (int)strtol(threads, NULL, 10) : 0};
    if (s->threads < 1)
        s->threads = cpus_available();
    for (int k = 0; k < ARRAYS; k++) {
        s->arrays[k] = host_memory_alloc((uint64_t)count * sizeof(float));
        if (!s->arrays[k]) {
            (void)fputs("tutti: no memory for the weights\n", stderr);
            arrays_fini(s);
            return CLI_FAILED;
        }
    }
    s->half = copies ? host_memory_alloc((uint64_t)count * sizeof *s->half) : NULL;
    if (copies && !s->half) {
        (void)fputs("tutti: no memory for the weights in 16 bits\n", stderr);
        arrays_fini(s);
        return CLI_FAILED;
    }
    for (int64_t k = 0; k < count; k++)
        s->arrays[1][k] = (float)(k % 17) * 1e-3f;
    return CLI_OK;
}

/* What a training run does after a batch. */
static void update(const update_arrays *s, const instance *optimizer,
                   const tutti_optimizer_v1 *table, int64_t step, bool copies)
{
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int part = 0; part < s->threads; part++) {
        const int64_t lines = s->count / 16;
        const int64_t first = lines * part / s->threads * 16;
        const int64_t end = lines * (part + 1) / s->threads * 16;
        tutti_update u = {.struct_size = sizeof u,
                          .n = end - first,
                          .w = s->arrays[0] + first,
                          .g = s->arrays[1] + first,
                          .lr = table->lr,
                          .lr_initial = table->lr,
                          .step = step,
                          .low = copies ? s->half + first : NULL,
                          .low_dtype = TUTTI_BF16};
        for (uint32_t k = 0; k < table->nslots; k++)
            u.slot[k] = s->arrays[2 + k] + first;
        table->update(instance_self(optimizer), &u);
    }
}

static void round_weights(const update_arrays *s)
{
    const float *restrict w = s->arrays[0];
    uint16_t *restrict half = s->half;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t k = 0; k < s->count; k++)
        half[k] = tutti_to_bf16(w[k]);
}

static void triad(const update_arrays *s)
{
    float *restrict a = s->arrays[2];
    const float *restrict b = s->arrays[1], *restrict c = s->arrays[0];
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t k = 0; k < s->count; k++)
        a[k] = b[k] + 0.5f * c[k];
}

static const void *no_services(void *ctx, instance *i, const char *interface_id)
{
    return NULL;
}

static tutti_status open_optimizer(registry *r, const char *name, instance **ret_instance,
                                   tutti_error *err)
{
    const object *o;
    tutti_params *params;
    const tutti_attr momentum = tutti_attr_f("momentum", 0.9);
    const bool sgd = strstr(name, "sgd") != NULL;
    tutti_status s = registry_find(r, TUTTI_KIND_OPTIMIZER, name, &o, err);
    if (s || (s = params_from_attrs(o, &momentum, sgd ? 1 : 0, &params, err)))
        return s;
    s = instance_open(o, name, params, no_services, NULL, ret_instance, err);
    if (s)
        params_free(params);
    return s;
}

/* The best of some rounds, optimizers and triad in turn. */
static void measure(const update_arrays *s, instance *const *optimizers)
{
    static const char *const variants[VARIANTS] = {"", "with a bf16 copy", "copied apart"};
    double best[NAMES * VARIANTS], stream = 1e9;
    for (int k = 0; k < NAMES * VARIANTS; k++)
        best[k] = 1e9;
    for (int64_t round = 1; round <= ROUNDS; round++) {
        for (int k = 0; k < NAMES * VARIANTS; k++) {
            instance *o = optimizers[k / VARIANTS];
            const double start = monotonic_s();
            update(s, o, instance_query(o, TUTTI_OPTIMIZER_V1), round, k % VARIANTS == COPIES);
            if (k % VARIANTS == APART)
                round_weights(s);
            const double took = monotonic_s() - start;
            best[k] = took < best[k] ? took : best[k];
        }
        const double start = monotonic_s();
        triad(s);
        const double took = monotonic_s() - start;
        stream = took < stream ? took : stream;
    }
    /* Whoever writes a line reads it first. */
    const double rate = 16.0 * (double)s->count / stream;
    for (int k = 0; k < NAMES * VARIANTS; k++) {
        const tutti_optimizer_v1 *t =
            instance_query(optimizers[k / VARIANTS], TUTTI_OPTIMIZER_V1);
        /* whoever writes a copy reads its line first, too */
        const double bytes =
            (12.0 + 8.0 * t->nslots + (k % VARIANTS ? 4.0 : 0.0)) * (double)s->count;
        (void)printf("%-16s %-16s %10lld %9.1f us %7.1f GB/s %6.0f %%\n", names[k / VARIANTS],
                     variants[k % VARIANTS], (long long)s->count, best[k] * 1e6,
                     bytes / best[k] * 1e-9, 100.0 * bytes / best[k] / rate);
    }
}

static int table(instance *const *optimizers)
{
    static const int64_t counts[] = {100000, 1000000, 10000000, 30000000};
    (void)printf("optimizer                            weights      time          rate  of "
                 "triad\n");
    for (int k = 0; k < 4; k++) {
        update_arrays s;
        if (arrays_init(&s, counts[k] / 16 * 16, true))
            return CLI_FAILED;
        measure(&s, optimizers);
        arrays_fini(&s);
    }
    return CLI_OK;
}

/* The kilobytes of memory held at most so far, or 0. */
static long peak_kb(void)
{
    long kb = 0;
    char line[128];
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %ld", &kb) == 1)
            break;
    if (f)
        (void)fclose(f);
    return kb;
}

/* For every line N on standard input N updates, answered with nanoseconds and peak kilobytes. */
static int blocks(instance *optimizer, int64_t count)
{
    update_arrays s;
    char line[64];
    int64_t step = 0;
    if (arrays_init(&s, count, false))
        return CLI_FAILED;
    const tutti_optimizer_v1 *t = instance_query(optimizer, TUTTI_OPTIMIZER_V1);
    while (fgets(line, sizeof line, stdin)) {
        const double start = monotonic_s();
        for (long left = strtol(line, NULL, 10); left > 0; left--)
            update(&s, optimizer, t, ++step, false);
        (void)printf("%.0f %ld\n", (monotonic_s() - start) * 1e9, peak_kb());
        (void)fflush(stdout);
    }
    arrays_fini(&s);
    return CLI_OK;
}

static bool updates_weights(instance *i)
{
    const tutti_optimizer_v1 *t = instance_query(i, TUTTI_OPTIMIZER_V1);
    return t && TUTTI_HAS(t, tutti_optimizer_v1, by_weight) && t->by_weight;
}

int bench_optimizer(const cli_options *o, const tutti_op *const *ops)
{
    instance *optimizers[NAMES] = {NULL};
    tutti_error err = TUTTI_ERROR_INIT;
    int status = CLI_FAILED;
    registry *r = cli_registry(o);
    if (!r)
        return status;
    const bool one = o->nwords == 3;
    const int64_t count = one ? strtoll(o->words[2], NULL, 10) / 16 * 16 : 16;
    tutti_status s =
        o->nwords == 2 || count < 16
            ? tutti_fail(&err, TUTTI_E_ARG, "want NAME and COUNT, 16 weights or more")
            : TUTTI_OK;
    for (int k = 0; k < (one ? 1 : NAMES) && !s; k++)
        s = open_optimizer(r, one ? o->words[1] : names[k], &optimizers[k], &err);
    if (!s && one && updates_weights(optimizers[0]))
        s = tutti_fail(&err, TUTTI_E_ARG,
                       "%s updates whole weights, which this does not measure; want one that "
                       "goes element by element",
                       o->words[1]);
    if (s)
        (void)fprintf(stderr, "tutti: %s\n", err.text);
    else if (one)
        status = blocks(optimizers[0], count);
    else
        status = table(optimizers);
    for (int k = 0; k < NAMES; k++)
        instance_free(optimizers[k]);
    registry_destroy(r);
    return status;
}
