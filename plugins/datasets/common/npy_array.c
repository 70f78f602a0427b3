/* npy_array.c - NumPy's format: numpy/lib/format.py describes versions 1.0 to 3.0. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "npy_array.h"

#include "zip.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the header: a Python dictionary of three entries ---- */

typedef struct text {
    const char *at;
    const char *end;
} text;

/* Takes `c` after blanks; 0 if something else comes. */
static int array_take(text *t, char c)
{
    while (t->at < t->end && isspace((unsigned char)*t->at))
        t->at++;
    if (t->at == t->end || *t->at != c)
        return 0;
    t->at++;
    return 1;
}

static int take_word(text *t, const char *word)
{
    const size_t n = strlen(word);
    if (!array_take(t, word[0]) || (size_t)(t->end - t->at) < n - 1 ||
        memcmp(t->at, word + 1, n - 1) != 0)
        return 0;
    t->at += n - 1;
    return 1;
}

/* A quoted string of fewer than `capacity` characters. */
static int take_string(text *t, char *to, size_t capacity)
{
    const char quote = array_take(t, '\'') ? '\'' : array_take(t, '"') ? '"' : '\0';
    size_t n = 0;
    while (quote && t->at < t->end && *t->at != quote && n + 1 < capacity)
        to[n++] = *t->at++;
    to[n] = '\0';
    return quote && array_take(t, quote);
}

/* "(60000, 28, 28)", "(5,)", "()"; Python 2 wrote an L after long numbers. */
static int take_shape(text *t, int64_t dim[TUTTI_MAX_RANK], int *ret_rank)
{
    int rank = 0;
    if (!array_take(t, '('))
        return 0;
    while (!array_take(t, ')')) {
        int64_t n = 0;
        int digits = 0;
        while (t->at < t->end && isspace((unsigned char)*t->at))
            t->at++;
        for (; t->at < t->end && isdigit((unsigned char)*t->at); t->at++, digits++)
            n = digits < 18 ? n * 10 + (*t->at - '0') : n;
        (void)array_take(t, 'L');
        if (digits == 0 || digits > 18)
            return 0;
        if (rank < TUTTI_MAX_RANK)
            dim[rank] = n;
        rank++;
        if (!array_take(t, ',') && (t->at == t->end || *t->at != ')'))
            return 0;
    }
    *ret_rank = rank;
    return 1;
}

/* What the dictionary says. */
typedef struct header {
    char type[16];
    int fortran;
    int rank;
    int64_t dim[TUTTI_MAX_RANK];
} header;

static int array_parse(text t, header *h)
{
    enum { DESCR = 1, ORDER = 2, SHAPE = 4 };
    char key[24];
    int seen = 0;
    if (!array_take(&t, '{'))
        return 0;
    while (!array_take(&t, '}')) {
        int which, good;
        if (!take_string(&t, key, sizeof key) || !array_take(&t, ':'))
            return 0;
        if (strcmp(key, "descr") == 0) {
            which = DESCR;
            if (array_take(&t,
                           '[')) { /* a list of fields; what else there is does not matter */
                strcpy(h->type, "record");
                return 1;
            }
            good = take_string(&t, h->type, sizeof h->type);
        } else if (strcmp(key, "fortran_order") == 0) {
            which = ORDER;
            h->fortran = take_word(&t, "True");
            good = h->fortran || take_word(&t, "False");
        } else {
            which = SHAPE;
            good = strcmp(key, "shape") == 0 && take_shape(&t, h->dim, &h->rank);
        }
        if (!good || seen & which)
            return 0;
        seen |= which;
        (void)array_take(&t, ',');
    }
    return seen == (DESCR | ORDER | SHAPE);
}

/* ---- what it means ---- */

typedef struct type {
    const char *code;
    int32_t dtype;
    int32_t width;
} type;

static const type types[] = {
    {"f2", TUTTI_F16, 2}, {"f4", TUTTI_F32, 4}, {"f8", TUTTI_F64, 8}, {"i1", TUTTI_I8, 1},
    {"i2", TUTTI_I16, 2}, {"i4", TUTTI_I32, 4}, {"i8", TUTTI_I64, 8}, {"u1", TUTTI_U8, 1},
    {"u2", TUTTI_U16, 2}, {"u4", TUTTI_I64, 4}, {"u8", TUTTI_U64, 8}, {"b1", TUTTI_BOOL, 1},
};

