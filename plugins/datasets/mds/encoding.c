/* encoding.c - columns of MosaicML Streaming as tensors. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "encoding.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Code in ndarray headers, name, bytes, what it becomes. */
static const struct {
    const char *name;
    int32_t code, bytes, dtype;
} dtypes[] = {
    {"uint8", 8, 1, TUTTI_U8},   {"int8", 9, 1, TUTTI_I8},      {"uint16", 16, 2, TUTTI_U16},
    {"int16", 17, 2, TUTTI_I16}, {"float16", 18, 2, TUTTI_F16}, {"uint32", 32, 4, TUTTI_I64},
    {"int32", 33, 4, TUTTI_I32}, {"float32", 34, 4, TUTTI_F32}, {"uint64", 64, 8, TUTTI_U64},
    {"int64", 65, 8, TUTTI_I64}, {"float64", 66, 8, TUTTI_F64},
};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

TUTTI_PRINTF(2, 3)
static tutti_status encoding_wrong(char *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(why, IMAGE_WHY_SIZE, format, args);
    va_end(args);
    return TUTTI_E_FORMAT;
}

static int dtype_by_name(const char *name, size_t size)
{
    for (int k = 0; k < DTYPES; k++)
        if (strlen(dtypes[k].name) == size && memcmp(dtypes[k].name, name, size) == 0)
            return k;
    return -1;
}

static int dtype_by_code(int32_t code)
{
    for (int k = 0; k < DTYPES; k++)
        if (dtypes[k].code == code)
            return k;
    return -1;
}

/* ---- the encoding's name ---- */

/* ":dtype:2,3" behind "ndarray". */
static tutti_status parse_array(const char *text, mds_encoding *e, char *why)
{
    e->kind = MDS_ARRAY;
    if (!*text)
        return TUTTI_OK;
    const char *name = text + 1, *shape = strchr(name, ':');
    const int k = dtype_by_name(name, shape ? (size_t)(shape - name) : strlen(name));
    if (*text != ':' || k < 0)
        return encoding_wrong(why, "ndarray%s has no dtype of ndarrays", text);
    e->stored = dtypes[k].code;
    for (const char *at = shape; at;) {
        char *end;
        const long long n = strtoll(at + 1, &end, 10);
        if (end == at + 1 || (*end && *end != ',') || n < 1 || n > INT32_MAX ||
            e->dims == TUTTI_MAX_RANK - 1)
            return encoding_wrong(why, "ndarray%s has no sound shape of at most %d dimensions",
                                  text, TUTTI_MAX_RANK - 1);
        e->dim[e->dims++] = n;
        at = *end ? end : NULL;
    }
    return TUTTI_OK;
}

tutti_status mds_encoding_parse(const char *text, mds_encoding *e, char why[IMAGE_WHY_SIZE])
{
    static const struct {
        const char *name;
        mds_encoding is;
    } table[] = {
        {"str", {.kind = MDS_TEXT}},
        {"bytes", {.kind = MDS_TEXT}},
        {"json", {.kind = MDS_TEXT}},
        {"jpeg", {.kind = MDS_IMAGE}},
        {"png", {.kind = MDS_IMAGE}},
        {"pil", {.kind = MDS_PIL}},
        {"int", {.kind = MDS_NUMBER, .stored = 65, .integer = 1}},
        {"str_int", {.kind = MDS_DIGITS, .integer = 1}},
        {"str_float", {.kind = MDS_DIGITS}},
        {"str_decimal", {.kind = MDS_DIGITS}},
        {"jpegarray", {.kind = MDS_LIST, .element = MDS_IMAGE}},
        {"jpeg_array", {.kind = MDS_LIST, .element = MDS_IMAGE}},
        {"list[jpeg]", {.kind = MDS_LIST, .element = MDS_IMAGE, .skip = 4}},
        {"list[png]", {.kind = MDS_LIST, .element = MDS_IMAGE, .skip = 4}},
        {"list[pil]", {.kind = MDS_LIST, .element = MDS_PIL, .skip = 4}},
    };
    memset(e, 0, sizeof *e);
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (strcmp(table[k].name, text) == 0) {
            *e = table[k].is;
            return TUTTI_OK;
        }
    if (strncmp(text, "ndarray", 7) == 0)
        return parse_array(text + 7, e, why) ? TUTTI_E_UNSUPPORTED : TUTTI_OK;
    const int k = dtype_by_name(text, strlen(text));
    if (k >= 0) {
        *e = (mds_encoding){
            .kind = MDS_NUMBER, .stored = dtypes[k].code, .integer = *text != 'f'};
        return TUTTI_OK;
    }
    (void)(strcmp(text, "pkl") == 0 || strcmp(text, "pickle") == 0
               ? encoding_wrong(why, "is pickled, which runs code when read and is refused")
               : encoding_wrong(why, "has the encoding %s, which is not known here", text));
    return TUTTI_E_UNSUPPORTED;
}

