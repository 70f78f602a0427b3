/* forecast_test.c - memory, bytes and times of steps over ranks against numbers made by hand. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/forecast.h"

#include "tutti_check.h"

/* 1,000,000 weights with Adam, 8 slots; sums and latencies that cost nothing. */
static forecast_run example(void)
{
    return (forecast_run){.samples = 64,
                          .microbatch = 8,
                          .weights = 1000000,
                          .state = 8000000,
                          .bucket = 250000,
                          .plan = 500,
                          .slot_s = 0.3,
                          .update_s = 0.1,
                          .link.bytes_per_s = 1e7};
}

START_TEST(one_rank_waits_for_nobody)
{
    forecast f;
    const forecast_run run = example();
    forecast_step(&run, 1, &f);
    ck_assert_int_eq(f.slots, 8);
    ck_assert_int_eq(f.most_slots, 8);
    ck_assert_uint_eq(f.weights, 4000000);
    ck_assert_uint_eq(f.gradients, 4000000);
    ck_assert_uint_eq(f.state, 8000000);
    ck_assert_uint_eq(f.sums, 3 * 4000000); /* of 1, 2 and 4 slots */
    ck_assert_uint_eq(f.total, 28000500);
    ck_assert_uint_eq(f.sent, 0);
    ck_assert_close(f.step_s, 8 * 0.3 + 0.1, 1e-12);
    ck_assert_close(f.efficiency, 1.0, 1e-12);
}
END_TEST

/* Each bucket is 1 MB; three quarters of it go out and come back at 10 MB/s: 0.15 s for each of four buckets,
 * ready after 0.05, 0.1, 0.15 and 0.2 s: the sums end at 0.05 + 4 * 0.15 s, 0.45 s behind the backward pass. */
START_TEST(what_the_link_takes_longer_than_the_backward_pass_is_exposed)
{
    forecast f;
    forecast_run run = example();
    forecast_step(&run, 4, &f);
    ck_assert_int_eq(f.most_slots, 2);
    ck_assert_uint_eq(f.blocks, 1);
    ck_assert_uint_eq(f.sent, 6000000);
    ck_assert_close(f.exposed_s, 0.45, 1e-9);
    ck_assert_close(f.step_s, 0.6 + 0.1 + 0.45, 1e-9);
    ck_assert_close(f.efficiency, 0.7 / 1.15, 1e-9);
    run.half =
        true; /* half of what is sent: the last bucket, 0.075 s, and what waits before it */
    forecast_step(&run, 4, &f);
    ck_assert_uint_eq(f.sent, 3000000);
    ck_assert_close(f.exposed_s, 0.15, 1e-9);
    run.half = false;
    run.link.bytes_per_s = 1e9; /* the last bucket alone */
    forecast_step(&run, 4, &f);
    ck_assert_close(f.exposed_s, 0.0015, 1e-9);
    run.link.latency_s = 1e-3; /* an all-to-all has two, an all-gather three */
    forecast_step(&run, 4, &f);
    ck_assert_close(f.exposed_s, 0.0065, 1e-9);
}
END_TEST

/* 4 ranks on 2 machines: a rank gives the other of its machine half of each bucket of 1 MB and carries the sums of the other
 * half, of which half goes to the other machine; all come back likewise.  A machine's link has 0.5 MB out and in, 0.1 s at 10 MB/s;
 * a copy of 0.5 MB takes 0.005 s at 100 MB/s, there and back: 0.11 s for each of four buckets. */
START_TEST(ranks_of_a_machine_sum_before_machines_do)
{
    forecast f;
    forecast_run run = example();
    run.link.together = 2;
    run.link.copied_per_s = 1e8;
    forecast_step(&run, 4, &f);
    ck_assert_uint_eq(f.sent, 2 * (2000000 + 1000000));
    ck_assert_uint_eq(f.crossing, 2 * 1000000);
    ck_assert_close(f.exposed_s, 0.05 + 4 * 0.11 - 0.2, 1e-9);
    run.link.bytes_per_s = 1e12;
    run.link.copied_per_s = 1e12;
    run.link.latency_s = 1e-3; /* among two machines one each way */
    forecast_step(&run, 4, &f);
    ck_assert_close(f.exposed_s, 2e-3, 1e-5);
    run.link.latency_s = 0.0;
    run.add_s = 1e-8; /* two halves on the machine, then a quarter of both machines' sums */
    forecast_step(&run, 4, &f);
    ck_assert_close(f.exposed_s, 250000 * (1.0 + 2.0 / 4) * 1e-8, 1e-5);
    run.link.together = 4; /* nothing crosses */
    forecast_step(&run, 4, &f);
    ck_assert_uint_eq(f.crossing, 0);
    ck_assert_uint_eq(f.sent, 6000000);
    run.link.together =
        3; /* of 3 and 1: a machine has slots 0 to 5, two blocks, the other one block */
    forecast_step(&run, 4, &f);
    ck_assert_uint_eq(f.crossing, (uint64_t)(4000000.0 / 2 / 3 * (2 + 1)));
    run.shards_state = run.rounds = true; /* slots 0, 1, 2 and 3 in a round */
    run.link.together = 2;
    forecast_step(&run, 4, &f);
    ck_assert_uint_eq(f.crossing, 3 * 1000000);
}
END_TEST

