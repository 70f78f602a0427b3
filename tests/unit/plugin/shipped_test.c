/* shipped_test.c - every plugin of this tree is accepted, loaded, and is what its manifest says. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "registry_check.h"

START_TEST(every_plugin_keeps_its_manifests_word)
{
    const char *build = getenv("TUTTI_BUILD");
    char folders[2][PATH_MAX];
    ck_assert_ptr_nonnull(build);
    (void)snprintf(folders[0], PATH_MAX, "%s/lib/tutti/plugins", build);
    (void)snprintf(folders[1], PATH_MAX, "%s/lib/tutti/template", build);
    const char *const paths[] = {folders[0], folders[1], NULL};
    registry *r = registry_over_with(paths, TRUST_OWNER, NULL);
    ck_assert_uint_gt(registry_plugin_count(r), 1);
    for (size_t k = 0; k < registry_plugin_count(r); k++) {
        tutti_error err = TUTTI_ERROR_INIT;
        ck_assert_ok(registry_check(r, k, &err), err);
    }
    ck_assert_str_eq(reported, "");
    registry_destroy(r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shipped");
    TCase *t = tcase_create("shipped");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, every_plugin_keeps_its_manifests_word);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
