/* autotune.c - autotuning: an operation's algorithms are measured here, and the fastest is remembered. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/runtime/autotune.h"
#include "base/cpus.h"
#include "graph/ir/attr.h"
#include "graph/runtime/autotune_file.h"
#include "graph/runtime/host_memory.h"
#include "tutti/half.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_WAYS = 8,
    MIN_ROUNDS = 5,
    MAX_ROUNDS = 15,
    OTHERS = 1 << 19, /* floats a thread of what else a step touches, twice a core's cache */
};
#define ENOUGH 0.1 /* seconds of rounds */
#define WORTH 0.95 /* of algorithm 0's time, or less, for another one to be chosen */

struct autotuner {
    char *path; /* NULL: nothing is measured */
    char *cpu;
    choices known; /* of the file */
    choices fixed;
    choices made; /* these and those of calls since */
    uint32_t missing;
    char *written_to; /* where those made are written; NULL: nowhere */
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

const char *autotune_algorithm_name(const tutti_op *op, const tutti_op_call *c, uint32_t k)
{
    const bool several = op->struct_size > offsetof(tutti_op, cpu_algorithms) &&
                         op->cpu_algorithms && k < MAX_WAYS;
    return several ? op->cpu_algorithms->name(c, k) : NULL;
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

typedef struct measurement {
    const tutti_op *op;
    const tutti_op_call *c;
    void *in[TUTTI_OP_MAX_IN];
    void *first[TUTTI_OP_MAX_OUT]; /* algorithm 0's results */
    void *out[TUTTI_OP_MAX_OUT];   /* the other ones' */
    float *others;                 /* OTHERS a thread */
    void *state[MAX_WAYS], *scratch[MAX_WAYS];
    bool fits[MAX_WAYS];
    double best[MAX_WAYS]; /* seconds */
    uint32_t nways;
} measurement;

/* Numbers between -1 and 1 that do not repeat soon. */
static void fill(const tutti_desc *d, void *data)
{
    const bool bf16 = d->dtype == TUTTI_BF16;
    uint32_t x = 12345;
    for (int64_t k = 0, n = bf16 || d->dtype == TUTTI_F32 ? tutti_numel(d) : 0; k < n; k++) {
        x = x * 1664525u + 1013904223u;
        const float number = (float)(x >> 8) * 0x1p-23f - 1.0f;
        if (bf16)
            ((uint16_t *)data)[k] = tutti_to_bf16(number);
        else
            ((float *)data)[k] = number;
    }
}

static bool take_memory(measurement *m)
{
    for (uint32_t k = 0; k < m->c->nin; k++) {
        if (!(m->in[k] = host_memory_alloc(tutti_nbytes(&m->c->in[k]))))
            return false;
        fill(&m->c->in[k], m->in[k]);
    }
    for (uint32_t k = 0; k < m->c->nout; k++) {
        m->first[k] = host_memory_alloc(tutti_nbytes(&m->c->out[k]));
        m->out[k] = host_memory_alloc(tutti_nbytes(&m->c->out[k]));
        if (!m->first[k] || !m->out[k])
            return false;
    }
    m->others = host_memory_alloc((uint64_t)m->c->threads * OTHERS * sizeof *m->others);
    return m->others;
}

static void measurement_fini(measurement *m)
{
    free(m->others);
    for (uint32_t k = 0; k < m->nways; k++) {
        if (m->state[k] && m->op->cpu->destroy)
            m->op->cpu->destroy(m->state[k]);
        free(m->scratch[k]);
    }
    for (uint32_t k = 0; k < m->c->nin; k++)
        free(m->in[k]);
    for (uint32_t k = 0; k < m->c->nout; k++) {
        free(m->first[k]);
        free(m->out[k]);
    }
}

static bool run_algorithm(const measurement *m, uint32_t k, void *const *out)
{
    const void *in[TUTTI_OP_MAX_IN];
    for (uint32_t j = 0; j < m->c->nin; j++)
        in[j] = m->in[j];
    return m->op->cpu->run(m->state[k], m->c, in, out, m->scratch[k]) == TUTTI_OK;
}

static float number_at(const tutti_desc *d, const void *data, int64_t k)
{
    const uint32_t high =
        d->dtype == TUTTI_BF16 ? (uint32_t)((const uint16_t *)data)[k] << 16 : 0;
    float number;
    memcpy(&number, d->dtype == TUTTI_BF16 ? (const void *)&high : (const float *)data + k,
           sizeof number);
    return number;
}

static bool reads_bf16(const tutti_op_call *c)
{
    for (uint32_t k = 0; k < c->nin; k++)
        if (c->in[k].dtype == TUTTI_BF16)
            return true;
    return false;
}

/* Algorithm k's results are those of algorithm 0, by their largest entries: to two steps of bf16 where results, or
 * factors that an algorithm may round once more, have no more than its 8 bits. */
static bool agrees(const measurement *m)
{
    for (uint32_t k = 0; k < m->c->nout; k++) {
        const tutti_desc *d = &m->c->out[k];
        const bool bf16 = d->dtype == TUTTI_BF16 || reads_bf16(m->c);
        const double most = bf16 ? 0x1p-7 : AUTOTUNE_TOLERANCE;
        float scale = 0.0f, worst = 0.0f;
        if (d->dtype != TUTTI_F32 && d->dtype != TUTTI_BF16)
            return false;
        for (int64_t j = 0, n = tutti_numel(d); j < n; j++) {
            const float a = number_at(d, m->first[k], j), b = number_at(d, m->out[k], j);
            const float e = fabsf(a - b);
            scale = fmaxf(scale, fabsf(a));
            worst = e > worst || isnan(e) ? e : worst;
        }
        if (!((double)worst <= most * (double)scale))
            return false;
    }
    return true;
}

/* Prepares algorithm k and runs it once. */
static bool enter(measurement *m, uint32_t k)
{
    uint64_t scratch = 0;
    m->nways = k + 1;
    if (m->op->cpu_algorithms->prepare(m->c, k, &m->state[k], &scratch, NULL)) {
        m->state[k] = NULL;
        return false;
    }
    m->scratch[k] = host_memory_alloc(scratch ? scratch : 1);
    return m->scratch[k] && run_algorithm(m, k, k ? m->out : m->first) && (!k || agrees(m));
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What the rest of a step does between two runs: its numbers take the caches of all threads' cores. */
static void meanwhile(const measurement *m)
{
#pragma omp parallel for schedule(static) num_threads(m->c->threads)
    for (int64_t k = 0; k < (int64_t)m->c->threads * OTHERS; k++)
        m->others[k] += 1.0f;
}

/* Times all that fit in turns, so that a busy machine disturbs them alike.  The fastest one, if it
 * was ahead of algorithm 0 in most rounds too. */
static uint32_t decide(measurement *m)
{
    const double start = now();
    uint32_t best = 0, wins[MAX_WAYS] = {0}, rounds = 0;
    for (; rounds < MAX_ROUNDS && (rounds < MIN_ROUNDS || now() - start < ENOUGH); rounds++) {
        double first = 0.0;
        for (uint32_t k = 0; k < m->nways; k++) {
            if (!m->fits[k])
                continue;
            meanwhile(m);
            const double from = now();
            if (!run_algorithm(m, k, m->out))
                continue;
            const double took = now() - from;
            first = k ? first : took;
            wins[k] += took < first;
            m->best[k] = rounds == 0 || took < m->best[k] ? took : m->best[k];
        }
    }
    for (uint32_t k = 1; k < m->nways; k++)
        if (m->fits[k] && m->best[k] < WORTH * m->best[0] && m->best[k] < m->best[best] &&
            4 * wins[k] >= 3 * rounds)
            best = k;
    return best;
}

/* Way 0 when nothing can be measured. */
static uint32_t measure(const tutti_op *op, const tutti_op_call *c)
{
    measurement m = {.op = op, .c = c};
    uint32_t best = 0, fit = 0;
    if (take_memory(&m) && (m.fits[0] = enter(&m, 0))) {
        for (uint32_t k = 1; autotune_algorithm_name(op, c, k); k++)
            fit += m.fits[k] = enter(&m, k);
        best = fit ? decide(&m) : 0;
    }
    measurement_fini(&m);
    return best;
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

/* Fixed, known, or measured now. */
static uint32_t find_choice(autotuner *t, const tutti_op *op, const tutti_op_call *c,
                            const char *key)
{
    int algorithm = algorithm_of(op, c, choices_find(&t->fixed, key));
    t->missing += t->fixed.count && algorithm < 0;
    if (algorithm < 0 && t->path)
        algorithm = algorithm_of(op, c, choices_find(&t->known, key));
    if (algorithm < 0)
        algorithm = t->path ? (int)keep(t, op, c, key, measure(op, c)) : 0;
    return (uint32_t)algorithm;
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
