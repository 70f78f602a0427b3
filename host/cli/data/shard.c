/* shard.c - samples as bytes of a shard: sizes of the columns that differ, then the columns. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/data/convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

enum { SHAPE_U32 = 2 }; /* of the header of an array: its dimensions are u32 */

/* ---- the layout ---- */

static bool is_picture(const tutti_desc *d)
{
    return d->dtype == TUTTI_U8 && d->rank == 3 && (d->dim[2] == 1 || d->dim[2] == 3);
}

static const char *dtype_word(int32_t dtype)
{
    switch (dtype) {
    case TUTTI_F32:
        return "float32";
    case TUTTI_F64:
        return "float64";
    case TUTTI_F16:
        return "float16";
    case TUTTI_U8:
        return "uint8";
    case TUTTI_I16:
        return "int16";
    case TUTTI_U16:
        return "uint16";
    case TUTTI_I32:
        return "int32";
    case TUTTI_I64:
        return "int64";
    default:
        return NULL;
    }
}

static bool is_fixed(const tutti_desc *d)
{
    for (int32_t k = 0; k < d->rank; k++)
        if (d->dim[k] < 1)
            return false;
    return true;
}

static void set_array(shard_column *c, const tutti_desc *d)
{
    const char *word = dtype_word(d->dtype);
    int used = snprintf(c->encoding, sizeof c->encoding, "ndarray:%s", word ? word : "?");
    c->kind = SHARD_ARRAY;
    c->size = -1;
    if (!is_fixed(d))
        return;
    c->size = (int64_t)tutti_nbytes(d);
    for (int32_t k = 0; k < d->rank && used < (int)sizeof c->encoding; k++)
        used += snprintf(c->encoding + used, sizeof c->encoding - (size_t)used, "%c%lld",
                         k ? ',' : ':', (long long)d->dim[k]);
}

static void set_column(shard_column *c, const tutti_column *from, uint32_t k)
{
    const char *word = dtype_word(from->desc.dtype);
    memset(c, 0, sizeof *c);
    (void)snprintf(c->name, sizeof c->name, "%.31s", from->name);
    c->from = k;
    if (is_picture(&from->desc)) {
        c->kind = SHARD_PICTURE;
        c->size = -1;
        (void)snprintf(c->encoding, sizeof c->encoding, "png");
    } else if (from->desc.rank == 0) {
        c->kind = SHARD_NUMBER;
        c->size = (int64_t)tutti_nbytes(&from->desc);
        (void)snprintf(c->encoding, sizeof c->encoding, "%s", word ? word : "?");
    } else
        set_array(c, &from->desc);
}

bool shard_is_text(const data_set *d)
{
    const tutti_column *c = d->info.columns;
    return d->info.ncolumns == 2 && data_set_column(d, "input") == 0 &&
           data_set_column(d, "target") == 1 && c[0].classes > 0 && c[0].desc.rank == 1 &&
           c[1].desc.rank == 1 && c[0].desc.dtype == TUTTI_I32 &&
           c[1].desc.dtype == TUTTI_I32 && c[0].desc.dim[0] > 0 &&
           c[0].desc.dim[0] == c[1].desc.dim[0];
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const shard_column *)a)->name, ((const shard_column *)b)->name);
}

void shard_layout_make(const data_set *d, shard_layout *ret)
{
    const tutti_column *c = d->info.columns;
    *ret = (shard_layout){.ncolumns = d->info.ncolumns};
    if (shard_is_text(d)) {
        const int64_t tokens = c[0].desc.dim[0] + 1;
        const bool small = c[0].classes <= 1 << 16;
        ret->ncolumns = 1;
        ret->columns[0] = (shard_column){
            .name = "tokens", .size = tokens * (small ? 2 : 4), .kind = SHARD_TOKENS};
        (void)snprintf(ret->columns[0].encoding, sizeof ret->columns[0].encoding,
                       "ndarray:%s:%lld", small ? "uint16" : "uint32", (long long)tokens);
        return;
    }
    for (uint32_t k = 0; k < ret->ncolumns; k++)
        set_column(&ret->columns[k], &c[k], k);
    qsort(ret->columns, ret->ncolumns, sizeof *ret->columns, compare_names);
}

/* ---- values ---- */

