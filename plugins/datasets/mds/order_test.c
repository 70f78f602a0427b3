/* order_test.c - epochs are those of MosaicML Streaming, and the generator is NumPy's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batches.h"
#include "numpy_rng.h"
#include "tutti_check.h"
#include "upstream_batches.h"
#include "upstream_orders.h"
#include "weights.h"

#include <stdlib.h>

static const struct {
    const char *name;
    const int64_t *shards;
    int64_t count;
} sets[] = {{"a", shards_a, sizeof shards_a / sizeof *shards_a},
            {"b", shards_b, sizeof shards_b / sizeof *shards_b},
            {"c", shards_c, sizeof shards_c / sizeof *shards_c},
            {"d", shards_d, sizeof shards_d / sizeof *shards_d}};

static uint64_t digest(const int64_t *numbers, int64_t count)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (int64_t k = 0; k < count; k++)
        h = (h ^ (uint64_t)numbers[k]) * 0x100000001b3u;
    return h;
}

static mds_weight weight_of(const char *kind, double value)
{
    const int32_t of = strcmp(kind, "proportion") == 0 ? MDS_PROPORTION
                       : strcmp(kind, "repeat") == 0   ? MDS_REPEAT
                       : strcmp(kind, "choose") == 0   ? MDS_CHOOSE
                                                       : MDS_ALL;
    return (mds_weight){of, value, (int64_t)value};
}

static void assert_epoch(size_t row, const struct upstream_order *u,
                         const struct upstream_batches *b)
{
    static int64_t shards[2000];
    mds_stream streams[3];
    mds_weight weights[3];
    tutti_error err = TUTTI_ERROR_INIT;
    int64_t nshards = 0, n = 0;
    for (; n < 3 && u->streams[n].set; n++) {
        size_t k = 0;
        while (strcmp(sets[k].name, u->streams[n].set) != 0)
            k++;
        streams[n] = (mds_stream){sets[k].count, 0, 0, 0};
        weights[n] = weight_of(u->streams[n].weight, u->streams[n].value);
        ck_assert_int_le(nshards + sets[k].count, 2000);
        for (int64_t i = 0; i < sets[k].count; i++)
            streams[n].samples += shards[nshards++] = sets[k].shards[i];
    }
    ck_assert_ok(mds_weights_apply(weights, streams, n, u->epoch_size, u->seed, &err), err);
    for (int64_t k = 0; k < n; k++)
        ck_assert_int_eq(streams[k].choose, u->streams[k].choose);
    const mds_order o = {.shards = shards,
                         .streams = streams,
                         .nstreams = n,
                         .shuffle = {u->algo, u->nodes, u->seed, u->block},
                         .granularity = u->granularity,
                         .fixed = u->fixed,
                         .mixed = u->mixed,
                         .batching = b ? b->method : 0,
                         .batch = b ? b->batch : 0,
                         .devices = b ? b->devices : 0};
    if (b)
        ck_assert_ok(mds_batches_check(&o, &err), err);
    ck_assert_int_eq(b ? mds_batches_places(&o) : mds_order_places(&o), u->places);
    int64_t *samples = malloc((size_t)u->places * sizeof *samples);
    ck_assert_ptr_nonnull(samples);
    ck_assert_ok(b ? mds_batches_samples(&o, u->epoch, samples, &err)
                   : mds_order_samples(&o, u->epoch, samples, &err),
                 err);
    for (int k = 0; k < 4; k++)
        ck_assert_msg(samples[k] == u->first[k], "row %zu: place %d has sample %lld, want %lld",
                      row, k, (long long)samples[k], (long long)u->first[k]);
    ck_assert_msg(digest(samples, u->places) == u->digest, "row %zu: another order", row);
    free(samples);
}

START_TEST(epochs_are_those_of_streaming)
{
    const size_t rows = sizeof upstream_orders / sizeof *upstream_orders;
    ck_assert_uint_gt(rows, 50);
    for (size_t row = 0; row < rows; row++)
        assert_epoch(row, &upstream_orders[row], NULL);
}
END_TEST

START_TEST(batches_are_those_of_streaming)
{
    const size_t rows = sizeof upstream_batches / sizeof *upstream_batches;
    ck_assert_uint_gt(rows, 60);
    for (size_t row = 0; row < rows; row++)
        assert_epoch(row, &upstream_batches[row].order, &upstream_batches[row]);
}
END_TEST

START_TEST(streams_that_fill_no_batch_are_refused)
{
    static const int64_t shards[] = {100, 6};
    mds_stream streams[] = {{1, 100, 100, 100.0 / 106}, {1, 6, 6, 6.0 / 106}};
    tutti_error err = TUTTI_ERROR_INIT;
    mds_order o = {.shards = shards,
                   .streams = streams,
                   .nstreams = 2,
                   .shuffle = {MDS_PY1E, 1, 0, 1000},
                   .granularity = 1,
                   .mixed = 1,
                   .batching = MDS_BATCH_STREAM,
                   .batch = 8,
                   .devices = 1};
    ck_assert_int_eq(mds_batches_check(&o, &err), TUTTI_E_ARG);
    ck_assert_str_eq(err.text,
                     "mds: stream 2 has 6 samples of an epoch, too few for batches of 8");
    o.batching = MDS_BATCH_DEVICE;
    o.devices = 3;
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(mds_batches_check(&o, &err), TUTTI_E_ARG);
    ck_assert_str_eq(err.text, "mds: batch_size 8 is not for 3 devices");
    o.devices = 2;
    o.shuffle.block = 20;
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(mds_batches_check(&o, &err), TUTTI_E_ARG);
    ck_assert_str_eq(err.text,
                     "mds: stream 2 has 1 samples of shuffle_block_size, want a larger one");
    o.shuffle.block = 100;
    ck_assert_ok(mds_batches_check(&o, &err), err);
}
END_TEST

/* numpy 2.1.3: integers(0, 10, 5), integers(0, 2**40, 3), permutation(10), choice(20, 4, False) of a generator each, and
 * choice(20000, 500, False), of which the first and the last. */
