/* distributed_compare.c - that all ranks of a run run the same: file, program, plugins, data, machine, weights. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/context/machine_text.h"
#include "train/ranks/distributed.h"
#include "train/ranks/rank_code.h"
#include "tutti/isa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where two texts begin to differ, from the start of the part on, which begins behind one of `marks`. */
static size_t first_difference(const char *a, const char *b, const char *marks)
{
    size_t at = 0, part = 0;
    for (; a[at] && a[at] == b[at]; at++)
        if (strchr(marks, a[at]))
            part = at + 1;
    return part;
}

static tutti_status compare_file(distributed *d, tutti_error *err)
{
    const char *mine = d->run->file->text;
    char *first = NULL;
    tutti_status s = world_spread(d->world, mine, &first, err);
    if (!s && strcmp(first, mine) != 0) {
        const size_t at = first_difference(first, mine, ",{");
        s = tutti_fail(err, TUTTI_E_ARG,
                       "the run file has %.120s..., that of rank 0 has %.120s...", mine + at,
                       first + at);
    }
    free(first);
    return distributed_agree(d, s, err);
}

static tutti_status compare_program(distributed *d, tutti_error *err)
{
    char text[160];
    rank_code_program(text, sizeof text);
    const world_item item = {"program", text};
    return distributed_equal(d, &item, 1, err);
}

static tutti_status compare_plugins(distributed *d, tutti_error *err)
{
    char *mine = NULL, *first = NULL;
    /* A rank that has no list says so to all before rank 0's is spread. */
    tutti_status s = distributed_agree(d, rank_code_text(d->run->registry, &mine, err), err);
    if (!s && !(s = world_spread(d->world, mine, &first, err)))
        s = distributed_agree(d, rank_code_compare(mine, first, err), err);
    free(mine);
    free(first);
    return s;
}

static tutti_status compare_count(distributed *d, const char *what, int64_t n, tutti_error *err)
{
    char count[24];
    (void)snprintf(count, sizeof count, "%lld", (long long)n);
    const world_item item = {what, count};
    return distributed_equal(d, &item, 1, err);
}

/* Where the ranks compute. */
static tutti_status compare_device(distributed *d, tutti_error *err)
{
    const tutti_device *device = context_device(d->run);
    const world_item item = {"device", device ? device->info.name : "the CPU"};
    return distributed_equal(d, &item, 1, err);
}

static tutti_status compare_samples(distributed *d, int64_t samples, const int64_t *evaluations,
                                    tutti_error *err)
{
    char what[160];
    tutti_status s = compare_count(d, "number of training samples", samples, err);
    for (size_t k = 0; k < d->run->file->nevals && !s; k++) {
        (void)snprintf(what, sizeof what, "number of samples of the evaluation %.100s",
                       d->run->file->evals[k].label);
        s = compare_count(d, what, evaluations[k], err);
    }
    return s;
}

/* Vector units of CPUs of one name, and oneDNN's limit: a hypervisor or a variable of the environment takes some away. */
static tutti_status compare_units(distributed *d, tutti_error *err)
{
    char mine[MACHINE_TEXT], *first = NULL;
    tutti_status s = distributed_agree(d, machine_text(d->run, mine, sizeof mine, err), err);
    if (s || (s = world_spread(d->world, mine, &first, err)))
        return s;
    if (strcmp(first, mine) != 0) {
        const size_t at = first_difference(first, mine, " ,");
        s = tutti_fail(err, TUTTI_E_ARG,
                       "the CPU computes with \"%.120s\" where that of rank 0 has \"%.120s\"; "
                       "want the same on all ranks, or \"deterministic\": \"anywhere\"",
                       mine + at, first + at);
    }
    free(first);
    return distributed_agree(d, s, err);
}

/* CPUs and threads may differ where they change no bits, or no model is computed. */
static tutti_status compare_machine(distributed *d, tutti_error *err)
{
    char threads[16], cpu[200];
    if (!d->run->net || d->run->file->numerics.deterministic == RUN_REPEATS_ANYWHERE)
        return TUTTI_OK;
    (void)snprintf(threads, sizeof threads, "%d", d->run->threads);
    (void)snprintf(cpu, sizeof cpu, "%.120s, kernels for %s", net_cpu(d->run->net),
                   tutti_isa_name(tutti_isa()));
    const world_item items[] = {{"number of threads", threads}, {"CPU", cpu}};
    const tutti_status s = distributed_equal(d, items, sizeof items / sizeof *items, err);
    return s ? s : compare_units(d, err);
}

tutti_status distributed_compare(distributed *d, int64_t samples, const int64_t *evaluations,
                                 tutti_error *err)
{
    tutti_status s;
    if (!d->world)
        return TUTTI_OK;
    if ((s = compare_file(d, err)) || (s = compare_program(d, err)) ||
        (s = compare_plugins(d, err)) || (s = compare_samples(d, samples, evaluations, err)) ||
        (s = compare_device(d, err)))
        return s;
    return compare_machine(d, err);
}

static void tell_placement(const distributed *d)
{
    if (d->run->net && distributed_first(d) && world_machine_count(d->world) == 0)
        run_log_message(
            &d->run->log, TUTTI_LOG_WARNING, "distributed",
            "the ranks of a machine do not follow each other, so gradients go among "
            "all ranks at once, more of them over the network; want mpirun --map-by "
            "slot, or srun --distribution=block");
}

tutti_status distributed_compare_start(distributed *d, tutti_error *err)
{
    char batch[24], hash[24] = "none";
    float *weights, *gradients;
    uint64_t number;
    int64_t n;
    if (!d->world)
        return TUTTI_OK;
    tell_placement(d);
    (void)snprintf(batch, sizeof batch, "%lld", (long long)d->run->clock.now.batch);
    if (d->run->net) {
        net_arena(d->run->net, &weights, &gradients, &n);
        const tutti_status s = distributed_hash(d->run, weights, n, &number, err);
        if (s)
            return s;
        (void)snprintf(hash, sizeof hash, "%016llx", (unsigned long long)number);
    }
    const world_item items[] = {{"batch to go on from", batch}, {"hash of the weights", hash}};
    return distributed_equal(d, items, sizeof items / sizeof *items, err);
}