static tutti_status add_png(const tutti_tensor *t, text_buffer *b, tutti_error *err)
{
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)t->desc.dim[1],
                       .height = (png_uint_32)t->desc.dim[0],
                       .format = t->desc.dim[2] == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB};
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    void *bytes = malloc(size);
    if (!bytes)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a picture");
    tutti_status s = TUTTI_OK;
    if (png_image_write_to_memory(&image, bytes, &size, 0, t->data, 0, NULL))
        text_add_bytes(b, bytes, size);
    else
        s = tutti_fail(err, TUTTI_E_UNSUPPORTED, "a picture becomes no PNG: %s", image.message);
    free(bytes);
    return s;
}

/* As the file that it is, or as a PNG. */
static tutti_status add_picture(const shard_column *c, const data_set *d, text_buffer *b,
                                tutti_error *err)
{
    uint64_t size = 0;
    const tutti_status s = data_set_file(d, c->from, b, &size, err);
    return s || size ? s : add_png(&d->columns[c->from], b, err);
}

tutti_status shard_see_sample(shard_layout *l, const data_set *d, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; k < l->ncolumns && !s; k++) {
        shard_column *c = &l->columns[k];
        text_buffer file = {.data = NULL};
        uint64_t size = 0;
        if (c->kind != SHARD_PICTURE)
            continue;
        s = data_set_file(d, c->from, &file, &size, err);
        if (!s && size > 2 && file.data && memcmp(file.data, "\xff\xd8", 2) == 0)
            (void)snprintf(c->encoding, sizeof c->encoding, "jpeg");
        free(file.data);
    }
    return s;
}

static tutti_status add_array(const shard_column *c, const tutti_tensor *t, text_buffer *b,
                              tutti_error *err)
{
    if (c->size >= 0 && tutti_nbytes(&t->desc) != (uint64_t)c->size)
        return tutti_fail(err, TUTTI_E_SHAPE, "column %s differs in size from its description",
                          c->name);
    if (tutti_numel(&t->desc) < 1)
        return tutti_fail(err, TUTTI_E_SHAPE, "column %s is empty, which MDS cannot hold",
                          c->name);
    if (c->size < 0) {
        const char header = (char)(t->desc.rank << 2 | SHAPE_U32);
        text_add_bytes(b, &header, 1);
    }
    for (int32_t k = 0; k < t->desc.rank && c->size < 0; k++) {
        const uint32_t n = (uint32_t)t->desc.dim[k];
        text_add_bytes(b, (const char *)&n, sizeof n);
    }
    text_add_bytes(b, t->data, tutti_nbytes(&t->desc));
    return TUTTI_OK;
}

static tutti_status add_tokens(const shard_column *c, const data_set *d, text_buffer *b,
                               tutti_error *err)
{
    const int64_t n = d->info.columns[0].desc.dim[0];
    const int32_t *in = d->columns[0].data, *out = d->columns[1].data;
    const size_t bytes = (size_t)(c->size / (n + 1));
    for (int64_t k = 0; k <= n; k++) {
        const uint32_t token = (uint32_t)(k < n ? in[k] : out[n - 1]);
        if (k > 0 && k < n && out[k - 1] != in[k])
            return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                              "target %lld is not the next token, which MDS cannot hold",
                              (long long)k - 1);
        text_add_bytes(b, (const char *)&token, bytes); /* of little endian */
    }
    return TUTTI_OK;
}

tutti_status shard_add_sample(const shard_layout *l, const data_set *d, text_buffer *b,
                              tutti_error *err)
{
    text_buffer values = {.data = NULL};
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; k < l->ncolumns && !s; k++) {
        const shard_column *c = &l->columns[k];
        const tutti_tensor *t = &d->columns[c->from];
        const size_t before = values.size;
        s = c->kind == SHARD_PICTURE  ? add_picture(c, d, &values, err)
            : c->kind == SHARD_TOKENS ? add_tokens(c, d, &values, err)
                                      : add_array(c, t, &values, err);
        const uint32_t size = (uint32_t)(values.size - before);
        if (c->size < 0)
            text_add_bytes(b, (const char *)&size, sizeof size);
    }
    if (!s)
        text_add_bytes(b, values.data, values.size);
    if (!s && (b->failed || values.failed))
        s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for a sample");
    free(values.data);
    return s;
}
