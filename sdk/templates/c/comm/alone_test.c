/* alone_test.c - the comm, met through its entry function alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_check.h"
#include "tutti/collectives.h"

START_TEST(a_world_of_one_has_its_own_numbers)
{
    const tutti_join how = {.struct_size = sizeof how, .timeout_ms = 1000, .run = 1};
    tutti_world_info world = {.struct_size = sizeof world};
    int32_t mine = 7, all = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    subject s;
    ck_assert_ok(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_COMM, "alone", NULL, NULL, &err),
                 err);
    const tutti_collectives_v1 *table =
        (const tutti_collectives_v1 *)subject_query(&s, TUTTI_COLLECTIVES_V1);
    ck_assert_ok(table->join(s.self, &how, &world, &err), err);
    ck_assert(world.rank == 0 && world.size == 1);
    ck_assert_ok(table->exchange(s.self, &mine, &all, sizeof mine, &err), err);
    ck_assert_int_eq(all, 7);
    table->leave(s.self, 0);
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("alone");
    TCase *t = tcase_create("alone");
    tcase_add_test(t, a_world_of_one_has_its_own_numbers);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