static const struct {
    uint64_t seed;
    int64_t small[5], large[3], order[10], chosen[4], first, last;
    double part;
} drawn[] = {
    {0U,
     {8, 6, 5, 2, 3},
     {INT64_C(700346781657), INT64_C(296633628802), INT64_C(45050865998)},
     {4, 6, 2, 7, 3, 5, 9, 0, 8, 1},
     {5, 9, 14, 11},
     19725,
     17012,
     0x1.586c967f2e9a8p-2},
    {1U,
     {4, 5, 7, 9, 0},
     {INT64_C(562753827705), INT64_C(1045045885889), INT64_C(158505170440)},
     {8, 4, 7, 0, 1, 2, 5, 9, 6, 3},
     {14, 9, 19, 8},
     12688,
     9463,
     0x1.1f6e665939024p+0},
    {9176U,
     {9, 8, 9, 1, 2},
     {INT64_C(885980553204), INT64_C(151299417086), INT64_C(807534218292)},
     {8, 1, 2, 7, 5, 6, 9, 3, 0, 4},
     {14, 2, 18, 16},
     18955,
     19121,
     0x1.048882d82fc0dp+1},
    {4294967295U,
     {1, 2, 7, 2, 9},
     {INT64_C(277014882608), INT64_C(240865390265), INT64_C(315872890600)},
     {0, 1, 4, 8, 3, 7, 5, 6, 2, 9},
     {4, 13, 3, 19},
     6901,
     3816,
     -0x1.18e691897ea72p-1},
    {4294967303U,
     {8, 7, 8, 1, 2},
     {INT64_C(846778930654), INT64_C(123065306592), INT64_C(207915156546)},
     {9, 0, 8, 6, 7, 1, 3, 4, 2, 5},
     {2, 16, 14, 13},
     9752,
     17405,
     0x1.59e83b01330d8p-1},
    {4611686018427387909U,
     {0, 9, 0, 8, 6},
     {INT64_C(1069299881241), INT64_C(956994072082), INT64_C(65348222375)},
     {6, 8, 4, 9, 2, 1, 3, 0, 7, 5},
     {19, 17, 1, 18},
     16846,
     1984,
     0x1.a37dc63656af0p-4},
};

START_TEST(numbers_are_those_of_numpy)
{
    static int64_t many[500];
    tutti_error err = TUTTI_ERROR_INIT;
    for (size_t row = 0; row < sizeof drawn / sizeof *drawn; row++) {
        numpy_rng r;
        int64_t order[10];
        numpy_rng_init(&r, drawn[row].seed);
        for (int k = 0; k < 5; k++)
            ck_assert_int_eq(numpy_rng_integer(&r, 0, 10), drawn[row].small[k]);
        numpy_rng_init(&r, drawn[row].seed);
        for (int k = 0; k < 3; k++)
            ck_assert_int_eq(numpy_rng_integer(&r, 0, INT64_C(1) << 40), drawn[row].large[k]);
        numpy_rng_init(&r, drawn[row].seed);
        numpy_rng_permutation(&r, 10, order);
        ck_assert_mem_eq(order, drawn[row].order, sizeof order);
        numpy_rng_init(&r, drawn[row].seed);
        ck_assert_ok(numpy_rng_choice(&r, 20, 4, order, &err), err);
        ck_assert_mem_eq(order, drawn[row].chosen, 4 * sizeof *order);
        numpy_rng_init(&r, drawn[row].seed);
        ck_assert_ok(numpy_rng_choice(&r, 20000, 500, many, &err), err);
        ck_assert_int_eq(many[0], drawn[row].first);
        ck_assert_int_eq(many[499], drawn[row].last);
        ck_assert_double_eq(numpy_rng_uniform(&r, -1.0, 2.5), drawn[row].part);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("mds_order");
    TCase *t = tcase_create("order");
    tcase_add_test(t, epochs_are_those_of_streaming);
    tcase_add_test(t, batches_are_those_of_streaming);
    tcase_add_test(t, streams_that_fill_no_batch_are_refused);
    tcase_add_test(t, numbers_are_those_of_numpy);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
