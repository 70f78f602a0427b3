/* cuda_graph_test.c - what graphs of the CUDA backend hold, and blocks in them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_check.h"

START_TEST(a_graph_holds_no_copy_of_the_hosts_memory)
{
    tutti_device d = open_cuda("leaks=1");
    tutti_error err = TUTTI_ERROR_INIT;
    float number = 1.0f, *x = take(&d, sizeof number);
    move(&d, x, &number, sizeof number, TUTTI_COPY_TO_DEVICE);
    ck_assert_ok(d.table->capture_begin(d.device, NULL, &err), err);
    ck_assert_int_eq(
        d.table->copy(d.device, NULL, x, &number, sizeof number, TUTTI_COPY_TO_DEVICE, &err),
        TUTTI_E_STATE);
    ck_assert_str_eq(err.text, "cuda:0: a copy between host and device cannot be gathered");
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(d.table->capture_begin(d.device, NULL, &err), TUTTI_E_STATE);
    ck_assert_str_eq(err.text, "cuda:0: a graph is being gathered");
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(d.table->capture_end(d.device, NULL, NULL, &err), err);
    d.table->release(d.device, x);
    close_cuda(&d);
}
END_TEST

/* Row: the guard.  Outside of a graph there are no blocks, and a body is left out or done. */
START_TEST(a_block_is_done_or_left_out_by_a_number_of_the_devices)
{
    tutti_device d = open_cuda("leaks=1");
    const tutti_device_v1 *t = d.table;
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_step now = {.struct_size = sizeof now};
    const float guard = (float)_i;
    unsigned char got[2];
    void *graph = NULL;
    float *g = take(&d, sizeof guard);
    unsigned char *x = take(&d, 2);
    move(&d, g, &guard, sizeof guard, TUTTI_COPY_TO_DEVICE);
    ck_assert_int_eq(t->block(d.device, NULL, TUTTI_BLOCK_IF, g, &err), TUTTI_E_UNSUPPORTED);
    ck_assert_str_eq(err.text, "cuda:0: no block can be gathered");
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(t->capture_begin(d.device, NULL, &err), err);
    ck_assert_int_eq(t->block(d.device, NULL, TUTTI_BLOCK_END, NULL, &err), TUTTI_E_STATE);
    ck_assert_str_eq(err.text, "cuda:0: no block of a graph is open");
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(t->block(d.device, NULL, TUTTI_BLOCK_IF, g, &err), err);
    ck_assert_ok(t->fill(d.device, NULL, x, 5, 1, &err), err);
    ck_assert_ok(t->block(d.device, NULL, TUTTI_BLOCK_ELSE, NULL, &err), err);
    ck_assert_ok(t->fill(d.device, NULL, x, 7, 1, &err), err);
    ck_assert_ok(t->block(d.device, NULL, TUTTI_BLOCK_END, NULL, &err), err);
    ck_assert_ok(t->fill(d.device, NULL, x + 1, 9, 1, &err), err);
    ck_assert_ok(t->capture_end(d.device, NULL, &graph, &err), err);
    ck_assert_ok(t->replay(d.device, NULL, graph, &now, &err), err);
    move(&d, got, x, 2, TUTTI_COPY_FROM_DEVICE);
    ck_assert_uint_eq(got[0], _i ? 5 : 7);
    ck_assert_uint_eq(got[1], 9);
    t->graph_destroy(d.device, graph);
    /* One that is still open ends with its graph. */
    ck_assert_ok(t->capture_begin(d.device, NULL, &err), err);
    ck_assert_ok(t->block(d.device, NULL, TUTTI_BLOCK_IF, g, &err), err);
    ck_assert_ok(t->capture_end(d.device, NULL, NULL, &err), err);
    ck_assert_ok(t->fill(d.device, NULL, x, 1, 2, &err), err);
    wait_for(&d);
    t->release(d.device, x);
    t->release(d.device, g);
    close_cuda(&d);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_graph");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, a_graph_holds_no_copy_of_the_hosts_memory);
    tcase_add_loop_test(tc, a_block_is_done_or_left_out_by_a_number_of_the_devices, 0, 2);
    return tutti_run(suite);
}
