/* fuse_casts_test.c - results get the 16 bits in which they are read, where nobody sees the difference. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/precision.h"
#include "graph/passes/fuse.h"
#include "op_table.h"
#include "same_numbers.h"
#include "toy_model.h"

#include <stdio.h>

enum { ROWS = 4, C = 3, MAX_VALUES = 64 };

/* x, dy (4, 3), gamma, beta (3), rows (4); what is kept of the graph. */
typedef struct rig {
    graph *from, *to;
    tutti_graph *b;
    tutti_value x, dy, gamma, beta, rows;
    tutti_value kept[4];
    uint32_t nkept;
    bool cpu; /* fused for it, not for a device */
    tutti_value map[MAX_VALUES];
} rig;

static void rig_begin(rig *r)
{
    const tutti_desc x = toy_desc(TUTTI_F32, 2, ROWS, C, 0, 0);
    const tutti_desc line = toy_desc(TUTTI_F32, 1, C, 0, 0, 0);
    const tutti_desc rows = toy_desc(TUTTI_F32, 1, ROWS, 0, 0, 0);
    *r = (rig){.from = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL),
               .to = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL)};
    r->b = graph_builder(r->from);
    r->x = graph_input(r->from, &x);
    r->dy = graph_input(r->from, &x);
    r->gamma = graph_weight(r->from, 7, &line, true);
    r->beta = graph_weight(r->from, 8, &line, true);
    r->rows = graph_input(r->from, &rows);
}

static void keep(rig *r, tutti_value v)
{
    r->kept[r->nkept++] = v;
}

/* All its results into out. */
static tutti_value norm(const rig *r, tutti_value *out)
{
    const tutti_value in[3] = {r->x, r->gamma, r->beta};
    return r->b->emit(r->b, "layer_norm", in, 3, NULL, 0, out, 3);
}

static tutti_value norm_grad(const rig *r, tutti_value dy)
{
    const tutti_value in[5] = {r->x, dy, r->gamma, r->rows, r->rows};
    return r->b->emit(r->b, "layer_norm_grad", in, 5, NULL, 0, NULL, 0);
}

/* A square matrix in `dtype`, an input of its own. */
static tutti_value square(const rig *r, int32_t dtype)
{
    const tutti_desc d = toy_desc(dtype, 2, C, C, 0, 0);
    return graph_input(r->from, &d);
}

/* Of factors in `a` and `b`, stored in F32. */
static tutti_value product(const rig *r, int32_t a, int32_t b)
{
    const tutti_value x = graph_cast(r->from, r->dy, a);
    const tutti_value y = tutti_matmul(r->b, x, square(r, b), 0, 0, 0);
    graph_set_dtype(r->from, y, TUTTI_F32);
    return y;
}

/* Fuses, and finds that many casts fewer, and `word` in the dump. */
static void rig_fuse(rig *r, uint32_t gone, const char *word)
{
    tutti_error err = TUTTI_ERROR_INIT;
    bool wanted[MAX_VALUES] = {false};
    char *text = NULL;
    size_t size = 0;
    ck_assert_ok(graph_error(r->from, &err), err);
    ck_assert_uint_lt(graph_nvalues(r->from), MAX_VALUES);
    for (uint32_t k = 0; k < r->nkept; k++)
        wanted[r->kept[k]] = true;
    ck_assert_ok((r->cpu ? fuse_casts_cpu : fuse_casts)(r->from, wanted, r->to, r->map, &err),
                 err);
    FILE *file = open_memstream(&text, &size);
    graph_dump(r->to, file);
    (void)fclose(file);
    ck_assert_msg(graph_nnodes(r->to) + gone == graph_nnodes(r->from) && strstr(text, word),
                  "no %s in:\n%s", word, text);
    free(text);
    same_numbers(r->from, r->to, r->kept, r->nkept, r->map, 0.0);
    graph_destroy(r->from);
    graph_destroy(r->to);
}

static const int32_t lows[] = {TUTTI_BF16, TUTTI_F16};

/* The statistics stay F32. */
START_TEST(a_norm_stores_what_alone_is_read)
{
    static const char *const want[] = {"BF16 (4, 3), %7 F32 (4), %8 F32 (4) = layer_norm(",
                                       "F16 (4, 3), %7 F32 (4), %8 F32 (4) = layer_norm("};
    rig r;
    tutti_value out[3];
    rig_begin(&r);
    keep(&r, graph_cast(r.from, norm(&r, out), lows[_i]));
    keep(&r, out[1]);
    rig_fuse(&r, 1, want[_i]);
    ck_assert_uint_eq(r.map[out[0]], 0);
}
END_TEST

