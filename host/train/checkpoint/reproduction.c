/* reproduction.c - what decides the bits of a run besides its settings: kernels, threads, CPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint/reproduction.h"
#include "train/context/machine_text.h"
#include "tutti/isa.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#define KEPT ".kernels"

static bool is_anywhere(const run_context *run)
{
    return run->file->numerics.deterministic == RUN_REPEATS_ANYWHERE;
}

tutti_status reproduction_check(const run_context *run, tutti_error *err)
{
    const int32_t least = tutti_isa_named("v3");
    if (!is_anywhere(run))
        return TUTTI_OK;
    if (strcmp(run->file->device.part.name, "cpu") != 0)
        return tutti_fail(
            err, TUTTI_E_ARG,
            "deterministic is \"anywhere\", which only the device cpu can do, and "
            "the device is %s",
            run->file->device.part.name);
    if (least < 0 || tutti_isa() < least)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "deterministic is \"anywhere\", which wants an x86-64 CPU with AVX2 "
                          "and FMA, and kernels here are for %s",
                          tutti_isa_name(tutti_isa()));
    return TUTTI_OK;
}

tutti_status reproduction_write(const run_context *run, const step_tensors *x,
                                reproduction *ret, tutti_error *err)
{
    if (!run->net) /* there is nothing to compute */
        return TUTTI_OK;
    const tutti_status s = machine_text(run, ret->machine, sizeof ret->machine, err);
    if (s)
        return s;
    ret->kernels = net_choices(run->net);
    if (!ret->kernels)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the choices of kernels");
    (void)snprintf(ret->threads, sizeof ret->threads, "%d",
                   is_anywhere(run) ? 0 : run->threads);
    (void)snprintf(ret->microbatch, sizeof ret->microbatch, "%lld",
                   (long long)x->microbatch_size);
    return TUTTI_OK;
}

void reproduction_fini(reproduction *r)
{
    free(r->kernels);
    r->kernels = NULL;
}

static tutti_status differs(run_context *run, const char *what, bool accept, tutti_error *err)
{
    char text[400];
    (void)snprintf(text, sizeof text, "%s; results will differ in their last bits%s", what,
                   accept ? "" : ": --accept-different-bits goes on");
    if (!accept)
        return tutti_fail(err, TUTTI_E_STATE, "%s", text);
    run_log_message(&run->log, TUTTI_LOG_WARNING, "train", text);
    return TUTTI_OK;
}

/* Part k of a text with commas; "" behind the last. */
static const char *part_of(const char *text, int k, char *to, size_t size)
{
    while (k-- > 0 && *text) {
        text += strcspn(text, ",");
        text += strspn(text, ", ");
    }
    (void)snprintf(to, size, "%.*s", (int)strcspn(text, ","), text);
    return to;
}

/* Names the first part in which the machines differ. */
static tutti_status check_machine(run_context *run, const char *path, const char *then,
                                  bool accept, bool *ret_same, tutti_error *err)
{
    char now[768], text[256], there[768] = "", here[768] = "";
    const tutti_status s = machine_text(run, now, sizeof now, err);
    if (s)
        return s;
    *ret_same = strcmp(now, then) == 0;
    for (int k = 0; !*ret_same && strcmp(there, here) == 0; k++) {
        (void)part_of(then, k, there, sizeof there);
        (void)part_of(now, k, here, sizeof here);
    }
    if (*ret_same)
        return TUTTI_OK;
    (void)snprintf(text, sizeof text, "%.64s: was computed by %.48s, this is %.48s", path,
                   *there ? there : "all that there is", *here ? here : "all that there is");
    return differs(run, text, accept, err);
}

/* As many threads as then, unless the run file wants another number. */
static tutti_status take_threads(run_context *run, const char *path, int then, bool accept,
                                 bool *ret_same, tutti_error *err)
{
    char text[160];
    if (then == run->threads || then < 1 || then > RUN_MOST_THREADS)
        return TUTTI_OK;
    if (run->file->threads == 0) {
        run->threads = then;
        omp_set_num_threads(then);
        return TUTTI_OK;
    }
    *ret_same = false;
    (void)snprintf(text, sizeof text, "%.64s: was computed by %d threads, this run has %d",
                   path, then, run->threads);
    return differs(run, text, accept, err);
}

tutti_status reproduction_take(run_context *run, step_tensors *x, const char *path,
                               const reproduction_texts *then, bool accept, bool *ret_same,
                               tutti_error *err)
{
    *ret_same = false;
    if (!run->net)
        return TUTTI_OK;
    tutti_status s = check_machine(run, path, then->machine, accept, ret_same, err);
    if (!s)
        s = take_threads(run, path, (int)strtol(then->threads, NULL, 10), accept, ret_same,
                         err);
    const int64_t size = strtoll(then->microbatch, NULL, 10);
    if (run->file->microbatch_size == RUN_MICROBATCH_AUTO && size > 0 &&
        size <= run->file->train.batch_size)
        x->microbatch_size = size;
    return s ? s : net_fix_choices(run->net, then->kernels, run->threads, err);
}

tutti_status reproduction_take_later(run_context *run, const char *folder, tutti_error *err)
{
    char file[PATH_MAX];
    return run->net && snprintf(file, sizeof file, "%s/" KEPT, folder) < (int)sizeof file
               ? net_fix_choices_of(run->net, file, err)
               : TUTTI_OK;
}

tutti_status reproduction_restore(run_context *run, step_tensors *x, const char *path,
                                  const checkpoint *c, bool accept, bool *ret_same,
                                  tutti_error *err)
{
    char text[160], folder[PATH_MAX];
    const reproduction_texts then = {.kernels = checkpoint_value(c, "kernels"),
                                     .machine = checkpoint_value(c, "machine"),
                                     .threads = checkpoint_value(c, "threads"),
                                     .microbatch = checkpoint_value(c, "microbatch")};
    *ret_same = false;
    if (!run->net)
        return TUTTI_OK;
    if (!then.kernels || !then.machine || !then.threads || !then.microbatch) {
        (void)snprintf(text, sizeof text, "%.64s: does not say which kernels computed it",
                       path);
        return differs(run, text, true, err);
    }
    const tutti_status s = reproduction_take(run, x, path, &then, accept, ret_same, err);
    const char *slash = strrchr(path, '/'); /* what was chosen after the save lies beside it */
    (void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1,
                   slash ? path : ".");
    return s ? s : reproduction_take_later(run, folder, err);
}

tutti_status reproduction_keep(run_context *run, const char *folder, tutti_error *err)
{
    char file[PATH_MAX];
    if (!run->net || snprintf(file, sizeof file, "%s/" KEPT, folder) >= (int)sizeof file)
        return TUTTI_OK;
    return net_keep_choices(run->net, file, err);
}

tutti_status reproduction_confirm(run_context *run, bool accept, tutti_error *err)
{
    const uint32_t missing = net_missing_choices(run->net);
    char text[120];
    if (missing == 0)
        return TUTTI_OK;
    (void)snprintf(
        text, sizeof text,
        "%u of the kernels that computed the checkpoint are not those of this program",
        missing);
    return differs(run, text, accept, err);
}
