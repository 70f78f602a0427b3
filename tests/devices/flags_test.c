/* flags_test.c - what a device says that its kernels do: a kernel that is missing is named before anything runs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "device_check.h"
#include "graph/net/net.h"
#include "op_table.h"

/* A device of its own kernels, the CPU's, but for one operation. */
static const char *missing;

static const tutti_kernel *all_but_one(void *device_, const char *op)
{
    for (const tutti_op *const *it = tutti_op_table; *it; it++)
        if (strcmp((*it)->name, op) == 0)
            return missing && strcmp(missing, op) == 0 ? NULL : (*it)->cpu;
    return NULL;
}

static tutti_status try_net(const tutti_device *d, tutti_error *err)
{
    const net_options options = {.ops = tutti_op_table, .threads = 1, .device = d};
    net *n = NULL;
    const tutti_status s = net_create(&options, &n, err);
    ck_assert((s == TUTTI_OK) == (n != NULL));
    net_destroy(n);
    return s;
}

typedef struct promise {
    uint32_t flag;
    const char *name, *op;
} promise;

static const promise promises[] = {
    {TUTTI_DEVICE_ADDS, "ADDS", "matmul_add"},
    {TUTTI_DEVICE_ADDS, "ADDS", "conv2d_grad_weight_add"},
    {TUTTI_DEVICE_SUMS, "SUMS", "matmul_bias_grad"},
    {TUTTI_DEVICE_MASKS, "MASKS", "matmul_relu"},
    {TUTTI_DEVICE_MASKS, "MASKS", "matmul_relu_grad"},
    {TUTTI_DEVICE_HALF_RESULTS, "HALF_RESULTS", "layer_norm_grad_cast"},
    {TUTTI_DEVICE_LOSS_GRADS, "LOSS_GRADS", "softmax_cross_entropy_and_grad"},
};
enum { PROMISES = sizeof promises / sizeof *promises };

START_TEST(a_flag_without_its_kernel_is_refused)
{
    const promise *p = &promises[_i];
    backend b = open_kind(SHADOW);
    tutti_device d = b.device;
    tutti_device_v1 table = *d.table;
    tutti_error err = TUTTI_ERROR_INIT;
    char want[256];
    table.kernel = all_but_one;
    d.table = &table;
    d.info.kernels[0] = '\0';
    missing = p->op;
    ck_assert_ok(try_net(&d, &err), err); /* it says nothing of it */
    d.info.flags |= p->flag;
    (void)snprintf(
        want, sizeof want,
        "device shadow 0 says TUTTI_DEVICE_%s, want a kernel for %s, of which it has none",
        p->name, p->op);
    ck_assert_int_eq(try_net(&d, &err), TUTTI_E_UNSUPPORTED);
    ck_assert_str_eq(err.text, want);
    err = (tutti_error)TUTTI_ERROR_INIT;
    missing = NULL;
    ck_assert_ok(try_net(&d, &err), err);
    close_kind(&b);
}
END_TEST

START_TEST(what_cannot_multiply_need_not_add_to_a_product)
{
    backend b = open_kind(SHADOW);
    tutti_device d = b.device;
    tutti_error err = TUTTI_ERROR_INIT;
    d.info.kernels[0] = '\0';
    d.info.flags |= TUTTI_DEVICE_ADDS | TUTTI_DEVICE_SUMS | TUTTI_DEVICE_MASKS;
    ck_assert_ok(try_net(&d, &err), err);
    close_kind(&b);
}
END_TEST

START_TEST(groups_want_a_kernel_of_a_device_that_runs_the_cpus)
{
    backend b = open_kind(SHADOW);
    tutti_device d = b.device;
    tutti_error err = TUTTI_ERROR_INIT;
    d.info.flags |= TUTTI_DEVICE_GROUPS;
    ck_assert_int_eq(try_net(&d, &err), TUTTI_E_UNSUPPORTED);
    ck_assert_str_eq(err.text, "device shadow 0 says TUTTI_DEVICE_GROUPS, want a kernel for "
                               "pointwise_fusion, of which it has none");
    close_kind(&b);
}
END_TEST

static void end(void)
{
    registry_destroy(plugins);
}

int main(void)
{
    Suite *suite = suite_create("flags");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(tc, NULL, end);
    tcase_add_loop_test(tc, a_flag_without_its_kernel_is_refused, 0, PROMISES);
    tcase_add_test(tc, what_cannot_multiply_need_not_add_to_a_product);
    tcase_add_test(tc, groups_want_a_kernel_of_a_device_that_runs_the_cpus);
    return tutti_run(suite);
}
