/* autotune.c - autotuning: which algorithm of an operation is taken, and what is remembered of that. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/runtime/autotune.h"
#include "base/cpus.h"
#include "graph/ir/attr.h"
#include "graph/runtime/autotune_file.h"
#include "graph/runtime/autotune_measure.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Seconds that a run's measurements take beyond a trial and a round of each algorithm. */
#define ROUNDS_S 1.0

struct autotuner {
    char *path; /* NULL: nothing is measured */
    char *cpu;
    choices known; /* of the file */
    choices fixed;
    choices made; /* these and those of calls since */
    uint32_t missing;
    char *written_to; /* where those made are written; NULL: nowhere */
    bool keeps_disturbed;
    double left; /* seconds for rounds of measurements to come */
    bool complains;
    bool reproduces;
    tutti_error complaint;
};

static void complain(autotuner *t, const tutti_error *why)
{
    if (t->complaint.status)
        return;
    t->complaint = *why;
    t->complains = true;
}

autotuner *autotuner_create(const char *path)
{
    tutti_error why = TUTTI_ERROR_INIT;
    autotuner *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->left = ROUNDS_S;
    t->keeps_disturbed = choices_keep_disturbed();
    t->path = path ? strdup(path) : NULL;
    t->cpu = cpus_model();
    if ((path && !t->path) || !t->cpu) {
        autotuner_destroy(t);
        return NULL;
    }
    if (path && choices_read(&t->known, path, &why))
        complain(t, &why);
    return t;
}

void autotuner_destroy(autotuner *t)
{
    if (!t)
        return;
    choices_fini(&t->known);
    choices_fini(&t->fixed);
    choices_fini(&t->made);
    free(t->written_to);
    free(t->path);
    free(t->cpu);
    free(t);
}

const char *autotuner_complaint(autotuner *t)
{
    const bool now = t && t->complains;
    if (now)
        t->complains = false;
    return now ? t->complaint.text : NULL;
}

/* What the algorithms are called, in few letters: a choice is one among these. */
static uint32_t hash_of_algorithms(const tutti_op *op, const tutti_op_call *c)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    const char *name;
    for (uint32_t k = 0; (name = autotune_algorithm_name(op, c, k)); k++)
        for (const char *at = name; at == name || at[-1]; at++) /* with its end */
            hash = (hash ^ (unsigned char)*at) * 16777619u;
    return hash;
}

/* "Xeon ..., 4 threads, algorithms 1f2e3d4c: conv2d F32 (128, 32, 32, 16) F32 (16, 3, 3, 16) padding=[1,1]" */
static char *key_of(const autotuner *t, const tutti_op *op, const tutti_op_call *c)
{
    char *key = NULL, text[96];
    size_t size = 0;
    FILE *file = open_memstream(&key, &size);
    if (!file)
        return NULL;
    (void)fprintf(file, "%s, %d threads, algorithms %08x: %s", t->cpu, c->threads,
                  hash_of_algorithms(op, c), op->name);
    for (uint32_t k = 0; k < c->nin; k++)
        (void)fprintf(file, " %s", tutti_desc_text(&c->in[k], text, sizeof text));
    attr_dump(op, c->attr, file);
    if (fclose(file)) {
        free(key);
        return NULL;
    }
    return key;
}

/* The algorithm of that name, or -1. */
static int algorithm_of(const tutti_op *op, const tutti_op_call *c, const char *name)
{
    const char *algorithm;
    for (uint32_t k = 0; name && (algorithm = autotune_algorithm_name(op, c, k)); k++)
        if (strcmp(algorithm, name) == 0)
            return (int)k;
    return -1;
}

/* Keeps the choice, or finds the one that another process has kept meanwhile. */
static uint32_t keep(autotuner *t, const tutti_op *op, const tutti_op_call *c, const char *key,
                     uint32_t algorithm)
{
    tutti_error why = TUTTI_ERROR_INIT, broken = TUTTI_ERROR_INIT;
    const int lock = choices_lock(t->path, &why);
    if (lock < 0) {
        complain(t, &why);
        return 0;
    }
    choices_fini(&t->known);
    if (choices_read(&t->known, t->path, &broken))
        complain(t, &broken);
    const int there = algorithm_of(op, c, choices_find(&t->known, key));
    tutti_status s = TUTTI_OK;
    if (there < 0)
        s = choices_set(&t->known, key, autotune_algorithm_name(op, c, algorithm), &why);
    if (there < 0 && !s)
        s = choices_write(&t->known, t->path, &why);
    (void)close(lock);
    if (s)
        complain(t, &why);
    return s ? 0 : there < 0 ? algorithm : (uint32_t)there;
}

/* Once a run. */
static void tell_disturbed(autotuner *t)
{
    tutti_error why = TUTTI_ERROR_INIT;
    (void)tutti_fail(
        &why, TUTTI_E_STATE,
        "other processes had the processors while kernels were timed: this run uses "
        "what it has chosen then, %s does not keep it, and later runs measure again "
        "(TUTTI_TUNE=1 keeps it)",
        t->path);
    complain(t, &why);
}

/* Fixed, made by this run before, known, or measured now; only a measurement that was complete and undisturbed is kept. */
static uint32_t find_choice(autotuner *t, const tutti_op *op, const tutti_op_call *c,
                            const char *key)
{
    int algorithm = algorithm_of(op, c, choices_find(&t->fixed, key));
    t->missing += t->fixed.count && algorithm < 0;
    if (algorithm < 0 && t->path)
        algorithm = algorithm_of(op, c, choices_find(&t->made, key));
    if (algorithm < 0 && t->path)
        algorithm = algorithm_of(op, c, choices_find(&t->known, key));
    if (algorithm >= 0 || !t->path)
        return algorithm < 0 ? 0 : (uint32_t)algorithm;
    const autotune_result r = autotune_measure(op, c, &t->left);
    if (r.complete && r.disturbed && !t->keeps_disturbed)
        tell_disturbed(t);
    else if (r.complete)
        return keep(t, op, c, key, r.algorithm);
    return r.algorithm;
}

