/* predict_file.c - a model's outputs as rows of a file: NumPy, CSV or JSON lines. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/predict_file.h"

#include "base/output_file.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 128 }; /* bytes of a .npy file before the data, a multiple of 64 */

/* What a format does; each may be NULL.  What fails is found by ferror. */
typedef struct format {
    const char *name;
    const char *why_regular;        /* as output_file_open wants it */
    void (*begin)(predict_file *f); /* the shape of rows is known */
    void (*rows)(predict_file *f, const float *x, int64_t rows);
    void (*end)(predict_file *f);
} format;

struct predict_file {
    FILE *file; /* of `output` */
    output_file output;
    const format *format;
    char *path;
    tutti_desc row; /* of one sample */
    int64_t rows;
    bool lacks;                                      /* memory, for a name */
    const char *(*class_name)(void *ctx, int64_t k); /* NULL: classes have none */
    void *ctx;
};

/* The name of the likeliest class of a row; NULL: it is no row of classes with names. */
static const char *likeliest(const predict_file *f, const float *x)
{
    const int64_t n = f->row.rank == 1 ? f->row.dim[0] : 0;
    int64_t best = 0;
    if (n < 2 || !f->class_name || !f->class_name(f->ctx, n - 1))
        return NULL;
    for (int64_t k = 1; k < n; k++)
        best = x[k] > x[best] ? k : best;
    return f->class_name(f->ctx, best);
}

/* ---- NumPy's format, version 1.0: numpy.lib.format ---- */

static void npy_header(predict_file *f)
{
    char text[HEADER + 1], shape[80] = "";
    for (int32_t k = 0; k < f->row.rank; k++)
        (void)snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%lld, ",
                       (long long)f->row.dim[k]);
    const int used = snprintf(text, sizeof text,
                              "\x93NUMPY\x01%c%c%c{'descr': '<f4', 'fortran_order': False, "
                              "'shape': (%lld, %s), }",
                              0, HEADER - 10, 0, (long long)f->rows, shape);
    memset(text + used, ' ', (size_t)(HEADER - used - 1));
    text[HEADER - 1] = '\n';
    (void)fwrite(text, 1, HEADER, f->file);
}

static void npy_rows(predict_file *f, const float *x, int64_t rows)
{
    (void)fwrite(x, sizeof *x, (size_t)(rows * tutti_numel(&f->row)), f->file);
}

/* The true number of rows. */
static void npy_end(predict_file *f)
{
    if (fseek(f->file, 0, SEEK_SET) == 0)
        npy_header(f);
}

/* ---- text ---- */

/* Nine digits say which F32 it is. */
static void put_number(FILE *file, float x, const char *none)
{
    char text[TEXT_REAL_SIZE];
    (void)snprintf(text, sizeof text, "%.9g", (double)x);
    for (char *c = text; *c; c++)
        if (*c == ',') /* of the locale */
            *c = '.';
    (void)fputs(none && !isfinite(x) ? none : text, file);
}

static void csv_begin(predict_file *f)
{
    (void)fputs("sample", f->file);
    for (int64_t k = 0, n = tutti_numel(&f->row); k < n; k++)
        (void)fprintf(f->file, n > 1 ? ",output_%lld" : ",output", (long long)k);
    if (f->row.rank == 1 && f->row.dim[0] > 1 && f->class_name &&
        f->class_name(f->ctx, f->row.dim[0] - 1))
        (void)fputs(",class", f->file);
    (void)fputc('\n', f->file);
}

/* As RFC 4180 has it: in quotes, those inside twice. */
static void put_quoted(FILE *file, const char *text)
{
    (void)fputc('"', file);
    for (; *text; text++) {
        if (*text == '"')
            (void)fputc('"', file);
        (void)fputc(*text, file);
    }
    (void)fputc('"', file);
}

static void csv_rows(predict_file *f, const float *x, int64_t rows)
{
    const int64_t n = tutti_numel(&f->row);
    for (int64_t i = 0; i < rows; i++) {
        const long long number = f->rows + i;
        (void)fprintf(f->file, "%lld", number);
        for (int64_t k = 0; k < n; k++) {
            (void)fputc(',', f->file);
            put_number(f->file, x[i * n + k], NULL);
        }
        const char *name = likeliest(f, x + i * n);
        if (name) {
            (void)fputc(',', f->file);
            put_quoted(f->file, name);
        }
        (void)fputc('\n', f->file);
    }
}

/* Brackets before and after number k of a row: one for each dimension that begins or ends there. */
static void put_brackets(const predict_file *f, int64_t k, char bracket)
{
    int64_t inner = 1;
    for (int32_t j = f->row.rank; j-- > 0;) {
        inner *= f->row.dim[j];
        if (k % inner == 0)
            (void)fputc(bracket, f->file);
    }
}