START_TEST(sharded_state_is_a_shard)
{
    forecast f;
    forecast_run run = example();
    run.shards_state = true;
    forecast_step(&run, 4, &f);
    ck_assert_uint_eq(f.state, 2000000);
    ck_assert_uint_eq(f.sent, 6000000); /* gradients' shards, then weights */
    run.gathers = true;
    forecast_step(&run, 4, &f);
    ck_assert_uint_eq(f.sent, 9000000);
}
END_TEST

/* 8 slots on 4 ranks in two rounds: a rank has 250,000 gradients, and of others three quarters of the 60,000 of the weight
 * that is computed and of two buckets of 10,000 that wait; between the rounds one sum of its own 250,000; and a bucket sent and a bucket received. */
START_TEST(sums_copy_no_more_than_they_must)
{
    forecast f;
    forecast_run run = example();
    forecast_step(&run, 8, &f);                        /* a slot a rank: seven shards come */
    ck_assert_uint_eq(f.sums, 3 * 4 * 7 * 250000 / 8); /* of three buckets at once */
    run.half = true;                                   /* sent, and eight shards come */
    forecast_step(&run, 8, &f);
    ck_assert_uint_eq(f.sums, 3 * 4 * 2 * 250000);
    run.half = false;
    run.link.together = 4;
    run.link.copied_per_s = 1e9;
    forecast_step(&run, 8, &f);
    ck_assert_uint_eq(f.sums, 3 * 4 * 2 * 250000);
    run.bucket = 500000; /* there are two */
    forecast_step(&run, 8, &f);
    ck_assert_uint_eq(f.sums, 2 * 4 * 2 * 500000);
}
END_TEST

START_TEST(sharded_gradients_are_a_shard)
{
    forecast f;
    forecast_run run = example();
    run.shards_state = run.rounds = true;
    run.largest = 60000;
    run.bucket = 10000;
    run.waiting = 2;
    forecast_step(&run, 4, &f);
    ck_assert_uint_eq(f.weights, 4000000);
    ck_assert_uint_eq(f.gradients, 4 * (250000 + 60000));
    ck_assert_uint_eq(f.sums, 4 * (250000 + 20000));
    ck_assert_uint_eq(f.state, 2000000);
    ck_assert_int_eq(f.most_slots, 2);
    ck_assert_uint_eq(f.blocks, 1);
    ck_assert_uint_eq(f.sent, 9000000); /* gradients' shards twice, then weights */
    forecast_step(&run, 3, &f); /* rounds of 3, 3 and 2: three, then two and four slots wait */
    ck_assert_int_eq(f.most_slots, 3);
    ck_assert_uint_eq(f.sums, 2 * 1333333 + 4 * 20000);
    forecast_step(&run, 1, &f); /* as without */
    ck_assert_uint_eq(f.gradients, 4000000);
    ck_assert_uint_eq(f.sums, 3 * 4000000);
    run.gathers = true;
    forecast_step(&run, 4, &f);
    ck_assert_uint_eq(f.gradients, 4000000);
    ck_assert_uint_eq(f.sent, 12000000);
    run.link.bytes_per_s =
        1e9; /* both rounds' last buckets of 40 kB, the second's sums come back too */
    run.gathers = false;
    forecast_step(&run, 4, &f);
    ck_assert_close(f.exposed_s, 2 * 3e-5 + 3e-3, 1e-9);
    run.gathers_beside = true; /* the forward pass takes a third of slot_s */
    forecast_step(&run, 4, &f);
    ck_assert_close(f.exposed_s, 2 * 3e-5, 1e-9);
    run.link.bytes_per_s =
        1e7; /* of 0.3 s that hides 0.1; buckets take 3 ms, and come every 2 ms for 0.2 s */
    forecast_step(&run, 4, &f);
    ck_assert_close(f.exposed_s, 2 * 0.102 + 0.2, 1e-9);
}
END_TEST