static uint32_t choose(autotuner *t, const tutti_op *op, const tutti_op_call *c)
{
    tutti_error why = TUTTI_ERROR_INIT;
    char *key = t && autotune_algorithm_name(op, c, 1) ? key_of(t, op, c) : NULL;
    if (!key)
        return 0;
    const uint32_t algorithm = find_choice(t, op, c, key);
    const bool fresh = algorithm_of(op, c, choices_find(&t->made, key)) != (int)algorithm;
    if ((fresh &&
         choices_set(&t->made, key, autotune_algorithm_name(op, c, algorithm), &why)) ||
        (fresh && t->written_to && choices_write(&t->made, t->written_to, &why)))
        complain(t, &why);
    free(key);
    return algorithm;
}

char *autotuner_choices(const autotuner *t)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (!file)
        return NULL;
    for (size_t k = 0; k < t->made.count; k++)
        (void)fprintf(file, "%s\t%s\n", t->made.list[k].key, t->made.list[k].algorithm);
    if (fclose(file)) {
        free(text);
        return NULL;
    }
    return text;
}

static tutti_status fix_line(autotuner *t, char *line, tutti_error *err)
{
    char *tab = strchr(line, '\t');
    if (!tab || tab == line || !tab[1])
        return tutti_fail(err, TUTTI_E_FORMAT, "\"%.80s\" is no choice of a kernel", line);
    *tab = '\0';
    const tutti_status s = choices_set(&t->fixed, line, tab + 1, err);
    return s ? s : choices_set(&t->made, line, tab + 1, err);
}

tutti_status autotuner_fix(autotuner *t, const char *lines, tutti_error *err)
{
    char *copy = strdup(lines), *rest = NULL;
    tutti_status s =
        copy ? TUTTI_OK
             : tutti_fail(err, TUTTI_E_NOMEM, "no memory for the choices of kernels");
    for (char *line = copy ? strtok_r(copy, "\n", &rest) : NULL; line && !s;
         line = strtok_r(NULL, "\n", &rest))
        s = fix_line(t, line, err);
    free(copy);
    return s;
}

void autotuner_stop(autotuner *t)
{
    free(t->path);
    t->path = NULL;
}

void autotuner_reproduce(autotuner *t)
{
    autotuner_stop(t);
    t->reproduces = true;
}

bool autotuner_reproduces(const autotuner *t)
{
    return t && t->reproduces;
}

tutti_status autotuner_admit(const autotuner *t, const tutti_op *op, tutti_error *err)
{
    if (!autotuner_reproduces(t) || op->flags & (TUTTI_OP_REPRODUCIBLE | TUTTI_OP_VIEW))
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                      "%s: its kernel promises no equal bits on other CPUs, which "
                      "\"deterministic\": \"anywhere\" wants; \"machine\" does without",
                      op->name);
}

tutti_status autotuner_fix_file(autotuner *t, const char *path, tutti_error *err)
{
    choices more = {NULL, 0};
    tutti_status s = choices_read(&more, path, err);
    for (size_t k = 0; k < more.count && !s; k++) {
        const choice *c = &more.list[k];
        if (choices_find(&t->fixed, c->key))
            continue;
        s = choices_set(&t->fixed, c->key, c->algorithm, err);
        if (!s)
            s = choices_set(&t->made, c->key, c->algorithm, err);
    }
    choices_fini(&more);
    return s;
}

tutti_status autotuner_keep(autotuner *t, const char *path, tutti_error *err)
{
    char *copy = strdup(path);
    if (!copy)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the choices of kernels");
    free(t->written_to);
    t->written_to = copy;
    return choices_write(&t->made, path, err);
}

uint32_t autotuner_missing(const autotuner *t)
{
    return t->missing;
}

const char *autotuner_cpu(const autotuner *t)
{
    return t->cpu;
}

/* The one algorithm that gives the same bits on every CPU. */
static tutti_status prepare_reproducible(const tutti_op *op, const tutti_op_call *c,
                                         void **ret_state, uint64_t *ret_scratch,
                                         const char **ret_algorithm, tutti_error *err)
{
    const tutti_algorithms *algorithms =
        op->struct_size > offsetof(tutti_op, cpu_algorithms) ? op->cpu_algorithms : NULL;
    *ret_algorithm = NULL;
    if (algorithms &&
        algorithms->struct_size > offsetof(tutti_algorithms, prepare_reproducible) &&
        algorithms->prepare_reproducible) {
        *ret_algorithm = "reproducible";
        return algorithms->prepare_reproducible(c, ret_state, ret_scratch, err);
    }
    return op->cpu->prepare ? op->cpu->prepare(c, ret_state, ret_scratch, err) : TUTTI_OK;
}

tutti_status autotune_prepare(autotuner *t, const tutti_op *op, const tutti_op_call *c,
                              void **ret_state, uint64_t *ret_scratch,
                              const char **ret_algorithm, tutti_error *err)
{
    if (autotuner_reproduces(t))
        return prepare_reproducible(op, c, ret_state, ret_scratch, ret_algorithm, err);
    const uint32_t algorithm = choose(t, op, c);
    *ret_algorithm = autotune_algorithm_name(op, c, algorithm);
    if (algorithm)
        return op->cpu_algorithms->prepare(c, algorithm, ret_state, ret_scratch, err);
    return op->cpu->prepare ? op->cpu->prepare(c, ret_state, ret_scratch, err) : TUTTI_OK;
}