/* Of rows that softmax gives; the cast is of the backward pass. */
START_TEST(the_segments_may_differ)
{
    rig r;
    rig_begin(&r);
    const tutti_value y = tutti_op1(r.b, "softmax", r.x);
    graph_set_segment(r.from, 1);
    keep(&r, graph_cast(r.from, y, lows[_i]));
    rig_fuse(&r, 1, _i ? "F16 (4, 3) = softmax(" : "BF16 (4, 3) = softmax(");
}
END_TEST

START_TEST(casts_that_others_would_notice_stay)
{
    const tutti_desc number = toy_desc(TUTTI_F32, 0, 0, 0, 0, 0);
    const int64_t order[2] = {1, 0}, flat[1] = {ROWS * C};
    const tutti_attr to = tutti_attr_i("dtype", TUTTI_BF16);
    const tutti_attr axes = tutti_attr_list("order", order, 2);
    const char *word =
        _i < 3 ? " F32 (4, 3) = softmax(" : " F32 (4, 3), %7 F32 (4), %8 F32 (4) = layer_norm(";
    rig r;
    tutti_value out[3], y = 0;
    rig_begin(&r);
    if (_i < 3)
        y = tutti_op1(r.b, "softmax", r.x);
    switch (_i) {
    case 0: /* read by something else */
        keep(&r, tutti_op1(r.b, "tanh", y));
        break;
    case 1: /* wanted */
        keep(&r, y);
        break;
    case 2: /* cast to two dtypes */
        keep(&r, graph_cast(r.from, y, TUTTI_F16));
        break;
    case 3: /* not result 0 */
        (void)norm(&r, out);
        y = out[1];
        break;
    case 4: /* guarded */
        y = norm(&r, out);
        (void)graph_set_guard(r.from, graph_input(r.from, &number));
        break;
    case 5: /* moved, not computed */
        y = r.b->emit(r.b, "permute", &r.x, 1, &axes, 1, NULL, 0);
        word = " F32 (3, 4) = permute(";
        break;
    case 6: /* the group's code */
        y = tutti_op1(r.b, "tanh", r.x);
        word = " F32 (4, 3) = tanh(";
        break;
    case 7: /* of factors in F32 */
        y = tutti_matmul(r.b, r.x, square(&r, TUTTI_F32), 0, 0, 0);
        word = " F32 (4, 3) = matmul(";
        break;
    case 8: /* nobody computes an input */
        y = r.x;
        word = "= cast(";
        break;
    default: /* a view of what is read too */
        y = tutti_reshape(r.b, norm(&r, out), flat, 1);
        word = " F32 (12) = reshape(";
    }
    keep(&r, _i == 4 ? r.b->emit(r.b, "cast", &y, 1, &to, 1, NULL, 0)
                     : graph_cast(r.from, y, TUTTI_BF16));
    (void)graph_set_guard(r.from, 0);
    rig_fuse(&r, 0, word);
}
END_TEST

/* A product that became F32 for a cast alone. */
START_TEST(a_product_of_16_bits_stores_what_alone_is_read)
{
    rig r;
    rig_begin(&r);
    keep(&r, graph_cast(r.from, product(&r, lows[_i], lows[_i]), lows[_i]));
    rig_fuse(&r, 1, _i ? "F16 (4, 3) = matmul(" : "BF16 (4, 3) = matmul(");
}
END_TEST

/* As the gradient of a product's factor that a norm gave. */
START_TEST(a_norms_gradient_reads_the_product_in_16_bits)
{
    rig r;
    rig_begin(&r);
    graph_set_segment(r.from, 1);
    keep(&r, norm_grad(&r, product(&r, lows[_i], lows[_i])));
    rig_fuse(&r, 0, _i ? " F16 (4, 3) = matmul(" : " BF16 (4, 3) = matmul(");
}
END_TEST

