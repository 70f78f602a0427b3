/* scale_each_test.c - the layer, met through its entry function alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_check.h"
#include "tutti/layer.h"
#include "tutti/module.h"

#include <stdio.h>

static char declared[64];

static tutti_status weight(void *ctx, tutti_module m, const char *name, const tutti_desc *desc,
                           const tutti_init *init, uint32_t flags, tutti_error *err)
{
    (void)ctx;
    (void)err;
    ck_assert(m == 7 && flags == TUTTI_WEIGHT_TRAINABLE && init->a == 1.0);
    (void)snprintf(declared, sizeof declared, "%s (%lld)", name, (long long)desc->dim[0]);
    return TUTTI_OK;
}

static const tutti_module_v1 modules = {.struct_size = sizeof modules, .weight = weight};
static const service services[] = {{TUTTI_MODULE_V1, &modules}, {NULL, NULL}};

START_TEST(it_declares_a_weight_for_each_feature)
{
    tutti_error err = TUTTI_ERROR_INIT;
    subject s;
    test_settings g;
    test_settings_init(&g);
    test_settings_int(&g, "features", 5);
    ck_assert_ok(
        subject_open(&s, PLUGIN_PATH, TUTTI_KIND_LAYER, "scale_each", &g, services, &err), err);
    const tutti_layer_v1 *layer = (const tutti_layer_v1 *)subject_query(&s, TUTTI_LAYER_V1);
    ck_assert_ok(layer->build(s.self, 7, &err), err);
    ck_assert_str_eq(declared, "weight (5)");
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scale_each");
    TCase *t = tcase_create("scale_each");
    tcase_add_test(t, it_declares_a_weight_for_each_feature);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
