/* autotune_measure.c - autotuning: times an operation's candidate algorithms in turns and takes the fastest. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/runtime/autotune_measure.h"
#include "base/cpus.h"
#include "base/monotonic.h"
#include "graph/runtime/autotune.h"
#include "graph/runtime/host_memory.h"
#include "tutti/half.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CLEAR_ROUNDS =
        3, /* after which an algorithm is out whose times are all behind another one's */
    UNCLEAR_ROUNDS =
        4, /* as many, whatever they take, for one that is ahead now and was behind once */
    MAX_ROUNDS = 15,
    OTHERS = 1 << 19, /* floats a thread of what else a step touches, twice a core's cache */
};
#define WORTH 0.95 /* of algorithm 0's time, or less, for another one to be chosen */
#define HOPELESS 2 /* times the fastest one's time, or more: a second round would not help */
#define LONG 5e-3  /* seconds of a run, or more: the trial is as good as a round */
#define VERY_LONG 40e-3 /* likewise: a trial decides where it is not clearly ahead */
#define AHEAD 0.97      /* of algorithm 0's trial, or less, for a round to follow */
/* Seconds of rounds: a share of those left to the run, and never less. */
#define SHARE (1.0 / 12)
#define LEAST 0.015
#define DISTURBED 0.2 /* seconds of waiting for processors in one, or more, */
#define ALONE 0.9     /* unless this process has had so much of them itself, or more */

typedef struct measurement {
    const tutti_op *op;
    const tutti_op_call *c;
    void *in[TUTTI_OP_MAX_IN];
    void *first[TUTTI_OP_MAX_OUT]; /* algorithm 0's results */
    void *out[TUTTI_OP_MAX_OUT];   /* the other ones' */
    float *others;                 /* OTHERS a thread */
    void *state[AUTOTUNE_MAX_ALGORITHMS], *scratch[AUTOTUNE_MAX_ALGORITHMS];
    bool fits[AUTOTUNE_MAX_ALGORITHMS];
    double
        best[AUTOTUNE_MAX_ALGORITHMS]; /* seconds, of rounds and of trials that count as one */
    double worst[AUTOTUNE_MAX_ALGORITHMS];  /* likewise */
    double trial[AUTOTUNE_MAX_ALGORITHMS];  /* of the run before them */
    uint32_t wins[AUTOTUNE_MAX_ALGORITHMS]; /* rounds in which it beat algorithm 0 */
    uint32_t nalgorithms;
    double took;       /* seconds of the last round */
    bool lacks_memory; /* for an algorithm that may have won */
} measurement;

/* Numbers between -1 and 1 that do not repeat soon. */
static void fill(const measurement *m, const tutti_desc *d, void *data)
{
    const bool bf16 = d->dtype == TUTTI_BF16;
    const int64_t n = bf16 || d->dtype == TUTTI_F32 ? tutti_numel(d) : 0;
#pragma omp parallel for schedule(static) num_threads(m->c->threads)
    for (int64_t k = 0; k < n; k++) {
        uint32_t x = (uint32_t)k * 2654435761u + 12345;
        x = (x ^ (x >> 15)) * 2246822519u;
        const float number = (float)(x >> 8) * 0x1p-23f - 1.0f;
        if (bf16)
            ((uint16_t *)data)[k] = tutti_to_bf16(number);
        else
            ((float *)data)[k] = number;
    }
}

/* Memory whose pages are there before anything is timed, and zero; NULL: none left. */
static void *take_pages(const measurement *m, uint64_t bytes)
{
    enum { PAGE = 4096 };
    char *data = host_memory_alloc(bytes ? bytes : 1);
#pragma omp parallel for schedule(static) num_threads(m->c->threads)
    for (uint64_t k = 0; k < (data ? bytes / PAGE + 1 : 0); k++)
        memset(data + k * PAGE, 0, k < bytes / PAGE ? PAGE : bytes % PAGE);
    return data;
}

static bool take_memory(measurement *m)
{
    for (uint32_t k = 0; k < m->c->nin; k++) {
        if (!(m->in[k] = take_pages(m, tutti_nbytes(&m->c->in[k]))))
            return false;
        fill(m, &m->c->in[k], m->in[k]);
    }
    for (uint32_t k = 0; k < m->c->nout; k++) {
        m->first[k] = take_pages(m, tutti_nbytes(&m->c->out[k]));
        m->out[k] = take_pages(m, tutti_nbytes(&m->c->out[k]));
        if (!m->first[k] || !m->out[k])
            return false;
    }
    m->others = take_pages(m, (uint64_t)m->c->threads * OTHERS * sizeof *m->others);
    return m->others;
}

