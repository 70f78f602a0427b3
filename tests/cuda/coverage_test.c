/* coverage_test.c - every operation has a CUDA kernel, or a reason to have none. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "op_table.h"
#include "tutti_check.h"

#include <stdio.h>

/* Those without one, and why. */
static const struct exception {
    const char *op;
    const char *reason;
} exceptions[] = {
    {"batch_norm_relu_grad", "fuse_relu_grads makes it in plans for CPUs alone"},
    {NULL, NULL},
};

static int is_exception(const char *op)
{
    for (const struct exception *e = exceptions; e->op; e++)
        if (strcmp(e->op, op) == 0)
            return 1;
    return 0;
}

static int lacks_kernel(const tutti_op *op)
{
    return !op->cuda && !(op->flags & TUTTI_OP_VIEW);
}

START_TEST(every_operation_has_a_cuda_kernel)
{
    char missing[512] = "";
    for (const tutti_op *const *op = tutti_op_table; *op; op++) {
        ck_assert_msg(!(is_exception((*op)->name) && !lacks_kernel(*op)),
                      "%s is an exception, but has a CUDA kernel", (*op)->name);
        const size_t used = strlen(missing);
        if (lacks_kernel(*op) && !is_exception((*op)->name))
            (void)snprintf(missing + used, sizeof missing - used, " %s", (*op)->name);
    }
    ck_assert_str_eq(missing, "");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("coverage");
    TCase *t = tcase_create("operations");
    tcase_add_test(t, every_operation_has_a_cuda_kernel);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
