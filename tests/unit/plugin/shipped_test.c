/* shipped_test.c - every plugin of this tree is accepted, loaded, and is what its manifest says. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "registry_check.h"
#include "tutti/closure.h"
#include "tutti/loss.h"
#include "tutti/penalty.h"
#include "tutti/stateful.h"

#include <stdio.h>

/* Over the plugins of this build and its template. */
static registry *shipped(void)
{
    const char *build = getenv("TUTTI_BUILD");
    static char folders[2][PATH_MAX];
    ck_assert_ptr_nonnull(build);
    (void)snprintf(folders[0], PATH_MAX, "%s/lib/tutti/plugins", build);
    (void)snprintf(folders[1], PATH_MAX, "%s/lib/tutti/template", build);
    const char *const paths[] = {folders[0], folders[1], NULL};
    return registry_over_with(paths, TRUST_OWNER, NULL);
}

START_TEST(every_plugin_keeps_its_manifests_word)
{
    registry *r = shipped();
    ck_assert_uint_gt(registry_plugin_count(r), 1);
    for (size_t k = 0; k < registry_plugin_count(r); k++) {
        tutti_error err = TUTTI_ERROR_INIT;
        ck_assert_ok(registry_check(r, k, &err), err);
    }
    ck_assert_str_eq(reported, "");
    registry_destroy(r);
}
END_TEST

/* Without these nothing of what a plugin promises happens, and nothing else says so. */
static const char *const silent[] = {TUTTI_PENALTY_V1, TUTTI_LOSS_V1,
                                     TUTTI_OPTIMIZER_WRAPPER_V1, TUTTI_STATEFUL_V1,
                                     TUTTI_SAVER_V1};
enum { SILENT = sizeof silent / sizeof *silent };

static bool holds(const char *path, const char *text)
{
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s cannot be read", path);
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    const size_t size = (size_t)ftell(file);
    char *bytes = malloc(size);
    rewind(file);
    ck_assert_uint_eq(fread(bytes, 1, size, file), size);
    (void)fclose(file);
    const bool there = memmem(bytes, size, text, strlen(text) + 1) != NULL;
    free(bytes);
    return there;
}

/* The interface's name lies in the library of who answers it. */
START_TEST(tables_that_a_host_may_not_know_are_declared)
{
    size_t answered = 0;
    registry *r = shipped();
    for (size_t k = 0; k < registry_plugin_count(r); k++) {
        plugin_info p;
        json_doc *doc;
        tutti_error err = TUTTI_ERROR_INIT;
        registry_plugin(r, k, &p);
        ck_assert_ok(json_read(p.manifest, 1 << 20, &doc, &err), err);
        const json_node *list = json_get(json_root(doc), "consumes");
        for (size_t m = 0; m < SILENT; m++) {
            bool declared = false;
            for (size_t c = 0; list && c < json_count(list); c++)
                declared = declared || strcmp(json_string(json_at(list, c)), silent[m]) == 0;
            const bool there = holds(p.library, silent[m]);
            answered += there;
            ck_assert_msg(there == declared, "%s %s %s", p.manifest,
                          there ? "does not consume"
                                : "consumes, and the library does not know",
                          silent[m]);
        }
        json_free(doc);
    }
    ck_assert_uint_ge(answered, 12);
    registry_destroy(r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shipped");
    TCase *t = tcase_create("shipped");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, every_plugin_keeps_its_manifests_word);
    tcase_add_test(t, tables_that_a_host_may_not_know_are_declared);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
