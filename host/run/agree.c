/* agree.c - the loops of all ranks go the same way: what functions of one rank ask of its loop holds for all. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"
#include "run/run_internal.h"
#include "train/context/signals.h"
#include "train/ranks/rank_calls.h"
#include "tutti/rng.h"

#include <stdlib.h>

/* What must be equal on all ranks: numbers, then hashes. */
enum { ITERATION, EPOCH, MAX_EPOCHS, MAX_ITERS, EPOCH_LENGTH, STATE, DATA, EQUALS };
static const char *const equal_names[] = {"iteration",    "epoch", "max_epochs", "max_iters",
                                          "epoch_length", "state", "data"};

/* What each rank tells the others. */
typedef struct run_word {
    int64_t equals[EQUALS];
    int32_t asked[RUN_REQUESTS];
    int32_t signal;
    int32_t saves;
    int32_t reserved;
} run_word;

_Static_assert(sizeof(run_word) <= FRAME_BYTES, "one exchange has it");

void run_ask(loop_run *l, int request, bool skip)
{
    l->kept.requests[request] = 1 + skip;
    if (request == RUN_TERMINATE)
        tutti_loop_terminate(l->loop, skip);
    else if (request == RUN_INTERRUPT)
        tutti_loop_interrupt(l->loop);
    else if (!l->behind) /* else loop_events.c ends the epoch */
        tutti_loop_terminate_epoch(l->loop, skip);
}

void run_request(loop_run *l, int request, bool skip)
{
    int32_t *asked = &l->ranks.asked[request];
    if (!l->ranks.count)
        run_ask(l, request, skip);
    else if (*asked <= skip)
        *asked = 1 + skip;
}

/* Once an iteration, and where no iteration follows soon. */
static bool is_meeting(int32_t event)
{
    return event == TUTTI_EVENT_STARTED || event == TUTTI_EVENT_EPOCH_STARTED ||
           event == TUTTI_EVENT_ITERATION_COMPLETED || event == TUTTI_EVENT_EPOCH_COMPLETED ||
           event == TUTTI_EVENT_COMPLETED;
}

static run_word own_word(const loop_run *l)
{
    const tutti_loop_state *st = tutti_loop_get_state(l->loop);
    run_word w = {.equals = {[ITERATION] = st->iteration,
                             [EPOCH] = st->epoch,
                             [MAX_EPOCHS] = st->max_epochs,
                             [MAX_ITERS] = st->max_iters,
                             [EPOCH_LENGTH] = st->epoch_length,
                             [STATE] = l->pending ? (int64_t)tutti_hash(l->pending) : 0,
                             [DATA] = l->ranks.data},
                  .signal = trainer_pending_signal(),
                  .saves = trainer_pending_save()};
    for (int k = 0; k < RUN_REQUESTS; k++)
        w.asked[k] = l->ranks.asked[k];
    return w;
}

static long long shown(int64_t number)
{
    return number == TUTTI_LOOP_NONE ? -1 : (long long)number;
}

/* All ranks find the same. */
static tutti_status check_words(const loop_run *l, const run_word *all, int32_t event,
                                tutti_error *err)
{
    for (int32_t r = 1; r < l->ranks.count; r++)
        for (int k = 0; k < EQUALS; k++) {
            if (all[r].equals[k] == all[0].equals[k])
                continue;
            if (k >= STATE)
                return tutti_fail(err, TUTTI_E_STATE,
                                  "behind %s rank %d has set another %s than rank 0; want it "
                                  "set on every rank",
                                  event_name(event), r, equal_names[k]);
            return tutti_fail(err, TUTTI_E_STATE,
                              "behind %s rank %d has %s %lld, rank 0 %lld; want it set on "
                              "every rank",
                              event_name(event), r, equal_names[k], shown(all[r].equals[k]),
                              shown(all[0].equals[k]));
        }
    return TUTTI_OK;
}

static void take_words(loop_run *l, const run_word *all)
{
    for (int k = 0; k < RUN_REQUESTS; k++) {
        int32_t asked = 0;
        for (int32_t r = 0; r < l->ranks.count; r++)
            asked = all[r].asked[k] > asked ? all[r].asked[k] : asked;
        if (asked)
            run_ask(l, k, asked > 1);
        l->ranks.asked[k] = 0;
    }
    int32_t signal = 0;
    bool saves = false;
    for (int32_t r = 0; r < l->ranks.count; r++) {
        signal = signal ? signal : all[r].signal;
        saves = saves || all[r].saves;
    }
    if (signal)
        trainer_accept_signal(signal);
    if (saves)
        trainer_accept_save();
}

tutti_status run_agree(loop_run *l, int32_t event, tutti_error *err)
{
    if (!l->ranks.count || !is_meeting(event))
        return TUTTI_OK;
    const run_word mine = own_word(l);
    run_word *all = calloc((size_t)l->ranks.count, sizeof *all);
    if (!all) /* the others find this rank gone */
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for what ranks agree on");
    tutti_status s = training_exchange(l->trainer, event, &mine, all, sizeof mine, err);
    if (!s && check_words(l, all, event, err))
        s = training_agree(l->trainer, TUTTI_E_STATE, err);
    else if (!s)
        take_words(l, all);
    free(all);
    return s;
}