static tutti_status set_type(npy_array *a, const char *descr, tutti_error *err)
{
    const uint16_t one = 1;
    const char *order = strchr("<>|=", descr[0]);
    for (size_t k = 0; *descr && order && k < sizeof types / sizeof *types; k++) {
        if (strcmp(descr + 1, types[k].code) != 0)
            continue;
        a->kind = types[k].code[0];
        a->sample.dtype = types[k].dtype;
        a->width = types[k].width;
        a->swapped = *order == (*(const uint8_t *)&one ? '>' : '<') && a->width > 1;
        return TUTTI_OK;
    }
    return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                      "%s: holds values of type %s, want floats, integers or booleans", a->name,
                      descr);
}

/* `whole`: one sample, of all dimensions. */
static tutti_status set_shape(npy_array *a, header *h, int whole, tutti_error *err)
{
    if (whole && h->rank < TUTTI_MAX_RANK) {
        memmove(h->dim + 1, h->dim, (size_t)h->rank * sizeof *h->dim);
        h->dim[0] = 1;
        h->rank++;
    } else if (whole)
        return tutti_fail(err, TUTTI_E_SHAPE, "%s: has %d dimensions, want at most %d", a->name,
                          h->rank, TUTTI_MAX_RANK - 1);
    if (h->rank < 1 || h->rank > TUTTI_MAX_RANK)
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "%s: has %d dimensions, want 1 to %d, the first for the samples",
                          a->name, h->rank, TUTTI_MAX_RANK);
    a->samples = h->dim[0];
    a->sample.rank = h->rank - 1;
    a->bytes = (uint64_t)a->width;
    for (int k = 1; k < h->rank; k++) {
        const uint64_t n = (uint64_t)h->dim[k];
        if (n == 0 || a->bytes > ((uint64_t)1 << 40) / n)
            return tutti_fail(err, TUTTI_E_SHAPE, "%s: has a dimension of %llu", a->name,
                              (unsigned long long)n);
        a->bytes *= n;
        a->sample.dim[k - 1] = h->dim[k];
    }
    if (a->samples == 0)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: the set is empty", a->name);
    return TUTTI_OK;
}

/* `data` is the array with its header: a whole file, or a member of one. */
static tutti_status set_array(npy_array *a, const uint8_t *data, uint64_t size, int whole,
                              tutti_error *err)
{
    header h = {.rank = 0};
    if (size < 8 || memcmp(data, "\x93NUMPY", 6) != 0)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: is neither a NumPy array nor an .npz file",
                          a->name);
    if (data[6] < 1 || data[6] > 3)
        return tutti_fail(err, TUTTI_E_VERSION, "%s: is of version %d.%d, want 1 to 3", a->name,
                          data[6], data[7]);
    const uint64_t fixed = data[6] == 1 ? 10 : 12;
    uint64_t length = 0;
    for (uint64_t k = fixed; size >= fixed && k-- > 8;)
        length = length << 8 | data[k];
    if (size < fixed || size - fixed < length)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: ends within its header", a->name);
    const char *begin = (const char *)data + fixed;
    if (!array_parse((text){begin, begin + length}, &h))
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: the header is no dictionary of descr, fortran_order and shape",
                          a->name);
    tutti_status s = set_type(a, h.type, err);
    if (s || (s = set_shape(a, &h, whole, err)))
        return s;
    const uint64_t have = size - fixed - length;
    a->fortran = (char)(h.fortran && a->sample.rank > 0);
    a->data = data + fixed + length;
    if (have / a->bytes < (uint64_t)a->samples)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: ends after %llu samples, its header says %lld", a->name,
                          (unsigned long long)(have / a->bytes), (long long)a->samples);
    if (have != a->bytes * (uint64_t)a->samples)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: is longer than its header says", a->name);
    return TUTTI_OK;
}

