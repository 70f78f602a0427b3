/* isa_test.c - levels have names, the CPU's is found, tables give the best variant that is not above it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "isa_level.h"
#include "op_table.h"
#include "op_table_level.h"
#include "tutti/half.h"
#include "tutti_check.h"

#include <stdlib.h>
#include <string.h>

#include <sys/wait.h>
#include <unistd.h>

START_TEST(names_and_levels_belong_together)
{
    for (int32_t k = 0; k < TUTTI_ISA_LEVELS; k++)
        ck_assert_int_eq(tutti_isa_named(tutti_isa_name(k)), k);
    ck_assert_int_eq(tutti_isa_named("v9"), -1);
    ck_assert_int_eq(tutti_isa_named(""), -1);
    ck_assert_ptr_null(tutti_isa_name(-1));
    ck_assert_ptr_null(tutti_isa_name(TUTTI_ISA_LEVELS));
}
END_TEST

START_TEST(every_level_of_this_cpu_runs_its_own_code)
{
    for (int32_t level = 0; level < TUTTI_ISA_LEVELS; level++) {
        if (!tutti_isa_has(level))
            continue;
        int32_t (*const f)(float *) = (int32_t(*)(float *))tutti_isa_at(&isa_level_isa, level);
        float x[16];
        for (int k = 0; k < 16; k++)
            x[k] = (float)k;
        ck_assert_int_eq(f(x), level);
        for (int k = 0; k < 16; k++)
            ck_assert_float_eq(x[k], (float)(2 * k));
    }
}
END_TEST

#if defined(__aarch64__)
/* A CPU with one of the two may lack the other. */
START_TEST(no_level_has_the_other_levels_of_arm)
{
    static const int low = 0, other = 0;
    tutti_isa_table t = {{&low}};
    t.at[TUTTI_ISA_sve512] = &other;
    ck_assert_ptr_eq(tutti_isa_at(&t, TUTTI_ISA_bf16), &low);
    ck_assert_ptr_eq(tutti_isa_at(&t, TUTTI_ISA_sve512), &other);
    t = (tutti_isa_table){{&low}};
    t.at[TUTTI_ISA_bf16] = &other;
    ck_assert_ptr_eq(tutti_isa_at(&t, TUTTI_ISA_sve512), &low);
}
END_TEST
#endif

START_TEST(a_level_without_a_variant_has_the_next_lower_one)
{
    static const int low = 0, high = 0;
    tutti_isa_table t = {{&low}};
    for (int32_t level = 0; level < TUTTI_ISA_LEVELS; level++)
        ck_assert_ptr_eq(tutti_isa_at(&t, level), &low);
    t.at[TUTTI_ISA_LEVELS - 1] = &high;
    for (int32_t level = 1; level < TUTTI_ISA_LEVELS; level++)
        ck_assert_ptr_eq(tutti_isa_at(&t, level), level == TUTTI_ISA_LEVELS - 1 ? &high : &low);
}
END_TEST

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
START_TEST(the_compiler_sees_the_same_cpu)
{
    __builtin_cpu_init();
    const int32_t level = tutti_isa_cpu();
    ck_assert_int_eq(level >= TUTTI_ISA_v2, __builtin_cpu_supports("x86-64-v2") != 0);
    ck_assert_int_eq(level >= TUTTI_ISA_v3, __builtin_cpu_supports("x86-64-v3") != 0);
    ck_assert_int_eq(level >= TUTTI_ISA_v4, __builtin_cpu_supports("x86-64-v4") != 0);
    ck_assert_int_eq(level >= TUTTI_ISA_bf16, __builtin_cpu_supports("x86-64-v4") &&
                                                  __builtin_cpu_supports("avx512bf16"));
}
END_TEST
#endif

#if defined(__linux__) && defined(__x86_64__)
/* Whether Linux names such a unit of this CPU. */
static int linux_names(const char *unit)
{
    char line[8192];
    int found = 0;
    FILE *file = fopen("/proc/cpuinfo", "r");
    ck_assert_ptr_nonnull(file);
    while (!found && fgets(line, sizeof line, file))
        for (char *rest = NULL, *word = strtok_r(line, " \t\n", &rest); word && !found;
             word = strtok_r(NULL, " \t\n", &rest))
            found = strcmp(word, unit) == 0;
    (void)fclose(file);
    return found;
}

