/* onnx_test.c - models as ONNX files, read back by the format's schema. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "export/onnx.h"
#include "folder_check.h"
#include "onnx.pb-c.h"
#include "op_table.h"
#include "toy_model.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILE = 1 << 20 };

static char folder[64];
static char path[96];
static net *n;
static toy_model model;
static Onnx__ModelProto *file;
static onnx_report report;
static tutti_error err;

static void start(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/tutti_onnx_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/model.onnx", folder);
    err = (tutti_error)TUTTI_ERROR_INIT;
    file = NULL;
    n = NULL;
}

static void stop(void)
{
    if (file)
        onnx__model_proto__free_unpacked(file, NULL);
    net_destroy(n);
    folder_remove(folder);
}

static size_t read_file(const char *from, unsigned char *to)
{
    FILE *f = fopen(from, "rbe");
    ck_assert_ptr_nonnull(f);
    const size_t size = fread(to, 1, MAX_FILE, f);
    (void)fclose(f);
    return size;
}

static tutti_status export_model(const toy_weight *weights,
                                 tutti_value (*trace)(tutti_graph *g, tutti_module root,
                                                      const tutti_value *x),
                                 tutti_desc sample, uint64_t external_above)
{
    const onnx_options options = {.model = "toy", .external_above = external_above};
    model = (toy_model){.weights = weights, .trace = trace};
    n = toy_net(tutti_op_table, &model);
    n->columns[0] = (tutti_column){.name = "input", .desc = sample};
    n->ncolumns = 1;
    return onnx_export(n, path, &options, &report, &err);
}

/* Into `file`; the operators in order, as "Gemm Tanh". */
static const char *read_back(void)
{
    static unsigned char bytes[MAX_FILE];
    static char types[512];
    const size_t size = read_file(path, bytes);
    file = onnx__model_proto__unpack(NULL, size, bytes);
    ck_assert_ptr_nonnull(file);
    types[0] = '\0';
    for (size_t k = 0; k < file->graph->n_node; k++)
        (void)snprintf(types + strlen(types), sizeof types - strlen(types), "%s%s",
                       k ? " " : "", file->graph->node[k]->op_type);
    return types;
}

static const char *dims_of(const Onnx__ValueInfoProto *v)
{
    static char text[128];
    const Onnx__TensorShapeProto *s = v->type->tensor_type->shape;
    (void)snprintf(text, sizeof text, "%s:", v->name);
    for (size_t k = 0; k < s->n_dim; k++)
        if (s->dim[k]->dim_param)
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), " %s",
                           s->dim[k]->dim_param);
        else
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), " %lld",
                           (long long)s->dim[k]->dim_value);
    return text;
}

static const Onnx__TensorProto *initializer(const char *name)
{
    for (size_t k = 0; k < file->graph->n_initializer; k++)
        if (strcmp(file->graph->initializer[k]->name, name) == 0)
            return file->graph->initializer[k];
    ck_abort_msg("there is no initializer %s", name);
    return NULL;
}

static const tutti_init normal = {TUTTI_INIT_NORMAL, 0, 0.0, 0.5, 0.0, NULL};

/* ---- dense ---- */

static tutti_value dense(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    const tutti_value h = tutti_op1(
        g, "tanh", tutti_matmul(g, x[0], g->weight(g, m, "w0"), g->weight(g, m, "b0"), 0, 1));
    return tutti_matmul(g, h, g->weight(g, m, "w1"), 0, 0, 1);
}

static const toy_weight *dense_weights(void)
{
    static toy_weight w[4];
    w[0] =
        (toy_weight){"w0", toy_desc(TUTTI_F32, 2, 9, 7, 0, 0), normal, TUTTI_WEIGHT_TRAINABLE};
    w[1] =
        (toy_weight){"b0", toy_desc(TUTTI_F32, 1, 9, 0, 0, 0), normal, TUTTI_WEIGHT_TRAINABLE};
    w[2] =
        (toy_weight){"w1", toy_desc(TUTTI_F32, 2, 4, 9, 0, 0), normal, TUTTI_WEIGHT_TRAINABLE};
    return w;
}

START_TEST(a_file_has_what_the_model_has)
{
    ck_assert_ok(export_model(dense_weights(), dense, toy_desc(TUTTI_F32, 1, 7, 0, 0, 0), 0),
                 err);
    ck_assert_str_eq(read_back(), "Gemm Tanh Gemm");
    ck_assert_int_eq(file->ir_version, 8);
    ck_assert_uint_eq(file->n_opset_import, 1);
    ck_assert_str_eq(file->opset_import[0]->domain, "");
    ck_assert_int_eq(file->opset_import[0]->version, 17);
    ck_assert_str_eq(file->producer_name, "tutti");
    ck_assert_str_eq(file->graph->name, "toy");
    ck_assert_str_eq(dims_of(file->graph->input[0]), "input: batch 7");
    ck_assert_str_eq(dims_of(file->graph->output[0]), "output: batch 4");
    ck_assert_str_eq(file->graph->node[2]->output[0], "output");
    ck_assert_str_eq(file->graph->node[0]->input[0], "input");
    ck_assert_str_eq(file->graph->node[0]->input[1], "w0");
    ck_assert_str_eq(file->graph->node[0]->attribute[1]->name, "transB");
    ck_assert_int_eq(file->graph->node[0]->attribute[1]->i, 1);
    ck_assert_uint_eq(report.nodes, 3);
    ck_assert_uint_eq(report.weights, 3);
    ck_assert_uint_eq(report.weight_bytes, 4 * (63 + 9 + 36));
    ck_assert_int_eq(report.samples, 0);
    for (uint32_t k = 0; k < net_weight_count(n); k++) {
        const tutti_weight *w = net_weight(n, k);
        const Onnx__TensorProto *t = initializer(w->path);
        ck_assert_uint_eq(t->raw_data.len, tutti_nbytes(&w->data.desc));
        ck_assert_int_eq(memcmp(t->raw_data.data, w->data.data, t->raw_data.len), 0);
    }
}
END_TEST