tutti_status npy_open(npy_array *a, const char *path, const char *key, const char *setting,
                      tutti_error *err)
{
    zip_member m;
    memset(a, 0, sizeof *a);
    tutti_status s = mapped_file_open(&a->file, path, err);
    if (s)
        return s;
    const int zip = zip_is(&a->file);
    const size_t capacity = strlen(path) + (key ? strlen(key) : 0) + 4;
    if (!(a->name = malloc(capacity)))
        return tutti_fail(err, TUTTI_E_NOMEM, "npy: no memory");
    (void)snprintf(a->name, capacity, "%s%s%s%s", path, zip && key ? "[" : "",
                   zip && key ? key : "", zip && key ? "]" : "");
    if (!zip)
        return set_array(a, a->file.data, a->file.size, 0, err);
    if ((s = zip_find(&a->file, path, key, setting, &m, err)))
        return s;
    if (!m.deflated)
        return set_array(a, m.data, m.size, 0, err);
    if (!(a->unpacked = malloc(m.size ? m.size : 1)))
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for %llu bytes", a->name,
                          (unsigned long long)m.size);
    if ((s = zip_inflate(&m, a->name, a->unpacked, err)))
        return s;
    mapped_file_close(&a->file);
    return set_array(a, a->unpacked, m.size, 0, err);
}

tutti_status npy_view(npy_array *a, const char *name, const uint8_t *data, uint64_t size,
                      tutti_error *err)
{
    *a = (npy_array){.name = (char *)(uintptr_t)name};
    return set_array(a, data, size, 1, err);
}

void npy_close(npy_array *a)
{
    mapped_file_close(&a->file);
    free(a->name);
    free(a->unpacked);
    memset(a, 0, sizeof *a);
}

/* ---- values ---- */

static void array_put(uint8_t *to, const uint8_t *from, int32_t width, int swapped)
{
    if (!swapped)
        memcpy(to, from, (size_t)width);
    else
        for (int32_t k = 0; k < width; k++)
            to[k] = from[width - 1 - k];
}

/* Where value `k` of a sample, in C order, lies among all values: in Fortran order element
 * (index, i1, i2, ...) lies at index + samples (i1 + dim1 (i2 + ...)). */
static uint64_t array_place(const npy_array *a, int64_t index, uint64_t k)
{
    const tutti_desc *d = &a->sample;
    if (!a->fortran)
        return (uint64_t)index * (a->bytes / (uint64_t)a->width) + k;
    uint64_t at = 0, step = (uint64_t)a->samples;
    for (int32_t r = 0; r < d->rank; r++)
        step *= (uint64_t)d->dim[r];
    for (int32_t r = d->rank; r-- > 0; k /= (uint64_t)d->dim[r]) {
        step /= (uint64_t)d->dim[r];
        at += k % (uint64_t)d->dim[r] * step;
    }
    return (uint64_t)index + at;
}

void npy_read(const npy_array *a, int64_t index, void *to)
{
    const uint64_t width = (uint64_t)a->width, n = a->bytes / width;
    const int upcast = a->width < (int32_t)tutti_dtype_size(a->sample.dtype);
    if (!a->fortran && !a->swapped && !upcast) {
        memcpy(to, a->data + (uint64_t)index * a->bytes, a->bytes);
        return;
    }
    for (uint64_t k = 0; k < n; k++) {
        if (upcast)
            ((int64_t *)to)[k] = npy_whole(a, index, k);
        else
            array_put((uint8_t *)to + k * width, a->data + array_place(a, index, k) * width,
                      a->width, a->swapped);
    }
}

int64_t npy_whole(const npy_array *a, int64_t index, uint64_t at)
{
    uint8_t bytes[8] = {0};
    uint64_t n = 0;
    array_put(bytes, a->data + array_place(a, index, at) * (uint64_t)a->width, a->width,
              a->swapped);
    const uint16_t one = 1;
    for (int32_t k = 0; k < a->width; k++)
        n |= (uint64_t)bytes[*(const uint8_t *)&one ? k : a->width - 1 - k] << 8 * k;
    const uint64_t sign = (uint64_t)1 << (8 * a->width - 1);
    if (a->kind == 'i')
        return (int64_t)((n ^ sign) - sign);
    return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

double npy_number(const npy_array *a, int64_t index, uint64_t k)
{
    uint8_t bytes[8] = {0};
    float narrow;
    double wide;
    if (a->kind != 'f')
        return (double)npy_whole(a, index, k);
    array_put(bytes, a->data + array_place(a, index, k) * (uint64_t)a->width, a->width,
              a->swapped);
    memcpy(&narrow, bytes, sizeof narrow);
    memcpy(&wide, bytes, sizeof wide);
    return a->width == (int32_t)sizeof wide ? wide : (double)narrow;
}