static void measurement_fini(measurement *m)
{
    free(m->others);
    for (uint32_t k = 0; k < m->nalgorithms; k++) {
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

/* The largest entry of `a`, and the largest distance to `b`; infinite where one of them is no number. */
static float distance(const measurement *m, const tutti_desc *d, const void *a, const void *b,
                      float *ret_scale)
{
    const int64_t n = tutti_numel(d);
    float scale = 0.0f, worst = 0.0f;
#pragma omp parallel for schedule(static) num_threads(m->c->threads) reduction(max             \
                                                                               : scale, worst)
    for (int64_t k = 0; k < n; k++) {
        const float one = number_at(d, a, k), e = fabsf(one - number_at(d, b, k));
        const float far = isnan(e) ? INFINITY : e;
        scale = fabsf(one) > scale ? fabsf(one) : scale;
        worst = far > worst ? far : worst;
    }
    *ret_scale = scale;
    return worst;
}

/* Algorithm k's results are those of algorithm 0, by their largest entries: to two steps of bf16 where results, or
 * factors that an algorithm may round once more, have no more than its 8 bits. */
static bool agrees(const measurement *m)
{
    for (uint32_t k = 0; k < m->c->nout; k++) {
        const tutti_desc *d = &m->c->out[k];
        const bool bf16 = d->dtype == TUTTI_BF16 || reads_bf16(m->c);
        const double most = bf16 ? 0x1p-7 : AUTOTUNE_TOLERANCE;
        float scale;
        if (d->dtype != TUTTI_F32 && d->dtype != TUTTI_BF16)
            return false;
        const float worst = distance(m, d, m->first[k], m->out[k], &scale);
        if (isinf(worst) || !((double)worst <= most * (double)scale))
            return false;
    }
    return true;
}

/* What the rest of a step does between two runs: its numbers take the caches of all threads' cores. */
static void meanwhile(const measurement *m)
{
#pragma omp parallel for schedule(static) num_threads(m->c->threads)
    for (int64_t k = 0; k < (int64_t)m->c->threads * OTHERS; k++)
        m->others[k] += 1.0f;
}

/* Prepares candidate k, runs it once and checks its results. */
static bool try_candidate(measurement *m, uint32_t k)
{
    uint64_t scratch = 0;
    m->nalgorithms = k + 1;
    const tutti_status s =
        m->op->cpu_algorithms->prepare(m->c, k, &m->state[k], &scratch, NULL);
    if (s)
        m->state[k] = NULL;
    else
        m->scratch[k] = take_pages(m, scratch);
    m->lacks_memory = m->lacks_memory || s == TUTTI_E_NOMEM || (!s && !m->scratch[k]);
    if (!m->scratch[k])
        return false;
    meanwhile(m);
    const double from = monotonic_s();
    const bool ran = run_algorithm(m, k, k ? m->out : m->first);
    m->trial[k] = monotonic_s() - from;
    return ran && (!k || agrees(m));
}

/* The candidate with the least time so far. */
static uint32_t fastest(const measurement *m)
{
    uint32_t best = AUTOTUNE_MAX_ALGORITHMS;
    for (uint32_t k = 0; k < m->nalgorithms; k++)
        if (m->fits[k] && (best == AUTOTUNE_MAX_ALGORITHMS || m->best[k] < m->best[best]))
            best = k;
    return best;
}

/* One time of each that fits. */
static void note(measurement *m, uint32_t k, double took, double first, bool is_first)
{
    m->wins[k] += took < first;
    m->best[k] = is_first || took < m->best[k] ? took : m->best[k];
    m->worst[k] = is_first || took > m->worst[k] ? took : m->worst[k];
}

/* All that fit, in turns, so that a busy machine disturbs them alike. */
static void run_round(measurement *m, bool is_first)
{
    const double began = monotonic_s();
    double first = 0.0;
    for (uint32_t k = 0; k < m->nalgorithms; k++) {
        if (!m->fits[k])
            continue;
        meanwhile(m);
        const double from = monotonic_s();
        m->fits[k] = run_algorithm(m, k, m->out);
        const double took = monotonic_s() - from;
        first = k ? first : took;
        note(m, k, took, first, is_first);
    }
    m->took = monotonic_s() - began;
}

/* Far behind twice: in the trial and in the round after it. */
static bool is_hopeless(const measurement *m, uint32_t k, uint32_t best)
{
    return m->best[k] >= HOPELESS * m->best[best] && m->trial[k] >= HOPELESS * m->trial[best];
}

/* Behind in every pair of rounds; algorithm 0 by as much as it takes to choose another one. */
static bool is_beaten(const measurement *m, uint32_t k, uint32_t best)
{
    return m->worst[best] < (k ? 1.0 : WORTH) * m->best[k];
}

/* Leaves out candidates that cannot win after `rounds`: whether several are left. */
static bool prune(measurement *m, uint32_t rounds)
{
    const uint32_t best = fastest(m);
    uint32_t left = 0;
    for (uint32_t k = 0; k < m->nalgorithms && best < AUTOTUNE_MAX_ALGORITHMS; k++) {
        const bool out = k != best && (is_hopeless(m, k, best) ||
                                       (rounds >= CLEAR_ROUNDS && is_beaten(m, k, best)));
        m->fits[k] = m->fits[k] && !out;
        left += m->fits[k];
    }
    return left > 1;
}

/* The trials of long runs are their first round.  Returns the rounds so far. */
static uint32_t count_trials(measurement *m)
{
    double least = INFINITY;
    for (uint32_t k = 0; k < m->nalgorithms; k++)
        least = m->fits[k] && m->trial[k] < least ? m->trial[k] : least;
    if (least < LONG)
        return 0;
    for (uint32_t k = 0; k < m->nalgorithms; k++)
        if (m->fits[k])
            note(m, k, m->trial[k], m->trial[0], true);
    return 1;
}

/* Trials of runs that are longer still differ by little: what is not ahead of algorithm 0 in them is out.  Whether several are
 * left. */
static bool prune_by_trials(measurement *m)
{
    uint32_t left = 0;
    for (uint32_t k = 0; k < m->nalgorithms; k++) {
        m->fits[k] = m->fits[k] &&
                     (k == 0 || m->trial[0] < VERY_LONG || m->trial[k] < AHEAD * m->trial[0]);
        left += m->fits[k];
    }
    return left > 1;
}

/* Is one ahead of algorithm 0 that was behind it too often?  One run that was disturbed is too much of few.  Not where
 * runs are so long that trials decide. */
static bool is_unclear(const measurement *m, uint32_t rounds)
{
    bool unclear = false;
    if (m->trial[0] >= VERY_LONG)
        return false;
    for (uint32_t k = 1; k < m->nalgorithms && m->fits[0]; k++)
        unclear = unclear || (m->fits[k] && m->best[k] < WORTH * m->best[0] &&
                              4 * m->wins[k] < 3 * rounds);
    return unclear && rounds < UNCLEAR_ROUNDS;
}

/* Rounds that take `most` seconds, and one at least where trials have not decided; returns how many there are. */
static uint32_t run_rounds(measurement *m, double most)
{
    const double began = monotonic_s();
    uint32_t rounds = count_trials(m);
    bool open = prune_by_trials(m);
    while (open) {
        run_round(m, rounds == 0);
        open = prune(m, ++rounds) && rounds < MAX_ROUNDS &&
               (is_unclear(m, rounds) || monotonic_s() - began + m->took < most);
    }
    return rounds;
}

/* The fastest one, if it was ahead of algorithm 0 in most rounds too; AUTOTUNE_MAX_ALGORITHMS when none runs. */
static uint32_t decide(measurement *m, double *left)
{
    const double began = monotonic_s(), share = *left * SHARE;
    const uint32_t rounds = run_rounds(m, share > LEAST ? share : LEAST);
    *left = fmax(*left - (monotonic_s() - began), 0.0);
    uint32_t best = m->fits[0] ? 0 : fastest(m);
    for (uint32_t k = 1; k < m->nalgorithms && m->fits[0]; k++)
        if (m->fits[k] && m->best[k] < WORTH * m->best[0] && m->best[k] < m->best[best] &&
            4 * m->wins[k] >= 3 * rounds)
            best = k;
    return best;
}

const char *autotune_algorithm_name(const tutti_op *op, const tutti_op_call *c, uint32_t k)
{
    const bool several = op->struct_size > offsetof(tutti_op, cpu_algorithms) &&
                         op->cpu_algorithms && k < AUTOTUNE_MAX_ALGORITHMS;
    return several ? op->cpu_algorithms->name(c, k) : NULL;
}

/* What tells whether others had the processors: since when, and what had been by then. */
typedef struct load_watch {
    double began;
    double computed; /* seconds of processors, of all threads */
    int64_t waited;  /* nanoseconds */
} load_watch;

static double computed_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static load_watch watch_load(void)
{
    return (load_watch){monotonic_s(), computed_s(), cpus_waited_ns()};
}

bool autotune_disturbed(double seconds, double waited, double computed, int cpus)
{
    return waited > DISTURBED * seconds && computed < ALONE * cpus * seconds;
}

static bool was_disturbed(const load_watch *w)
{
    return autotune_disturbed(monotonic_s() - w->began,
                              (double)(cpus_waited_ns() - w->waited) * 1e-9,
                              computed_s() - w->computed, cpus_available());
}

autotune_result autotune_measure(const tutti_op *op, const tutti_op_call *c, double *left)
{
    measurement m = {.op = op, .c = c};
    uint32_t best = AUTOTUNE_MAX_ALGORITHMS, fit = 0;
    const load_watch load = watch_load();
    if (take_memory(&m) && (m.fits[0] = try_candidate(&m, 0))) {
        for (uint32_t k = 1; autotune_algorithm_name(op, c, k); k++)
            fit += m.fits[k] = try_candidate(&m, k);
        best = fit ? decide(&m, left) : 0;
    }
    const bool ran = best < AUTOTUNE_MAX_ALGORITHMS;
    const autotune_result result = {.algorithm = ran ? best : 0,
                                    .complete = ran && !m.lacks_memory,
                                    .disturbed = was_disturbed(&load)};
    measurement_fini(&m);
    return result;
}
