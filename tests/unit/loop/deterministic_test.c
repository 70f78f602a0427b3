/* deterministic_test.c - a resumed run sees the data, and draws the numbers, of one that went through. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti_check.h"
#include "tutti_host/loop.h"

enum { ITEMS = 7, MOST = 64 };

/* Shuffled by the loop's generator at every restart, as a sampler is. */
typedef struct shuffled {
    tutti_loop *loop;
    int order[ITEMS];
    int64_t at;
    int fetched; /* calls of next in this run */
} shuffled;

/* What a run saw: the item and a draw of each batch. */
typedef struct record {
    int n;
    int item[MOST];
    uint64_t draw[MOST];
    char *saved; /* the state after batch `save_at` */
    int64_t save_at;
} record;

static int64_t length(void *ctx)
{
    return ITEMS;
}

static tutti_status restart(void *ctx, tutti_error *err)
{
    shuffled *s = ctx;
    for (int k = 0; k < ITEMS; k++)
        s->order[k] = k;
    for (int k = ITEMS - 1; k > 0; k--) {
        const int j = (int)(tutti_loop_random(s->loop) % (uint64_t)(k + 1));
        const int item = s->order[k];
        s->order[k] = s->order[j];
        s->order[j] = item;
    }
    s->at = 0;
    return TUTTI_OK;
}

static tutti_status next(void *ctx, void **ret_batch, tutti_error *err)
{
    shuffled *s = ctx;
    if (s->at == ITEMS)
        return TUTTI_LOOP_END;
    s->fetched++;
    *ret_batch = &s->order[s->at++];
    return TUTTI_OK;
}

static tutti_status seek(void *ctx, int64_t position, tutti_error *err)
{
    ((shuffled *)ctx)->at = position;
    return TUTTI_OK;
}

static tutti_status process(tutti_loop *l, void *batch, void **ret_output, void *ctx,
                            tutti_error *err)
{
    record *r = ctx;
    ck_assert_int_lt(r->n, MOST);
    r->item[r->n] = *(const int *)batch;
    r->draw[r->n++] = tutti_loop_random(l); /* an augmentation */
    return TUTTI_OK;
}

static tutti_status save(tutti_loop *l, const tutti_loop_firing *f, void *ctx, tutti_error *err)
{
    record *r = ctx;
    if (tutti_loop_get_state(l)->iteration != r->save_at)
        return TUTTI_OK;
    tutti_loop_terminate(l, 0);
    return tutti_loop_state_dict(l, 0, &r->saved, err);
}

/* One run of four epochs of five batches, from `state` if given, over data of seven. */
static void go(record *r, const char *state, int can_seek, int64_t save_at, int *ret_fetched)
{
    shuffled s = {0};
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_loop_options o = TUTTI_LOOP_OPTIONS_INIT;
    tutti_loop_run_args args = TUTTI_LOOP_RUN_INIT;
    const tutti_loop_data data = {&s, length, restart, next, can_seek ? seek : NULL};
    r->save_at = save_at;
    o.deterministic = 1;
    o.process = process;
    o.process_ctx = r;
    ck_assert_ok(tutti_loop_create(&o, &s.loop, &err), err);
    ck_assert_ok(tutti_loop_on(s.loop, TUTTI_EVENT_ITERATION_COMPLETED, save, r, &err), err);
    if (state)
        ck_assert_ok(tutti_loop_load_state_dict(s.loop, state, &err), err);
    args.data = &data;
    args.max_epochs = 4;
    args.epoch_length = 5;
    args.seed = 11;
    ck_assert_ok(tutti_loop_run(s.loop, &args, &err), err);
    tutti_loop_destroy(s.loop);
    if (ret_fetched)
        *ret_fetched = s.fetched;
}

static const int64_t stops[] = {1, 4, 5, 7, 9, 14, 16, 19};

START_TEST(a_resumed_run_goes_on_as_if_it_had_not_stopped)
{
    const int64_t stop = stops[_i % 8];
    const int can_seek = _i < 8;
    record whole = {0}, first = {0}, rest = {0};
    int fetched;
    go(&whole, NULL, can_seek, -1, NULL);
    ck_assert_int_eq(whole.n, 20);
    go(&first, NULL, can_seek, stop, NULL);
    ck_assert_int_eq(first.n, stop);
    ck_assert_ptr_nonnull(first.saved);
    go(&rest, first.saved, can_seek, -1, &fetched);
    ck_assert_int_eq(rest.n, 20 - stop);
    for (int64_t k = 0; k < 20; k++) {
        const record *r = k < stop ? &first : &rest;
        const int64_t at = k < stop ? k : k - stop;
        ck_assert_int_eq(r->item[at], whole.item[k]);
        ck_assert_msg(r->draw[at] == whole.draw[k], "batch %d draws otherwise", (int)k);
    }
    /* without seek the batches before the place are fetched and dropped */
    ck_assert_int_eq(fetched, (can_seek ? 0 : stop % ITEMS) + 20 - stop);
    free(first.saved);
}
END_TEST

START_TEST(each_pass_over_the_data_has_an_order_of_its_own_and_all_items)
{
    record whole = {0};
    int seen[2] = {0, 0}, same = 1;
    go(&whole, NULL, 1, -1, NULL);
    for (int k = 0; k < 2 * ITEMS; k++)
        seen[k / ITEMS] |= 1 << whole.item[k];
    for (int k = 0; k < ITEMS; k++)
        same &= whole.item[k] == whole.item[ITEMS + k];
    ck_assert_int_eq(seen[0], (1 << ITEMS) - 1);
    ck_assert_int_eq(seen[1], (1 << ITEMS) - 1);
    ck_assert(!same);
}
END_TEST

START_TEST(a_deterministic_loop_needs_data)
{
    record r = {0};
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_loop_options o = TUTTI_LOOP_OPTIONS_INIT;
    tutti_loop_run_args args = TUTTI_LOOP_RUN_INIT;
    tutti_loop *l;
    o.deterministic = 1;
    o.process = process;
    o.process_ctx = &r;
    args.epoch_length = 2;
    ck_assert_ok(tutti_loop_create(&o, &l, &err), err);
    ck_assert_int_eq(tutti_loop_run(l, &args, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, "a deterministic loop needs data");
    tutti_loop_destroy(l);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("deterministic");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, a_resumed_run_goes_on_as_if_it_had_not_stopped, 0, 16);
    tcase_add_test(tc, each_pass_over_the_data_has_an_order_of_its_own_and_all_items);
    tcase_add_test(tc, a_deterministic_loop_needs_data);
    return tutti_run(suite);
}