static void put_class(predict_file *f, const char *name)
{
    text_buffer b = {.data = NULL};
    text_add_quoted(&b, name);
    f->lacks = f->lacks || b.failed;
    (void)fprintf(f->file, ", \"class\": %s", b.failed ? "null" : b.data);
    free(b.data);
}

static void json_rows(predict_file *f, const float *x, int64_t rows)
{
    const int64_t n = tutti_numel(&f->row);
    for (int64_t i = 0; i < rows; i++) {
        const long long number = f->rows + i;
        (void)fprintf(f->file, "{\"sample\": %lld, \"output\": ", number);
        if (n == 0)
            (void)fputs("[]", f->file);
        for (int64_t k = 0; k < n; k++) {
            if (k)
                (void)fputs(", ", f->file);
            put_brackets(f, k, '[');
            put_number(f->file, x[i * n + k], "null");
            put_brackets(f, k + 1, ']');
        }
        const char *name = likeliest(f, x + i * n);
        if (name)
            put_class(f, name);
        (void)fputs("}\n", f->file);
    }
}

static const format formats[] = {{"npy",
                                  "npy states the number of rows before them, which is known "
                                  "only at the end; csv and jsonl do without",
                                  npy_header, npy_rows, npy_end},
                                 {"csv", NULL, csv_begin, csv_rows, NULL},
                                 {"jsonl", NULL, NULL, json_rows, NULL}};

static tutti_status find_format(const char *path, const char *name, const format **ret,
                                tutti_error *err)
{
    const char *dot = strrchr(path, '.');
    const char *want = name ? name : dot && !strchr(dot, '/') ? dot + 1 : "";
    if (!name && strcmp(want, "json") == 0)
        want = "jsonl";
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        if (strcmp(want, formats[k].name) == 0) {
            *ret = &formats[k];
            return TUTTI_OK;
        }
    return name
               ? tutti_fail(err, TUTTI_E_ARG, "--format is \"%s\", want npy, csv or jsonl",
                            name)
               : tutti_fail(err, TUTTI_E_ARG,
                            "%s: the ending names no format, want .npy, .csv, .jsonl or .json; "
                            "--format says it too",
                            path);
}

static void free_file(predict_file *f)
{
    free(f->path);
    free(f);
}

tutti_status predict_file_open(const char *path, const char *format_name,
                               predict_file **ret_file, tutti_error *err)
{
    const format *how = NULL;
    tutti_status s = find_format(path, format_name, &how, err);
    if (s)
        return s;
    predict_file *f = calloc(1, sizeof *f);
    if (!f || !(f->path = strdup(path)))
        s = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for a file", path);
    else
        s = output_file_open(path, how->why_regular, &f->output, err);
    if (s) {
        if (f)
            free_file(f);
        return s;
    }
    f->format = how;
    f->file = f->output.file;
    *ret_file = f;
    return TUTTI_OK;
}

void predict_file_name_classes(predict_file *f, const char *(*name)(void *ctx, int64_t k),
                               void *ctx)
{
    f->class_name = name;
    f->ctx = ctx;
}

tutti_status predict_file_add(predict_file *f, const tutti_tensor *output, tutti_error *err)
{
    char text[96];
    if (output->desc.dtype != TUTTI_F32 || output->desc.rank < 1)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "the model's output is %s, want F32 rows",
                          tutti_desc_text(&output->desc, text, sizeof text));
    tutti_desc row = output->desc;
    memmove(&row.dim[0], &row.dim[1], (size_t)--row.rank * sizeof row.dim[0]);
    if (f->rows == 0) {
        f->row = row;
        if (f->format->begin)
            f->format->begin(f);
    } else if (memcmp(f->row.dim, row.dim, (size_t)row.rank * sizeof row.dim[0]) != 0)
        return tutti_fail(err, TUTTI_E_SHAPE, "rows of the output differ in shape");
    f->format->rows(f, output->data, output->desc.dim[0]);
    f->rows += output->desc.dim[0];
    if (f->lacks)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for a class's name", f->path);
    return ferror(f->file) ? tutti_fail(err, TUTTI_E_IO, "%s: %s", f->path, strerror(errno))
                           : TUTTI_OK;
}

tutti_status predict_file_close(predict_file *f, bool keep, int64_t *ret_rows, tutti_error *err)
{
    if (keep && f->format->end)
        f->format->end(f);
    const tutti_status s = output_file_close(&f->output, keep, err);
    if (keep && !s)
        *ret_rows = f->rows;
    free_file(f);
    return s;
}