/* As of several products whose gradients are added up in 16 bits. */
START_TEST(a_norms_gradient_reads_16_bits_without_a_cast)
{
    rig r;
    rig_begin(&r);
    const tutti_desc low = toy_desc(lows[_i], 2, ROWS, C, 0, 0);
    const tutti_value dy = graph_input(r.from, &low);
    graph_set_segment(r.from, 1);
    keep(&r, norm_grad(&r, graph_cast(r.from, tutti_add(r.b, dy, dy), TUTTI_F32)));
    rig_fuse(&r, 1, " F32 (4, 3), %9 F32 (3), %10 F32 (3) = layer_norm_grad(%1, %7, ");
}
END_TEST

/* As the gradient of a residual, which a product reads in 16 bits and the next norm's gradient in F32. */
START_TEST(a_norms_gradient_gives_16_bits_beside_what_others_read)
{
    rig r;
    rig_begin(&r);
    graph_set_segment(r.from, 1);
    const tutti_value dx = norm_grad(&r, r.dy);
    keep(&r, tutti_op1(r.b, "softmax", dx));
    keep(&r, graph_cast(r.from, dx, lows[_i]));
    keep(&r, dx);
    rig_fuse(&r, 1,
             _i ? "F32 (3), %9 F16 (4, 3) = layer_norm_grad_cast("
                : "F32 (3), %9 BF16 (4, 3) = layer_norm_grad_cast(");
}
END_TEST

/* The second cast stays, and so does one that is guarded. */
START_TEST(a_norms_gradient_gives_one_dtype_beside_f32)
{
    const tutti_desc number = toy_desc(TUTTI_F32, 0, 0, 0, 0, 0);
    const tutti_attr to = tutti_attr_i("dtype", TUTTI_BF16);
    rig r;
    rig_begin(&r);
    graph_set_segment(r.from, 1);
    const tutti_value dx = norm_grad(&r, r.dy);
    if (_i)
        (void)graph_set_guard(r.from, graph_input(r.from, &number));
    keep(&r, r.b->emit(r.b, "cast", &dx, 1, &to, 1, NULL, 0));
    (void)graph_set_guard(r.from, 0);
    keep(&r, graph_cast(r.from, dx, TUTTI_F16));
    keep(&r, dx);
    rig_fuse(&r, 1, _i ? " F16 (4, 3) = layer_norm_grad_cast(" : " F16 (4, 3) = cast(");
}
END_TEST

START_TEST(casts_to_f32_that_others_read_stay)
{
    rig r;
    rig_begin(&r);
    const tutti_desc low = toy_desc(TUTTI_BF16, 2, ROWS, C, 0, 0);
    const tutti_value dy = graph_cast(r.from, graph_input(r.from, &low), TUTTI_F32);
    if (_i == 0)
        keep(&r, dy);
    if (_i == 1)
        keep(&r, tutti_op1(r.b, "tanh", dy));
    keep(&r, _i == 2 ? tutti_op1(r.b, "softmax", dy) : norm_grad(&r, dy));
    rig_fuse(&r, 0, " F32 (4, 3) = cast(");
}
END_TEST

START_TEST(gradients_that_others_read_stay_in_f32)
{
    rig r;
    rig_begin(&r);
    graph_set_segment(r.from, _i != 0); /* 0: of the forward pass */
    const tutti_value y =
        product(&r, TUTTI_BF16, _i == 1 ? TUTTI_F16 : TUTTI_BF16); /* 1: two dtypes */
    const char *word = " F32 (4, 3) = matmul(";
    switch (_i) {
    case 2: /* wanted, as a weight's */
        keep(&r, y);
        break;
    case 3: /* read twice */
        keep(&r, tutti_op1(r.b, "tanh", y));
        break;
    case 4: { /* added to a residual's, in F32 */
        const tutti_value in[3] = {graph_node_at(r.from, 0)->out, square(&r, TUTTI_BF16), r.dy};
        keep(&r, norm_grad(&r, r.b->emit(r.b, "matmul_add", in, 3, NULL, 0, NULL, 0)));
        graph_set_dtype(r.from, graph_node_at(r.from, 2)->out, TUTTI_F32);
        keep(&r, y);
        word = " F32 (4, 3) = matmul_add(";
        break;
    }
    default:;
    }
    if (_i < 4)
        keep(&r, norm_grad(&r, y));
    if (_i == 5) /* no norm's */
        keep(&r, tutti_op1(r.b, "softmax", y));
    rig_fuse(&r, 0, word);
}
END_TEST

/* ---- the CPU, where some kernels read and write 16 bits ---- */

