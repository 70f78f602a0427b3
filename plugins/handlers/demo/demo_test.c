/* demo_test.c - the functions as the host finds them: exported, with C linkage. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/engine.h"
#include "tutti_check.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *function(const char *name)
{
    void *library = dlopen(PLUGIN_PATH, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(library != NULL, "%s", dlerror());
    void *symbol = dlsym(library, name);
    ck_assert_msg(symbol != NULL, "no %s", name);
    return symbol;
}

START_TEST(the_filter_passes_primes_from_the_least)
{
    int32_t (*is_prime)(int64_t, int64_t, tutti_error *);
    void *symbol = function("demo_is_prime");
    char passed[64] = "";
    memcpy(&is_prime, &symbol, sizeof is_prime);
    for (int64_t k = -1; k < 30; k++)
        if (is_prime(k, 3, NULL)) {
            const size_t used = strlen(passed);
            (void)snprintf(passed + used, sizeof passed - used, " %lld", (long long)k);
        }
    ck_assert_str_eq(passed, " 3 5 7 11 13 17 19 23 29");
}
END_TEST

/* An engine of a host that offers nothing. */
static int64_t marks;

static const void *offer_nothing(void *ctx, const char *interface_id)
{
    return NULL;
}

static int32_t find_nothing(void *ctx, const char *name)
{
    return -1;
}

static int64_t *marks_attribute(void *ctx, const char *name)
{
    return &marks;
}

static const tutti_event *now(void *ctx)
{
    return NULL;
}

START_TEST(a_host_without_services_is_an_error)
{
    const tutti_engine_v1 bare = {.struct_size = (uint32_t)sizeof bare,
                                  .find = find_nothing,
                                  .now = now,
                                  .attribute = marks_attribute,
                                  .query = offer_nothing};
    tutti_status (*note)(const tutti_engine_v1 *, const char *, double, tutti_error *);
    tutti_status (*mark)(const tutti_engine_v1 *, tutti_error *);
    void *symbol = function("demo_note");
    memcpy(&note, &symbol, sizeof note);
    symbol = function("demo_mark");
    memcpy(&mark, &symbol, sizeof mark);
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(note(&bare, "loss", 0.5, &err), TUTTI_E_UNSUPPORTED);
    ck_assert_str_eq(err.text, "demo: this host has no tutti.metrics/1");
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(mark(&bare, &err), TUTTI_E_NOTFOUND);
    ck_assert_str_eq(err.text, "demo: this run has no event milestone");
    ck_assert_int_eq(marks, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("demo");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, the_filter_passes_primes_from_the_least);
    tcase_add_test(tc, a_host_without_services_is_an_error);
    return tutti_run(suite);
}