int64_t mds_encoding_bytes(const mds_encoding *e)
{
    if (!e->stored || (e->kind == MDS_ARRAY && !e->dims))
        return -1;
    int64_t n = dtypes[dtype_by_code(e->stored)].bytes;
    for (int32_t k = 0; k < e->dims; k++)
        n = n > INT64_MAX / e->dim[k] ? INT64_MAX : n * e->dim[k];
    return n;
}

/* ---- numbers ---- */

static uint64_t encoding_little(const unsigned char *p, uint64_t bytes)
{
    uint64_t v = 0;
    for (uint64_t k = 0; k < bytes; k++)
        v |= (uint64_t)p[k] << (8 * k);
    return v;
}

/* IEEE 754 binary16. */
static float encoding_half(uint64_t h)
{
    const int exponent = (int)(h >> 10 & 31);
    const float m = (float)(h & 1023) / 1024.0f;
    const float v = exponent == 31  ? (h & 1023 ? NAN : INFINITY)
                    : exponent == 0 ? ldexpf(m, -14)
                                    : ldexpf(1.0f + m, exponent - 15);
    return h >> 15 ? -v : v;
}

static void encoding_number(const mds_encoding *e, const mds_field *f, void *to)
{
    const int k = dtype_by_code(e->stored);
    uint64_t v = encoding_little(f->data, (uint64_t)dtypes[k].bytes);
    if (e->integer) {
        const int bits = 8 * dtypes[k].bytes;
        if (*dtypes[k].name == 'i' && bits < 64 && (v >> (bits - 1) & 1))
            v |= ~UINT64_C(0) << bits;
        memcpy(to, &v, sizeof v);
        return;
    }
    float x = encoding_half(v);
    double d;
    const uint32_t low = (uint32_t)v;
    if (e->stored == 34)
        memcpy(&x, &low, sizeof x);
    memcpy(&d, &v, sizeof d);
    if (e->stored == 66)
        x = (float)d;
    memcpy(to, &x, sizeof x);
}

static tutti_status encoding_digits(const mds_encoding *e, const mds_field *f, void *to,
                                    char *why)
{
    char text[64], *end;
    if (f->size == 0 || f->size >= sizeof text)
        return encoding_wrong(why, "a number of %llu characters, want 1 to 63",
                              (unsigned long long)f->size);
    memcpy(text, f->data, f->size);
    text[f->size] = '\0';
    errno = 0;
    const long long whole = strtoll(text, &end, 10);
    if (e->integer && (*end || errno))
        return encoding_wrong(why, "\"%s\" is no 64-bit whole number", text);
    const float x = strtof(text, &end);
    if (!e->integer && *end)
        return encoding_wrong(why, "\"%s\" is no number", text);
    const int64_t v = whole;
    if (e->integer)
        memcpy(to, &v, sizeof v);
    else
        memcpy(to, &x, sizeof x);
    return TUTTI_OK;
}

/* ---- arrays ---- */

/* Dtype, shape and where the values begin. */
static tutti_status array_shape(const mds_encoding *e, const mds_field *f, tutti_desc *ret,
                                int *ret_dtype, uint64_t *ret_begin, char *why)
{
    uint64_t at = 0, count = 1;
    const int k = dtype_by_code(e->stored ? e->stored : at < f->size ? f->data[at] : -1);
    if (k < 0)
        return encoding_wrong(why, "an array of an unknown dtype");
    at += e->stored ? 0 : 1;
    *ret = (tutti_desc){{0}, e->dims, dtypes[k].dtype};
    memcpy(ret->dim, e->dim, sizeof ret->dim);
    if (!e->dims) {
        if (at >= f->size)
            return encoding_wrong(why, "an array that ends in its header");
        const uint64_t rank = f->data[at] >> 2, bytes = UINT64_C(1) << (f->data[at] & 3);
        at++;
        if (rank < 1 || rank >= TUTTI_MAX_RANK)
            return encoding_wrong(why, "an array of %d dimensions, want 1 to %d", (int)rank,
                                  TUTTI_MAX_RANK - 1);
        if (rank * bytes > f->size - at)
            return encoding_wrong(why, "an array that ends in its header");
        for (uint64_t d = 0; d < rank; d++, at += bytes) {
            const uint64_t n = encoding_little(f->data + at, bytes);
            if (n < 1 || n > INT32_MAX)
                return encoding_wrong(why, "an array with a dimension of %llu",
                                      (unsigned long long)n);
            ret->dim[ret->rank++] = (int64_t)n;
        }
    }
    for (int32_t d = 0; d < ret->rank && count <= f->size; d++)
        count *= (uint64_t)ret->dim[d]; /* below 2^64: count and dims are below 2^32 */
    if (count > f->size || count * (uint64_t)dtypes[k].bytes != f->size - at) {
        char text[96];
        return encoding_wrong(why, "an array of %s in %llu bytes",
                              tutti_desc_text(ret, text, sizeof text),
                              (unsigned long long)(f->size - at));
    }
    *ret_dtype = k;
    *ret_begin = at;
    return TUTTI_OK;
}

