/* epoch_lanes_test.c - lanes: every sample once an epoch, each slot from its own lane, windows, and what is refused. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data/epoch_lanes.h"
#include "tutti_check.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 4096, GROUPS = 24, EACH = 20 };

static tutti_error err = TUTTI_ERROR_INIT;
static int64_t first[MOST + 1], index_of[MOST], again[MOST];

/* Groups of EACH samples; or, uneven, of 1, 38, 0, 41, 1, 38, ...  */
static epoch_lanes made(int64_t groups, bool uneven, int64_t lanes, int64_t window)
{
    static const int64_t sizes[] = {1, 38, 0, 41};
    for (int64_t g = 0; g < groups; g++)
        first[g + 1] = first[g] + (uneven ? sizes[g % 4] : EACH);
    return (epoch_lanes){.first = first,
                         .groups = groups,
                         .batch_size = 16,
                         .slot_size = 4,
                         .settings = {lanes, window}};
}

static tutti_epoch epoch_of(uint64_t seed, int64_t epoch)
{
    return (tutti_epoch){.struct_size = sizeof(tutti_epoch),
                         .shuffle = 1,
                         .seed = seed,
                         .epoch = epoch,
                         .batch_size = 16};
}

static int64_t group_of(const epoch_lanes *l, int64_t sample)
{
    int64_t g = 0;
    while (l->first[g + 1] <= sample)
        g++;
    return g;
}

static void order(const epoch_lanes *l, uint64_t seed, int64_t number, int64_t *index)
{
    const tutti_epoch epoch = epoch_of(seed, number);
    ck_assert_ok(epoch_lanes_order(l, &epoch, index, &err), err);
}

/* The lane that a place takes its sample from as long as no lane is used up. */
static int64_t lane_of(const epoch_lanes *l, int64_t place)
{
    return place % l->batch_size / l->slot_size % l->settings.lanes;
}

/* ---- what orders have ---- */

START_TEST(every_sample_comes_once)
{
    static const struct {
        int64_t groups, lanes, window, batch, slot;
        bool uneven;
    } cases[] = {{24, 4, 2, 16, 4, false}, {24, 4, 2, 16, 4, true}, {24, 1, 1, 16, 16, true},
                 {7, 3, 100, 10, 3, true}, {5, 5, 1, 23, 5, false}, {1, 1, 1, 16, 4, false},
                 {24, 2, 3, 7, 3, true}};
    const int64_t seed = _i;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        epoch_lanes l = made(cases[k].groups, cases[k].uneven, cases[k].lanes, cases[k].window);
        int seen[MOST] = {0};
        l.batch_size = cases[k].batch;
        l.slot_size = cases[k].slot;
        order(&l, (uint64_t)seed, 2, index_of);
        for (int64_t place = 0; place < first[l.groups]; place++) {
            ck_assert(index_of[place] >= 0 && index_of[place] < first[l.groups]);
            ck_assert_int_eq(seen[index_of[place]]++, 0);
        }
    }
}
END_TEST

START_TEST(a_slot_reads_its_lane)
{
    const epoch_lanes l = made(GROUPS, false, 4, 2);
    int64_t lane[GROUPS], groups[4] = {0};
    memset(lane, -1, sizeof lane);
    order(&l, 5, 1, index_of);
    for (int64_t place = 0; place < GROUPS * EACH; place++) {
        const int64_t g = group_of(&l, index_of[place]), from = lane_of(&l, place);
        groups[from] += lane[g] < 0;
        lane[g] = lane[g] < 0 ? from : lane[g];
        ck_assert_int_eq(lane[g], from); /* all samples of a group */
    }
    for (int k = 0; k < 4; k++) /* six shards of the same size each */
        ck_assert_int_eq(groups[k], GROUPS / 4);
}
END_TEST

/* Three slots on two lanes: the first lane gives twice as much, and has twice as many groups. */
START_TEST(lanes_end_together)
{
    epoch_lanes l = made(GROUPS, false, 2, 2);
    int64_t groups[2] = {0}, own = 0;
    int seen[GROUPS] = {0};
    l.batch_size = 12;
    order(&l, 5, 1, index_of);
    for (int64_t place = 0; place < GROUPS * EACH; place++) {
        const int64_t g = group_of(&l, index_of[place]);
        groups[lane_of(&l, place)] += !seen[g];
        seen[g] = 1;
    }
    ck_assert_int_eq(groups[0], 16);
    ck_assert_int_eq(groups[1], 8);
    l = made(GROUPS, true, 4, 1); /* uneven ones: most of the epoch is the lanes' own */
    int64_t lane[GROUPS];
    memset(lane, -1, sizeof lane);
    order(&l, 5, 1, index_of);
    for (int64_t place = 0; place < first[GROUPS]; place++) {
        const int64_t g = group_of(&l, index_of[place]), from = lane_of(&l, place);
        lane[g] = lane[g] < 0 ? from : lane[g];
        own += lane[g] == from;
    }
    ck_assert_int_ge(own, first[GROUPS] - 3 * 41); /* a lane is behind by a group at most */
}
END_TEST