START_TEST(many_weights_lie_beside_the_file)
{
    static unsigned char data[MAX_FILE];
    char beside[128];
    ck_assert_ok(export_model(dense_weights(), dense, toy_desc(TUTTI_F32, 1, 7, 0, 0, 0), 100),
                 err);
    (void)read_back();
    ck_assert(report.external);
    (void)snprintf(beside, sizeof beside, "%s.data", path);
    const size_t size = read_file(beside, data);
    for (uint32_t k = 0; k < net_weight_count(n); k++) {
        const tutti_weight *w = net_weight(n, k);
        const Onnx__TensorProto *t = initializer(w->path);
        ck_assert_int_eq(t->data_location, ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL);
        ck_assert(!t->has_raw_data);
        ck_assert_uint_eq(t->n_external_data, 3);
        ck_assert_str_eq(t->external_data[0]->value, "model.onnx.data");
        const size_t at = strtoul(t->external_data[1]->value, NULL, 10);
        ck_assert_uint_eq(at % 4096, 0);
        ck_assert_uint_eq(strtoul(t->external_data[2]->value, NULL, 10),
                          tutti_nbytes(&w->data.desc));
        ck_assert_uint_le(at + tutti_nbytes(&w->data.desc), size);
        ck_assert_int_eq(memcmp(data + at, w->data.data, tutti_nbytes(&w->data.desc)), 0);
    }
}
END_TEST

START_TEST(large_weights_lie_beside_the_file_that_a_link_names)
{
    static unsigned char data[MAX_FILE];
    char name[128];
    struct stat st;
    (void)snprintf(name, sizeof name, "%s/far", folder);
    ck_assert_int_eq(mkdir(name, 0700), 0);
    ck_assert_int_eq(symlink("far/real.onnx", path), 0);
    ck_assert_ok(export_model(dense_weights(), dense, toy_desc(TUTTI_F32, 1, 7, 0, 0, 0), 100),
                 err);
    ck_assert(lstat(path, &st) == 0 && S_ISLNK(st.st_mode));
    (void)read_back();
    ck_assert_str_eq(initializer(net_weight(n, 0)->path)->external_data[0]->value,
                     "real.onnx.data");
    (void)snprintf(name, sizeof name, "%s/far/real.onnx.data", folder);
    ck_assert_uint_gt(read_file(name, data), 0);
}
END_TEST

START_TEST(large_weights_need_a_regular_file)
{
    char want[256];
    ck_assert_int_eq(mkfifo(path, 0600), 0); /* which nobody reads */
    ck_assert_int_eq(
        export_model(dense_weights(), dense, toy_desc(TUTTI_F32, 1, 7, 0, 0, 0), 100),
        TUTTI_E_UNSUPPORTED);
    (void)snprintf(want, sizeof want,
                   "%s: is no regular file; 432 bytes of weights need one, to lie beside it in "
                   "a file of their own",
                   path);
    ck_assert_str_eq(err.text, want);
}
END_TEST

START_TEST(a_file_that_cannot_be_written_is_told)
{
    char want[160];
    (void)snprintf(path, sizeof path, "%s/none/model.onnx", folder);
    (void)snprintf(want, sizeof want, "%s.part: No such file or directory", path);
    ck_assert_int_eq(
        export_model(dense_weights(), dense, toy_desc(TUTTI_F32, 1, 7, 0, 0, 0), 0),
        TUTTI_E_IO);
    ck_assert_str_eq(err.text, want);
}
END_TEST

/* ---- images ---- */

static tutti_value image(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    const int64_t one[2] = {1, 1};
    const tutti_attr padding = tutti_attr_list("padding", one, 2);
    const tutti_value first[2] = {x[0], g->weight(g, m, "c0")};
    const tutti_value h = tutti_relu(g, g->emit(g, "conv2d", first, 2, &padding, 1, NULL, 0));
    const tutti_value second[2] = {h, g->weight(g, m, "c1")};
    return g->emit(g, "conv2d", second, 2, NULL, 0, NULL, 0);
}

