/* host_memory_test.c - how much memory control groups leave, of both versions. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/runtime/host_memory.h"
#include "tutti_check.h"

#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/tutti_memory.XXXXXX";

static void make_root(void)
{
    (void)snprintf(root, sizeof root, "/tmp/tutti_memory.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static void remove_root(void)
{
    char command[256];
    (void)snprintf(command, sizeof command, "rm -r %s", root);
    ck_assert_int_eq(system(command), 0); /* NOLINT(cert-env33-c) our own folder */
}

/* A file below root, with the folders on its way. */
static void put(const char *name, const char *text)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(path, 0755);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(the_tightest_group_on_the_way_up_counts)
{
    put("memory.max", "max\n");
    put("a/memory.max", "1000\n");
    put("a/memory.current", "700\n");
    put("a/memory.stat", "anon 500\ninactive_file 100\nactive_file 100\n");
    put("a/b/memory.max", "5000\n");
    put("a/b/memory.current", "300\n");
    ck_assert_uint_eq(host_memory_left_in_groups(root, "0::/a/b\n"), 400);
    put("a/b/memory.max", "350\n");
    ck_assert_uint_eq(host_memory_left_in_groups(root, "0::/a/b\n"), 50);
}
END_TEST

START_TEST(the_first_version_has_a_tree_of_its_own_for_memory)
{
    put("memory/job/memory.limit_in_bytes", "4096\n");
    put("memory/job/memory.usage_in_bytes", "5000\n");
    put("memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 1000\n");
    put("memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("memory/memory.usage_in_bytes", "1\n");
    ck_assert_uint_eq(
        host_memory_left_in_groups(root, "9:cpuset:/other\n4:memory,hugetlb:/job\n0::/x\n"),
        96);
}
END_TEST

START_TEST(no_limit_is_no_limit)
{
    put("a/memory.max", "max\n");
    put("a/memory.current", "700\n");
    ck_assert(host_memory_left_in_groups(root, "0::/a\n") == UINT64_MAX);
    ck_assert(host_memory_left_in_groups(root, "0::/not/there\n") == UINT64_MAX);
    ck_assert(host_memory_left_in_groups(root, "") == UINT64_MAX);
    ck_assert(host_memory_left_in_groups(root, "nonsense\n") == UINT64_MAX);
}
END_TEST

START_TEST(this_machine_has_some)
{
    ck_assert_uint_gt(host_memory_available(), 1u << 20);
}
END_TEST

/* The allocator may hand out again what was given back. */
START_TEST(memory_is_zeros_however_often_it_is_taken)
{
    static const uint64_t sizes[] = {1000, (2u << 20) + 1, 40u << 20};
    for (int round = 0; round < 3; round++) {
        unsigned char *p = host_memory_alloc(sizes[_i]);
        ck_assert_ptr_nonnull(p);
        if (round == 1)
            host_memory_prefault(p, sizes[_i], 2);
        for (uint64_t k = 0; k < sizes[_i]; k++)
            if (p[k])
                ck_abort_msg("byte %llu of %llu is %d in round %d", (unsigned long long)k,
                             (unsigned long long)sizes[_i], p[k], round);
        memset(p, 255, sizes[_i]);
        free(p);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(tc, make_root, remove_root);
    tcase_add_test(tc, the_tightest_group_on_the_way_up_counts);
    tcase_add_test(tc, the_first_version_has_a_tree_of_its_own_for_memory);
    tcase_add_test(tc, no_limit_is_no_limit);
    tcase_add_test(tc, this_machine_has_some);
    tcase_add_loop_test(tc, memory_is_zeros_however_often_it_is_taken, 0, 3);
    return tutti_run(suite);
}