START_TEST(a_norm_on_the_cpu_stores_what_alone_is_read)
{
    rig r;
    tutti_value out[3];
    rig_begin(&r);
    r.cpu = true;
    keep(&r, graph_cast(r.from, norm(&r, out), lows[_i]));
    rig_fuse(&r, 1, _i ? " F16 (4, 3), " : " BF16 (4, 3), ");
}
END_TEST

/* As behind an addition, where a product and the next residual read it. */
START_TEST(a_norm_gives_16_bits_beside_what_others_read)
{
    rig r;
    tutti_value out[3];
    rig_begin(&r);
    r.cpu = _i >= 2;
    const tutti_value y = norm(&r, out);
    keep(&r, tutti_op1(r.b, "softmax", y));
    keep(&r, graph_cast(r.from, y, lows[_i % 2]));
    rig_fuse(&r, 1,
             _i % 2 ? " F16 (4, 3) = layer_norm_cast(" : " BF16 (4, 3) = layer_norm_cast(");
}
END_TEST

START_TEST(a_norms_gradient_on_the_cpu_reads_or_gives_16_bits)
{
    rig r;
    rig_begin(&r);
    r.cpu = true;
    const tutti_desc low = toy_desc(lows[_i % 2], 2, ROWS, C, 0, 0);
    tutti_value dy = graph_input(r.from, &low);
    graph_set_segment(r.from, 1);
    dy = _i < 2 ? graph_cast(r.from, tutti_add(r.b, dy, dy), TUTTI_F32) : r.dy;
    const tutti_value dx = norm_grad(&r, dy);
    keep(&r, dx);
    if (_i >= 2)
        keep(&r, graph_cast(r.from, dx, lows[_i % 2]));
    rig_fuse(&r, 1, _i < 2 ? "= layer_norm_grad(%1, %7, " : "= layer_norm_grad_cast(%1, %2, ");
}
END_TEST

/* A product of BF16 stores it, one of F16 does not. */
START_TEST(a_product_on_the_cpu_stores_bf16)
{
    rig r;
    rig_begin(&r);
    r.cpu = true;
    keep(&r, graph_cast(r.from, product(&r, lows[_i], lows[_i]), lows[_i]));
    rig_fuse(&r, _i ? 0 : 1, _i ? " F32 (4, 3) = matmul(" : " BF16 (4, 3) = matmul(");
}
END_TEST

START_TEST(casts_behind_kernels_of_f32_stay_on_the_cpu)
{
    rig r;
    rig_begin(&r);
    r.cpu = true;
    keep(&r, graph_cast(r.from, tutti_op1(r.b, "softmax", r.x), lows[_i]));
    rig_fuse(&r, 0, " F32 (4, 3) = softmax(");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fuse_casts");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, a_norm_stores_what_alone_is_read, 0, 2);
    tcase_add_loop_test(all, the_segments_may_differ, 0, 2);
    tcase_add_loop_test(all, casts_that_others_would_notice_stay, 0, 10);
    tcase_add_loop_test(all, a_product_of_16_bits_stores_what_alone_is_read, 0, 2);
    tcase_add_loop_test(all, a_norms_gradient_reads_the_product_in_16_bits, 0, 2);
    tcase_add_loop_test(all, a_norms_gradient_reads_16_bits_without_a_cast, 0, 2);
    tcase_add_loop_test(all, a_norms_gradient_gives_16_bits_beside_what_others_read, 0, 2);
    tcase_add_loop_test(all, a_norms_gradient_gives_one_dtype_beside_f32, 0, 2);
    tcase_add_loop_test(all, casts_to_f32_that_others_read_stay, 0, 3);
    tcase_add_loop_test(all, gradients_that_others_read_stay_in_f32, 0, 6);
    tcase_add_loop_test(all, a_norm_on_the_cpu_stores_what_alone_is_read, 0, 2);
    tcase_add_loop_test(all, a_norm_gives_16_bits_beside_what_others_read, 0, 4);
    tcase_add_loop_test(all, a_norms_gradient_on_the_cpu_reads_or_gives_16_bits, 0, 4);
    tcase_add_loop_test(all, a_product_on_the_cpu_stores_bf16, 0, 2);
    tcase_add_loop_test(all, casts_behind_kernels_of_f32_stay_on_the_cpu, 0, 2);
    suite_add_tcase(suite, all);
    return tutti_run(suite);
}