static tutti_status encoding_array(const mds_encoding *e, const mds_field *f, void *to,
                                   char *why)
{
    tutti_desc d;
    int k = 0;
    uint64_t at = 0;
    const tutti_status status = array_shape(e, f, &d, &k, &at, why);
    if (status)
        return status;
    if (dtypes[k].code != 32) {
        memcpy(to, f->data + at, f->size - at);
        return TUTTI_OK;
    }
    for (uint64_t n = 0; n < (f->size - at) / 4; n++) {
        const int64_t v = (int64_t)encoding_little(f->data + at + 4 * n, 4);
        memcpy((char *)to + 8 * n, &v, sizeof v);
    }
    return TUTTI_OK;
}

/* ---- whole numbers as they are stored ---- */

int mds_encoding_is_whole(const mds_encoding *e)
{
    const int k = dtype_by_code(e->stored);
    return k >= 0 && *dtypes[k].name != 'f';
}

mds_values mds_values_of(int32_t stored, const mds_field *f)
{
    const int k = dtype_by_code(stored);
    return (mds_values){f->data, (int64_t)(f->size / (uint64_t)dtypes[k].bytes),
                        dtypes[k].bytes, *dtypes[k].name == 'i'};
}

tutti_status mds_encoding_values(const mds_encoding *e, const mds_field *f, mds_values *ret,
                                 char why[IMAGE_WHY_SIZE])
{
    tutti_desc d;
    int k = 0;
    uint64_t at = 0;
    const tutti_status status = array_shape(e, f, &d, &k, &at, why);
    if (status)
        return status;
    if (*dtypes[k].name == 'f')
        return encoding_wrong(why, "an array of %s, want whole numbers", dtypes[k].name);
    const mds_field values = {f->data + at, f->size - at};
    *ret = mds_values_of(dtypes[k].code, &values);
    return TUTTI_OK;
}

int64_t mds_values_at(const mds_values *v, int64_t k)
{
    const uint64_t bits =
        encoding_little(v->data + k * v->bytes, (uint64_t)v->bytes); /* 0 above its bytes */
    const int shift = 64 - 8 * v->bytes;
    if (v->is_signed)
        return (int64_t)(bits << shift) >> shift;
    return bits > INT64_MAX ? -1 : (int64_t)bits;
}

/* ---- Pillow's images ---- */

static tutti_status pil_shape(const mds_field *f, tutti_desc *ret, uint64_t *ret_begin,
                              char *why)
{
    static const struct {
        const char *mode;
        int32_t channels, dtype;
    } modes[] = {{"L", 1, TUTTI_U8},    {"LA", 2, TUTTI_U8},   {"RGB", 3, TUTTI_U8},
                 {"RGBA", 4, TUTTI_U8}, {"CMYK", 4, TUTTI_U8}, {"YCbCr", 3, TUTTI_U8},
                 {"HSV", 3, TUTTI_U8},  {"I", 1, TUTTI_I32},   {"F", 1, TUTTI_F32}};
    char mode[8] = "";
    const uint64_t length = f->size >= 12 ? encoding_little(f->data + 8, 4) : UINT64_MAX;
    if (length >= sizeof mode || f->size < 12 + length)
        return encoding_wrong(why, "an image that ends in its header");
    memcpy(mode, f->data + 12, length);
    for (size_t k = 0; k < sizeof modes / sizeof *modes; k++) {
        if (strcmp(modes[k].mode, mode) != 0)
            continue;
        const int64_t width = (int64_t)encoding_little(f->data, 4),
                      height = (int64_t)encoding_little(f->data + 4, 4);
        *ret = (tutti_desc){{height, width, modes[k].channels}, 3, modes[k].dtype};
        *ret_begin = 12 + length;
        if (width > 65536 || height > 65536 || tutti_nbytes(ret) != f->size - *ret_begin)
            return encoding_wrong(why, "an image of %lld x %lld in mode %s in %llu bytes",
                                  (long long)width, (long long)height, mode,
                                  (unsigned long long)(f->size - *ret_begin));
        return TUTTI_OK;
    }
    return encoding_wrong(why, "an image of mode \"%s\", which is not known here", mode);
}