/* The same run: 250,000 weights, and of others three quarters of the 60,000 of the largest and of three buckets of 10,000; both
 * passes of both slots gather. */
START_TEST(sharded_weights_are_a_shard)
{
    forecast f;
    forecast_run run = example();
    run.shards_state = run.rounds = run.shards_weights = true;
    run.largest = 60000;
    run.bucket = 10000;
    run.waiting = run.ahead = 2;
    forecast_step(&run, 4, &f);
    ck_assert_uint_eq(f.weights, 4 * (250000 + 67500));
    ck_assert_uint_eq(f.gradients, 4 * (250000 + 60000));
    ck_assert_uint_eq(f.sent, 2 * 3000000 + 4 * 3000000);
    run.gathers = true; /* somebody reads them */
    forecast_step(&run, 4, &f);
    ck_assert_uint_eq(f.weights, 4000000);
    ck_assert_uint_eq(f.sent, 12000000);
    run.gathers = false;
    forecast_step(&run, 1, &f);
    ck_assert_uint_eq(f.weights, 4000000);
    ck_assert_uint_eq(f.sent, 0);
}
END_TEST

/* 100 sums of 50,000 numbers in all: two slots a rank send 800,000 bytes to each of three others, and a rank has the results
 * and gradients of both at once. */
START_TEST(statistics_of_the_batch_are_waited_for)
{
    forecast f, without;
    forecast_run run = example();
    run.link.latency_s = 1e-5;
    forecast_step(&run, 4, &without);
    run.statistics = (forecast_statistics){.waits = 100, .numbers = 50000};
    forecast_step(&run, 4, &f);
    ck_assert_uint_eq(f.results, 2 * 500);
    ck_assert_uint_eq(f.sums - without.sums, 4000000);
    ck_assert_uint_eq(f.total - without.total, 4000500);
    ck_assert_uint_eq(f.sent - without.sent, 3 * 800000);
    ck_assert_close(f.exposed_s - without.exposed_s, 3 * (100 * 1e-5 + 0.08), 1e-9);
    forecast_step(&run, 1, &f);
    ck_assert_uint_eq(f.results, 8 * 500);
    ck_assert_uint_eq(f.sent, 0);
}
END_TEST

START_TEST(better_sizes_give_every_rank_one_block)
{
    forecast f;
    const forecast_run run = example();
    forecast_step(&run, 3, &f); /* slots 0 1, 2 to 4, 5 to 7: two blocks on two of the ranks */
    ck_assert_uint_eq(f.blocks, 2);
    ck_assert_uint_eq(f.sent, (uint64_t)(4000000.0 * 2 / 3 * 3));
    ck_assert_int_eq(forecast_better_ranks(&run, 3), 2);
    ck_assert_int_eq(forecast_better_microbatch(&run, 3), 0); /* 64 samples */
    ck_assert_int_eq(forecast_better_ranks(&run, 64), 8);
    ck_assert_int_eq(forecast_better_microbatch(&run, 64), 1);
    ck_assert_int_eq(forecast_better_microbatch(&run, 16), 4);
    forecast_run rounds = run; /* any number of rounds is even */
    rounds.rounds = true;
    rounds.samples = 72;
    ck_assert_int_eq(forecast_better_ranks(&rounds, 3), 3);
    rounds.rounds = false;
    rounds.samples = 144; /* 18 slots: 6 and 9 a rank are two blocks */
    ck_assert_int_eq(forecast_better_ranks(&rounds, 3), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("forecast");
    TCase *c = tcase_create("forecast");
    tcase_add_test(c, one_rank_waits_for_nobody);
    tcase_add_test(c, what_the_link_takes_longer_than_the_backward_pass_is_exposed);
    tcase_add_test(c, ranks_of_a_machine_sum_before_machines_do);
    tcase_add_test(c, sharded_state_is_a_shard);
    tcase_add_test(c, sharded_gradients_are_a_shard);
    tcase_add_test(c, sums_copy_no_more_than_they_must);
    tcase_add_test(c, sharded_weights_are_a_shard);
    tcase_add_test(c, statistics_of_the_batch_are_waited_for);
    tcase_add_test(c, better_sizes_give_every_rank_one_block);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