/* Since 5.16 and 6.2 Linux has words for AMX and AMX-FP16; a level may be lower where their state is not permitted. */
START_TEST(linux_knows_the_same_units)
{
    const int32_t level = tutti_isa_cpu();
    ck_assert_int_eq(level >= TUTTI_ISA_bf16,
                     level >= TUTTI_ISA_v4 && linux_names("avx512_bf16"));
    if (level >= TUTTI_ISA_amx)
        ck_assert(linux_names("amx_tile") && linux_names("amx_bf16"));
    if (level >= TUTTI_ISA_amx && linux_names("amx_fp16"))
        ck_assert_int_ge(level, TUTTI_ISA_amx_fp16);
}
END_TEST
#endif

/* Numbers around every rounding, subnormal ones, infinities, NaNs: each beside fifteen usual ones, and all together. */
START_TEST(every_level_rounds_to_the_same_bf16)
{
    static const uint32_t all[16] = {0x3F808000, 0x3F818000, 0x3F807FFF, 0xBF808001,
                                     0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7F800001,
                                     0xFFC12345, 0x00000001, 0x807FFFFF, 0x00408000,
                                     0x00800000, 0x80000000, 0x00008000, 0x00018000};
    typedef void store(const float *, uint16_t *, uint16_t *);
    for (int32_t level = 0; level < TUTTI_ISA_LEVELS; level++)
        for (int k = 0; k <= 16 && tutti_isa_has(level); k++) {
            float x[16];
            uint16_t simd[16], rows[16];
            for (int i = 0; i < 16; i++) {
                const uint32_t bits = k == 16 || i == k ? all[i] : 0x3F9E0651u + (uint32_t)i;
                memcpy(&x[i], &bits, sizeof bits);
            }
            TUTTI_ISA_CAST(store *, tutti_isa_at(&isa_store_isa, level))(x, simd, rows);
            for (int i = 0; i < 16; i++) {
                ck_assert_uint_eq(simd[i], tutti_to_bf16(x[i]));
                ck_assert_uint_eq(rows[i], tutti_to_bf16(x[i]));
            }
        }
}
END_TEST

/* What tutti_isa says in a process of its own with TUTTI_ISA set so. */
static int32_t level_with(const char *text)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        if (text)
            (void)setenv("TUTTI_ISA", text, 1);
        else
            (void)unsetenv("TUTTI_ISA");
        _exit(tutti_isa());
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(the_environment_lowers_the_level)
{
    const int32_t cpu = tutti_isa_cpu();
    ck_assert_int_eq(level_with(NULL), cpu);
    ck_assert_int_eq(level_with("v9"), cpu);
    for (int32_t level = 0; level < TUTTI_ISA_LEVELS; level++)
        ck_assert_int_eq(level_with(tutti_isa_name(level)), tutti_isa_has(level) ? level : cpu);
}
END_TEST

/* Every operation is there at every level, and those with loops differ between levels. */
START_TEST(the_table_of_operations_follows_the_level)
{
    enum { MOST = 256 };
    const tutti_op *base[MOST];
    int n = 0, others = 0;
    tutti_op_table_fill(TUTTI_ISA_base);
    for (; tutti_op_table[n] && n < MOST; n++)
        base[n] = tutti_op_table[n];
    ck_assert_int_gt(n, 0);
    for (int32_t level = 0; level < TUTTI_ISA_LEVELS; level++) {
        tutti_op_table_fill(level);
        for (int k = 0; k < n; k++) {
            ck_assert_str_eq(tutti_op_table[k]->name, base[k]->name);
            others += tutti_op_table[k] != base[k];
        }
        ck_assert_ptr_null(tutti_op_table[n]);
    }
    tutti_op_table_fill(tutti_isa());
    ck_assert_int_eq(others > 0, TUTTI_ISA_LEVELS > 1);
}
END_TEST

