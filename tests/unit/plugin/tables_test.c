/* tables_test.c - what an instance's typed tables must keep, and out-structs that are filled. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/released.h"
#include "registry_check.h"
#include "tutti/state.h"
#include "tutti/stateful.h"
#include "tutti/weights.h"

static const struct {
    const char *kind, *name;
    tutti_status status;
    const char *sentence;
} wrong[] = {
    {"callback", "small", TUTTI_E_VERSION,
     "@/tables/tables/tables.so: callback it: its tutti.stateful/1 has struct_size 16, want at "
     "least 32"},
    {"callback", "reserved", TUTTI_E_ARG,
     "@/tables/tables/tables.so: callback it: its tutti.stateful/1 has a reserved that is not "
     "0"},
    {"callback", "flags", TUTTI_E_ARG,
     "@/tables/tables/tables.so: callback it: its tutti.stateful/1 has flags 0x80, which this "
     "host does not know"},
    {"algorithm", "trait", TUTTI_E_FORMAT,
     "@/tables/tables/plugin.json: algorithm trait has trait backwards_create_graph and "
     "answers "
     "no tutti.penalty/1"},
    {"op", "short_op", TUTTI_E_VERSION,
     "@/tables/tables/tables.so: op it: its tutti.op/1 has struct_size 64, want at least 112"},
    {"op", "bit_op", TUTTI_E_ARG,
     "@/tables/tables/tables.so: op it: its tutti.op/1 has flags 0x4000, which this host does "
     "not know"},
    {"callback", "order", TUTTI_E_VERSION,
     "@/tables/tables/tables.so: callback it: its tutti.sample_order/1 has struct_size 0, want "
     "at least 24"},
};

START_TEST(a_table_that_is_not_as_released_is_refused_at_open)
{
    tutti_error err = TUTTI_ERROR_INIT;
    instance *i = NULL;
    registry *r = registry_over(FIXTURES "/tables");
    const object *o = find(r, wrong[_i].kind, wrong[_i].name);
    ck_assert_int_eq(instance_open(o, "it", NULL, NULL, NULL, &i, &err), wrong[_i].status);
    ck_assert_str_eq(shorten(err.text), wrong[_i].sentence);
    ck_assert_ptr_null(i);
    registry_destroy(r);
}
END_TEST

START_TEST(a_whole_table_is_there)
{
    tutti_error err = TUTTI_ERROR_INIT;
    instance *i = NULL;
    registry *r = registry_over(FIXTURES "/tables");
    const object *o = find(r, "callback", "whole");
    ck_assert_ok(instance_open(o, "it", NULL, NULL, NULL, &i, &err), err);
    ck_assert_ptr_nonnull(instance_query(i, TUTTI_STATEFUL_V1));
    instance_free(i);
    registry_destroy(r);
}
END_TEST

START_TEST(a_flag_that_came_after_1_0_is_known)
{
    tutti_error err = TUTTI_ERROR_INIT;
    instance *i = NULL;
    registry *r = registry_over(FIXTURES "/tables");
    ck_assert_ok(instance_open(find(r, "op", "later_op"), "it", NULL, NULL, NULL, &i, &err),
                 err);
    instance_free(i);
    registry_destroy(r);
}
END_TEST

START_TEST(an_out_struct_gets_no_more_than_it_has_room_for)
{
    struct {
        tutti_weight w;
        unsigned char behind[8];
    } mine = {.w = {.struct_size = sizeof mine.w}, .behind = {1, 2, 3, 4, 5, 6, 7, 8}};
    const tutti_weight from = {.struct_size = sizeof from, .path = "a.b", .group = 3};
    const unsigned char kept[] = {1, 2, 3, 4, 5, 6, 7, 8};
    tutti_error err = TUTTI_ERROR_INIT;
    /* a host whose struct has grown by 8 bytes */
    unsigned char newer[sizeof from + 8];
    memset(newer, 0xff, sizeof newer);
    memcpy(newer, &from, sizeof from);
    ck_assert_ok(released_give(&mine.w, newer, sizeof newer, "tutti_weight", &err), err);
    ck_assert_str_eq(mine.w.path, "a.b");
    ck_assert_int_eq(mine.w.group, 3);
    ck_assert_uint_eq(mine.w.struct_size, sizeof mine.w);
    ck_assert_mem_eq(mine.behind, kept, sizeof kept);
    mine.w = (tutti_weight){.path = "untouched"};
    ck_assert_int_eq(RELEASED_GIVE(tutti_weight, &mine.w, &from, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG,
                    "the caller's tutti_weight has struct_size 0, want at least 104: set it to "
                    "sizeof");
    ck_assert_str_eq(mine.w.path, "untouched");
}
END_TEST

/* Whoever made the struct set one of these wrong. */
START_TEST(a_struct_that_is_taken_is_whole_and_has_nothing_reserved)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_data given = {.struct_size = sizeof given};
    ck_assert_ok(RELEASED_TAKE(tutti_data, &given, &err), err);
    given.reserved = 1;
    ck_assert_int_eq(RELEASED_TAKE(tutti_data, &given, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, "the caller's tutti_data has a reserved that is not 0");
    err = (tutti_error)TUTTI_ERROR_INIT;
    given = (tutti_data){.struct_size = 8};
    ck_assert_int_eq(RELEASED_TAKE(tutti_data, &given, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG,
                    "the caller's tutti_data has struct_size 8, want at least 32: set it to "
                    "sizeof");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tables");
    TCase *t = tcase_create("tables");
    tcase_add_loop_test(t, a_table_that_is_not_as_released_is_refused_at_open, 0,
                        sizeof wrong / sizeof *wrong);
    tcase_add_test(t, a_whole_table_is_there);
    tcase_add_test(t, a_flag_that_came_after_1_0_is_known);
    tcase_add_test(t, an_out_struct_gets_no_more_than_it_has_room_for);
    tcase_add_test(t, a_struct_that_is_taken_is_whole_and_has_nothing_reserved);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
