/* charbonnier_test.c - the loss, met through its entry function alone, by a graph that writes down what it emits. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_check.h"
#include "tutti/loss.h"

#include <stdio.h>

enum { OUTPUT = 1, TARGET = 2 };

static char emitted[256];
static tutti_desc descs[2];
static tutti_status status;

static tutti_value emit(tutti_graph *g, const char *op, const tutti_value *in, uint32_t nin,
                        const tutti_attr *attr, uint32_t nattr, tutti_value *out, uint32_t nout)
{
    const size_t used = strlen(emitted);
    (void)g, (void)in, (void)nin, (void)attr, (void)nattr, (void)out, (void)nout;
    (void)snprintf(emitted + used, sizeof emitted - used, "%s ", op);
    return status ? 0 : 10;
}

static const tutti_desc *desc(tutti_graph *g, tutti_value v)
{
    (void)g;
    return &descs[v == TARGET];
}

static tutti_status refuse(tutti_graph *g, tutti_status why, const char *text)
{
    (void)g;
    (void)snprintf(emitted, sizeof emitted, "%s", text);
    return status = why;
}

static tutti_value loss_of(int32_t dtype, int64_t numbers, int32_t reduction)
{
    static const tutti_value output = OUTPUT, target = TARGET;
    tutti_graph g = {.struct_size = sizeof g, .emit = emit, .desc = desc, .fail = refuse};
    const tutti_loss_input in = {.struct_size = sizeof in,
                                 .reduction = reduction,
                                 .outputs = &output,
                                 .targets = &target,
                                 .noutputs = 1,
                                 .ntargets = 1};
    tutti_error err = TUTTI_ERROR_INIT;
    subject s;
    test_settings settings;
    emitted[0] = '\0';
    status = TUTTI_OK;
    descs[0] = (tutti_desc){{4, 3}, 2, TUTTI_F32};
    descs[1] = (tutti_desc){{4, numbers}, 2, dtype};
    test_settings_init(&settings);
    test_settings_float(&settings, "epsilon", 0.5);
    ck_assert_ok(
        subject_open(&s, PLUGIN_PATH, TUTTI_KIND_LOSS, "charbonnier", &settings, NULL, &err),
        err);
    const tutti_loss_v1 *table = (const tutti_loss_v1 *)subject_query(&s, TUTTI_LOSS_V1);
    const tutti_value value = table->loss(s.self, &g, &in);
    subject_close(&s);
    return value;
}

START_TEST(it_is_a_mean_of_roots)
{
    ck_assert_uint_ne(loss_of(TUTTI_F32, 3, TUTTI_REDUCTION_MEAN), 0);
    ck_assert_str_eq(emitted, "reshape sub mul affine sqrt mean ");
    ck_assert_uint_ne(loss_of(TUTTI_F32, 3, TUTTI_REDUCTION_NONE), 0);
    ck_assert_str_eq(emitted, "reshape sub mul affine sqrt mean ");
}
END_TEST

START_TEST(other_targets_are_refused)
{
    ck_assert_uint_eq(loss_of(TUTTI_F32, 2, TUTTI_REDUCTION_MEAN), 0);
    ck_assert_str_eq(emitted, "charbonnier wants a float for each output");
    ck_assert_uint_eq(loss_of(TUTTI_I32, 3, TUTTI_REDUCTION_MEAN), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("charbonnier");
    TCase *t = tcase_create("charbonnier");
    tcase_add_test(t, it_is_a_mean_of_roots);
    tcase_add_test(t, other_targets_are_refused);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