/* ---- images and lists of them ---- */

static tutti_status one_shape(int32_t kind, image_pool *pool, const mds_field *f,
                              tutti_desc *ret, char *why)
{
    uint64_t begin;
    return kind == MDS_PIL ? pil_shape(f, ret, &begin, why)
                           : image_shape(pool, f->data, f->size, ret, why);
}

static tutti_status encoding_one(int32_t kind, image_pool *pool, const mds_field *f, void *to,
                                 char *why)
{
    tutti_desc d;
    uint64_t begin;
    if (kind != MDS_PIL)
        return image_decode(pool, f->data, f->size, to, why);
    const tutti_status status = pil_shape(f, &d, &begin, why);
    if (status == TUTTI_OK)
        memcpy(to, f->data + begin, f->size - begin);
    return status;
}

static tutti_status list_count(const mds_encoding *e, const mds_field *f, uint64_t *ret,
                               char *why)
{
    const uint64_t header = (uint64_t)e->skip + 4;
    *ret = f->size >= header ? encoding_little(f->data + e->skip, 4) : 0;
    uint64_t bytes = header + 4 * *ret;
    for (uint64_t k = 0; k < *ret && header + 4 * *ret <= f->size; k++)
        bytes += encoding_little(f->data + header + 4 * k, 4);
    if (*ret == 0 || bytes != f->size)
        return encoding_wrong(why, "a list whose %llu images do not fill its %llu bytes",
                              (unsigned long long)*ret, (unsigned long long)f->size);
    return TUTTI_OK;
}

/* Calls for each image of a list: all have the shape of the first. */
static tutti_status encoding_list(const mds_encoding *e, image_pool *pool, const mds_field *f,
                                  tutti_desc *ret, char *to, char *why)
{
    uint64_t count;
    tutti_status status = list_count(e, f, &count, why);
    uint64_t at = (uint64_t)e->skip + 4 + 4 * (status ? 0 : count);
    for (uint64_t k = 0; status == TUTTI_OK && k < count; k++) {
        const mds_field image = {f->data + at,
                                 encoding_little(f->data + e->skip + 4 + 4 * k, 4)};
        tutti_desc d;
        if ((status = one_shape(e->element, pool, &image, &d, why)))
            return status;
        if (k == 0)
            *ret = (tutti_desc){
                {(int64_t)count, d.dim[0], d.dim[1], d.dim[2]}, d.rank + 1, d.dtype};
        else if (d.dim[0] != ret->dim[1] || d.dim[1] != ret->dim[2] || d.dim[2] != ret->dim[3])
            return encoding_wrong(why, "a list of images of different shapes");
        if (to) {
            status = encoding_one(e->element, pool, &image, to, why);
            to += tutti_nbytes(&d);
        }
        at += image.size;
    }
    return status;
}

tutti_status mds_encoding_shape(const mds_encoding *e, image_pool *pool, const mds_field *f,
                                tutti_desc *ret, char why[IMAGE_WHY_SIZE])
{
    int dtype;
    uint64_t begin;
    memset(ret, 0, sizeof *ret);
    switch ((mds_kind)e->kind) {
    case MDS_NUMBER:
    case MDS_DIGITS:
        ret->dtype = e->integer ? TUTTI_I64 : TUTTI_F32;
        return TUTTI_OK;
    case MDS_TEXT:
        *ret = (tutti_desc){{(int64_t)f->size}, 1, TUTTI_U8};
        return TUTTI_OK;
    case MDS_ARRAY:
        return array_shape(e, f, ret, &dtype, &begin, why);
    case MDS_IMAGE:
    case MDS_PIL:
        return one_shape(e->kind, pool, f, ret, why);
    case MDS_LIST:
        return encoding_list(e, pool, f, ret, NULL, why);
    }
    return TUTTI_E_UNSUPPORTED;
}

tutti_status mds_encoding_decode(const mds_encoding *e, image_pool *pool, const mds_field *f,
                                 const tutti_desc *desc, void *data, char why[IMAGE_WHY_SIZE])
{
    tutti_desc d = *desc;
    switch ((mds_kind)e->kind) {
    case MDS_NUMBER:
        encoding_number(e, f, data);
        return TUTTI_OK;
    case MDS_DIGITS:
        return encoding_digits(e, f, data, why);
    case MDS_TEXT:
        memcpy(data, f->data, f->size);
        return TUTTI_OK;
    case MDS_ARRAY:
        return encoding_array(e, f, data, why);
    case MDS_IMAGE:
    case MDS_PIL:
        return encoding_one(e->kind, pool, f, data, why);
    case MDS_LIST:
        return encoding_list(e, pool, f, &d, data, why);
    }
    return TUTTI_E_UNSUPPORTED;
}