/* Groups of a window are mixed, and begun only when the window before is used up. */
START_TEST(windows_are_shuffled)
{
    enum { WINDOW = 3 };
    const epoch_lanes l = made(GROUPS, false, 4, WINDOW);
    int64_t row[4][GROUPS * EACH], rows[4] = {0};
    order(&l, 9, 0, index_of);
    for (int64_t place = 0; place < GROUPS * EACH; place++) {
        const int64_t from = lane_of(&l, place);
        row[from][rows[from]++] = index_of[place];
    }
    for (int k = 0; k < 4; k++)
        for (int64_t at = 0; at < rows[k]; at += WINDOW * EACH) {
            int64_t groups = 0, turns = 0, steps = 0;
            int seen[GROUPS] = {0};
            for (int64_t n = at; n < at + WINDOW * EACH; n++) {
                const int64_t g = group_of(&l, row[k][n]);
                groups += !seen[g];
                seen[g] = 1;
                turns += n > at && g != group_of(&l, row[k][n - 1]);
                steps += n > at && row[k][n] == row[k][n - 1] + 1;
            }
            ck_assert_int_eq(groups, WINDOW);
            ck_assert_int_gt(turns, 20); /* 39 of 59 on average; 2 where groups are not mixed */
            ck_assert_int_lt(steps, 10); /* of one on average; 57 where samples are in order */
        }
}
END_TEST

START_TEST(seed_and_epoch_decide)
{
    epoch_lanes l = made(GROUPS, true, 4, 2);
    int64_t same = 0;
    order(&l, 5, 1, index_of);
    order(&l, 5, 1, again);
    ck_assert_mem_eq(index_of, again, (size_t)first[GROUPS] * sizeof *again);
    for (int other = 0; other < 3; other++) { /* of every order some places are alike */
        if (other == 2)
            l.settings.window = 3;
        order(&l, other == 1 ? 6 : 5, other == 0 ? 2 : 1, again);
        same = 0;
        for (int64_t k = 0; k < first[GROUPS]; k++)
            same += index_of[k] == again[k];
        ck_assert_int_lt(same, first[GROUPS] / 4);
    }
}
END_TEST

/* Of two ranks with slots 0, 1 and 2, 3 each reads the groups of its lanes, and both read all. */
START_TEST(ranks_share_no_group)
{
    const epoch_lanes l = made(GROUPS, false, 4, 2);
    int reads[GROUPS] = {0};
    order(&l, 1, 0, index_of);
    for (int64_t place = 0; place < GROUPS * EACH; place++)
        reads[group_of(&l, index_of[place])] |= place % 16 < 8 ? 1 : 2;
    for (int g = 0; g < GROUPS; g++)
        ck_assert(reads[g] == 1 || reads[g] == 2);
}
END_TEST

/* ---- what datasets say ---- */

static int64_t said_count(void *self)
{
    return ((const int64_t *)self)[0];
}

static int64_t said_first(void *self, int64_t group)
{
    return ((const int64_t *)self)[1 + group];
}

static const tutti_sample_groups_v1 said = {
    .struct_size = sizeof said, .count = said_count, .first = said_first};

static const struct {
    int64_t says[5]; /* how many groups, and where they begin */
    const char *text;
} answers[] = {
    {{3, 0, 4, 4}, ""},
    {{2, 0, 9}, ""},
    {{1, 0},
     "shuffle: 2 lanes, and dataset ours has 1 groups of samples, such as shards; want no more "
     "lanes than groups"},
    {{2, 1, 4}, "dataset ours: group 0 begins at sample 1 of 9, and the one before it at 0"},
    {{3, 0, 5, 4}, "dataset ours: group 2 begins at sample 4 of 9, and the one before it at 5"},
    {{2, 0, 10}, "dataset ours: group 1 begins at sample 10 of 9, and the one before it at 0"},
    {{INT64_MAX, 0}, "shuffle: no memory for 9223372036854775807 groups of samples"},
};

START_TEST(groups_have_all_samples_in_order)
{
    int64_t says[5];
    tutti_error e = TUTTI_ERROR_INIT;
    epoch_lanes l = {.table = &said, .settings = {2, 1}};
    memcpy(says, answers[_i].says, sizeof says);
    const tutti_status s = epoch_lanes_read_groups(&l, "ours", says, 9, &e);
    ck_assert_str_eq(e.text, answers[_i].text);
    ck_assert_int_eq(s, e.status);
    if (!s)
        ck_assert_int_eq(l.first[says[0]], 9);
    epoch_lanes_fini(&l);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lanes");
    TCase *c = tcase_create("lanes");
    tcase_add_loop_test(c, every_sample_comes_once, 0, 8);
    tcase_add_test(c, a_slot_reads_its_lane);
    tcase_add_test(c, lanes_end_together);
    tcase_add_test(c, windows_are_shuffled);
    tcase_add_test(c, seed_and_epoch_decide);
    tcase_add_test(c, ranks_share_no_group);
    tcase_add_loop_test(c, groups_have_all_samples_in_order, 0,
                        (int)(sizeof answers / sizeof *answers));
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