#if defined(__x86_64__) || defined(__aarch64__)
static const tutti_op *op_at(int32_t level, const char *name)
{
    const tutti_op *found = NULL;
    tutti_op_table_fill(level);
    for (int k = 0; tutti_op_table[k]; k++)
        if (strcmp(tutti_op_table[k]->name, name) == 0)
            found = tutti_op_table[k];
    tutti_op_table_fill(tutti_isa());
    return found;
}

START_TEST(the_table_has_the_variants_beyond_the_usual_levels)
{
    static const char *const with_bf16[] = {"batch_norm", "batch_norm_grad", "batch_norm_apply",
                                            "batch_norm_relu_grad", "cast"};
    for (uint64_t k = 0; k < sizeof with_bf16 / sizeof *with_bf16; k++) {
        const tutti_op *bf16 = op_at(TUTTI_ISA_bf16, with_bf16[k]);
        ck_assert_ptr_nonnull(bf16);
        for (int32_t level = 0; level < TUTTI_ISA_bf16; level++)
            ck_assert_ptr_ne(op_at(level, with_bf16[k]), bf16);
    }
}
END_TEST
#endif

START_TEST(a_build_for_one_level_runs_at_no_other_one)
{
    tutti_error e = TUTTI_ERROR_INIT;
    ck_assert_int_eq(op_table_fits(-1, TUTTI_ISA_base, &e), TUTTI_OK);
    ck_assert_int_eq(op_table_fits(TUTTI_ISA_base, TUTTI_ISA_base, &e), TUTTI_OK);
    ck_assert_int_eq(tutti_op_table_check(&e), TUTTI_OK);
#if defined(__x86_64__)
    ck_assert_int_eq(op_table_fits(TUTTI_ISA_base + 1, TUTTI_ISA_base, &e),
                     TUTTI_E_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(e.text, "alone, and this is base"));
#endif
}
END_TEST

START_TEST(a_cpu_above_the_one_level_is_taken_for_it)
{
    const char *before = getenv("TUTTI_ISA");
    op_table_pin(-1);
    op_table_pin(tutti_isa_cpu());
    ck_assert_ptr_eq(getenv("TUTTI_ISA"), before);
    if (before || tutti_isa_cpu() == TUTTI_ISA_base)
        return;
    op_table_pin(TUTTI_ISA_base);
    ck_assert_str_eq(getenv("TUTTI_ISA"), "base");
    ck_assert_int_eq(setenv("TUTTI_ISA", tutti_isa_name(tutti_isa_cpu()), 1), 0);
    op_table_pin(TUTTI_ISA_base); /* what the user wants is refused later */
    ck_assert_str_eq(getenv("TUTTI_ISA"), tutti_isa_name(tutti_isa_cpu()));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("isa");
    TCase *t = tcase_create("levels");
    tcase_add_test(t, names_and_levels_belong_together);
    tcase_add_test(t, every_level_of_this_cpu_runs_its_own_code);
#if defined(__aarch64__)
    tcase_add_test(t, no_level_has_the_other_levels_of_arm);
#endif
    tcase_add_test(t, a_level_without_a_variant_has_the_next_lower_one);
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
    tcase_add_test(t, the_compiler_sees_the_same_cpu);
#endif
#if defined(__linux__) && defined(__x86_64__)
    tcase_add_test(t, linux_knows_the_same_units);
#endif
    tcase_add_test(t, every_level_rounds_to_the_same_bf16);
    tcase_add_test(t, the_environment_lowers_the_level);
    tcase_add_test(t, the_table_of_operations_follows_the_level);
    tcase_add_test(t, a_build_for_one_level_runs_at_no_other_one);
    tcase_add_test(t, a_cpu_above_the_one_level_is_taken_for_it);
#if defined(__x86_64__) || defined(__aarch64__)
    tcase_add_test(t, the_table_has_the_variants_beyond_the_usual_levels);
#endif
    suite_add_tcase(s, t);
    return tutti_run(s);
}