START_TEST(images_are_transposed_once_each_way)
{
    static toy_weight w[3];
    w[0] =
        (toy_weight){"c0", toy_desc(TUTTI_F32, 4, 5, 3, 3, 2), normal, TUTTI_WEIGHT_TRAINABLE};
    w[1] =
        (toy_weight){"c1", toy_desc(TUTTI_F32, 4, 4, 1, 1, 5), normal, TUTTI_WEIGHT_TRAINABLE};
    ck_assert_ok(export_model(w, image, toy_desc(TUTTI_F32, 3, 8, 8, 2, 0), 0), err);
    ck_assert_str_eq(read_back(), "Transpose Conv Relu Conv Transpose");
    ck_assert_str_eq(dims_of(file->graph->output[0]), "output: batch 8 8 4");
    const Onnx__TensorProto *t = initializer("c0");
    ck_assert_uint_eq(t->n_dims, 4);
    ck_assert_int_eq(t->dims[1], 2); /* (Cout, Cin, K, K) */
    const float *ours = NULL, *theirs = (const float *)(const void *)t->raw_data.data;
    for (uint32_t k = 0; k < net_weight_count(n); k++)
        if (strcmp(net_weight(n, k)->path, "c0") == 0)
            ours = net_weight(n, k)->data.data;
    ck_assert_ptr_nonnull(ours);
    for (int64_t out = 0; out < 5; out++)
        for (int64_t in = 0; in < 2; in++)
            for (int64_t at = 0; at < 9; at++)
                ck_assert(theirs[(out * 2 + in) * 9 + at] == ours[(out * 9 + at) * 2 + in]);
}
END_TEST

/* ---- numbers of samples ---- */

static tutti_value sizes(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    const int64_t samples = g->desc(g, x[0])->dim[0];
    const int64_t rows[2] = {3 * samples, 2}, wide[3] = {samples, 1, 6}, both[2] = {samples, 6};
    const tutti_attr to = tutti_attr_list("shape", wide, 3);
    const tutti_value w = g->weight(g, m, "w");
    const tutti_value each = g->emit(g, "broadcast_to", &w, 1, &to, 1, NULL, 0);
    const tutti_value back = tutti_reshape(g, tutti_reshape(g, x[0], rows, 2), both, 2);
    return tutti_add(g, tutti_reshape(g, each, both, 2), back);
}

static const toy_weight *one_weight(void)
{
    static toy_weight w[2];
    w[0] =
        (toy_weight){"w", toy_desc(TUTTI_F32, 1, 6, 0, 0, 0), normal, TUTTI_WEIGHT_TRAINABLE};
    return w;
}

START_TEST(sizes_follow_the_number_of_samples)
{
    ck_assert_ok(export_model(one_weight(), sizes, toy_desc(TUTTI_F32, 1, 6, 0, 0, 0), 0), err);
    ck_assert_str_eq(read_back(), "Shape Gather Concat Expand Reshape Reshape Reshape Add");
    ck_assert_str_eq(dims_of(file->graph->input[0]), "input: batch 6");
    ck_assert_int_eq(report.samples, 0);
}
END_TEST

static tutti_value mean_of_samples(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    const double samples = (double)g->desc(g, x[0])->dim[0];
    return tutti_affine(g, tutti_mul(g, x[0], g->weight(g, m, "w")), 1.0 / samples, 0.0);
}

START_TEST(what_depends_on_the_number_of_samples_fixes_it)
{
    ck_assert_ok(
        export_model(one_weight(), mean_of_samples, toy_desc(TUTTI_F32, 1, 6, 0, 0, 0), 0),
        err);
    (void)read_back();
    ck_assert_int_eq(report.samples, 1);
    ck_assert_str_eq(report.reason, "the model: operation affine depends on it");
    ck_assert_str_eq(dims_of(file->graph->input[0]), "input: 1 6");
}
END_TEST

/* ---- refusals ---- */

static tutti_value scattered(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    const tutti_value in[3] = {x[0], g->emit(g, "argmax", &x[0], 1, NULL, 0, NULL, 0), x[0]};
    return g->emit(g, "scatter_add", in, 3, NULL, 0, NULL, 0);
}

START_TEST(an_operation_without_a_form_is_named)
{
    ck_assert_int_eq(
        export_model(one_weight(), scattered, toy_desc(TUTTI_F32, 1, 6, 0, 0, 0), 0),
        TUTTI_E_UNSUPPORTED);
    ck_assert_str_eq(err.text, "the model: operation scatter_add has no form in ONNX");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("onnx");
    TCase *c = tcase_create("onnx");
    tcase_add_checked_fixture(c, start, stop);
    tcase_add_test(c, a_file_has_what_the_model_has);
    tcase_add_test(c, many_weights_lie_beside_the_file);
    tcase_add_test(c, large_weights_lie_beside_the_file_that_a_link_names);
    tcase_add_test(c, large_weights_need_a_regular_file);
    tcase_add_test(c, a_file_that_cannot_be_written_is_told);
    tcase_add_test(c, images_are_transposed_once_each_way);
    tcase_add_test(c, sizes_follow_the_number_of_samples);
    tcase_add_test(c, what_depends_on_the_number_of_samples_fixes_it);
    tcase_add_test(c, an_operation_without_a_form_is_named);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
