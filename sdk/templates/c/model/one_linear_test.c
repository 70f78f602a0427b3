/* one_linear_test.c - the model, met through its entry function alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_check.h"
#include "tutti/model.h"
#include "tutti/module.h"

#include <stdio.h>

static char made[128];

static tutti_status create(void *ctx, const char *kind, const tutti_attr *params,
                           uint32_t nparams, tutti_module *ret_module, tutti_error *err)
{
    const size_t used = strlen(made);
    (void)ctx;
    (void)err;
    *ret_module = 3;
    (void)snprintf(made + used, sizeof made - used, "%s", kind);
    for (uint32_t k = 0; k < nparams; k++)
        (void)snprintf(made + strlen(made), sizeof made - strlen(made), " %s=%lld",
                       params[k].name, (long long)params[k].i);
    (void)snprintf(made + strlen(made), sizeof made - strlen(made), ";");
    return TUTTI_OK;
}

static tutti_status add(void *ctx, tutti_module parent, const char *name, tutti_module child,
                        tutti_error *err)
{
    (void)ctx;
    (void)err;
    ck_assert(parent == 1 && child == 3 && *name);
    return TUTTI_OK;
}

static const tutti_module_v1 modules = {
    .struct_size = sizeof modules, .create = create, .add = add};
static const service services[] = {{TUTTI_MODULE_V1, &modules}, {NULL, NULL}};

START_TEST(it_is_as_large_as_the_data_asks)
{
    const tutti_column columns[] = {{"input", {{4, 5}, 2, TUTTI_F32}, 0},
                                    {"target", {{0}, 0, TUTTI_I32}, 3}};
    tutti_error err = TUTTI_ERROR_INIT;
    subject s;
    ck_assert_ok(
        subject_open(&s, PLUGIN_PATH, TUTTI_KIND_MODEL, "one_linear", NULL, services, &err),
        err);
    const tutti_model_v1 *model = (const tutti_model_v1 *)subject_query(&s, TUTTI_MODEL_V1);
    ck_assert_ok(model->build(s.self, 1, columns, 2, &err), err);
    ck_assert_str_eq(made, "flatten;linear in_features=20 out_features=3;");
    ck_assert_int_eq(model->build(s.self, 1, columns, 1, &err), TUTTI_E_ARG);
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("one_linear");
    TCase *t = tcase_create("one_linear");
    tcase_add_test(t, it_is_as_large_as_the_data_asks);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
