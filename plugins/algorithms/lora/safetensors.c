/* safetensors.c - F32 tensors of two dimensions in a .safetensors file: a length, a header of JSON, the numbers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "safetensors.h"
#include "../../common/json_memory.h"

#include "../../common/regular_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

enum { LENGTH = 8, MOST_HEADER = 64 << 20 };

static tutti_status safetensors_no_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "lora: no memory for an adapter's file");
}

static uint64_t tensor_bytes(const lora_tensor *t)
{
    return (uint64_t)(t->rows * t->cols) * sizeof(float);
}

/* ---- writing ---- */

/* The header, padded to a multiple of 8 bytes; NULL: out of memory. */
static char *header_text(const lora_tensor *tensors, uint32_t count)
{
    json_t *all = json_pack("{s{ss}}", "__metadata__", "format", "pt");
    uint64_t at = 0;
    for (uint32_t k = 0; k < count && all; k++) {
        const uint64_t end = at + tensor_bytes(&tensors[k]);
        json_t *one = json_pack("{ss, s[II], s[II]}", "dtype", "F32", "shape",
                                (json_int_t)tensors[k].rows, (json_int_t)tensors[k].cols,
                                "data_offsets", (json_int_t)at, (json_int_t)end);
        if (!one || json_object_set_new(all, tensors[k].name, one) != 0) {
            json_decref(all);
            all = NULL;
        }
        at = end;
    }
    char *text = all ? json_dumps(all, JSON_COMPACT) : NULL;
    json_decref(all);
    const size_t size = text ? strlen(text) : 0, padded = (size + 7) / 8 * 8;
    char *grown = text ? realloc(text, padded + 1) : NULL;
    if (!grown) {
        free(text);
        return NULL;
    }
    memset(grown + size, ' ', padded - size);
    grown[padded] = '\0';
    return grown;
}

tutti_status safetensors_write(const char *path, const lora_tensor *tensors, uint32_t count,
                               tutti_error *err)
{
    char part[PATH_MAX];
    unsigned char length[LENGTH];
    char *header = header_text(tensors, count);
    if (!header)
        return safetensors_no_memory(err);
    const uint64_t size = strlen(header);
    for (int k = 0; k < LENGTH; k++)
        length[k] = (unsigned char)(size >> 8 * k);
    (void)snprintf(part, sizeof part, "%.4000s.part", path);
    FILE *file = fopen(part, "wbe");
    int good = file && fwrite(length, 1, LENGTH, file) == LENGTH &&
               fwrite(header, 1, size, file) == size;
    for (uint32_t k = 0; k < count && good; k++)
        good = fwrite(tensors[k].data, 1, tensor_bytes(&tensors[k]), file) ==
               tensor_bytes(&tensors[k]);
    const int reason = errno;
    if (file && fclose(file) != 0)
        good = 0;
    free(header);
    if (good && rename(part, path) == 0)
        return TUTTI_OK;
    (void)remove(part);
    return tutti_fail(err, TUTTI_E_IO, "lora: %s: %s", path, strerror(good ? errno : reason));
}

/* ---- reading ---- */

static tutti_status read_all(const char *path, safetensors *f, tutti_error *err)
{
    const char *cause;
    FILE *file = regular_file_open(path, &cause);
    if (!file)
        return tutti_fail(err, TUTTI_E_IO, "lora: %s: %s", path, cause);
    int good = fseek(file, 0, SEEK_END) == 0;
    const long size = good ? ftell(file) : -1;
    good = size >= 0 && fseek(file, 0, SEEK_SET) == 0;
    f->bytes = good ? malloc((size_t)size + 1) : NULL;
    f->size = good ? (uint64_t)size : 0;
    const int memory = !good || f->bytes;
    good = good && f->bytes && fread(f->bytes, 1, f->size, file) == f->size;
    (void)fclose(file);
    if (!memory)
        return safetensors_no_memory(err);
    return good ? TUTTI_OK : tutti_fail(err, TUTTI_E_IO, "lora: %s: cannot be read", path);
}

/* One member of the header, whose numbers begin at `base`. */
static tutti_status read_tensor(const char *path, safetensors *f, uint64_t base,
                                const char *name, json_t *value, tutti_error *err)
{
    json_int_t rows = 0, cols = 0, begin = 0, end = 0;
    const char *dtype = NULL;
    lora_tensor *t = &f->tensors[f->count];
    json_t *shape = json_object_get(value, "shape");
    if (json_unpack(value, "{ss, s[II]}", "dtype", &dtype, "data_offsets", &begin, &end) != 0)
        return tutti_fail(err, TUTTI_E_FORMAT, "lora: %s: %s has no dtype and data_offsets",
                          path, name);
    if (strcmp(dtype, "F32") != 0 || json_unpack(shape, "[II!]", &rows, &cols) != 0)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "lora: %s: %s is no F32 matrix, which an adapter's weights are", path,
                          name);
    const uint64_t left = f->size - base;
    if (rows < 1 || cols < 1 || rows > INT32_MAX || cols > INT32_MAX || begin < 0 ||
        end < begin || (uint64_t)end > left || begin % (json_int_t)sizeof(float) ||
        (uint64_t)(end - begin) != (uint64_t)rows * (uint64_t)cols * sizeof(float))
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "lora: %s: the bytes of %s are not there or are not its shape's",
                          path, name);
    t->name = strdup(name);
    if (!t->name)
        return safetensors_no_memory(err);
    t->data = (const float *)(const void *)(f->bytes + base + (uint64_t)begin);
    t->rows = rows;
    t->cols = cols;
    f->count++;
    return TUTTI_OK;
}

tutti_status safetensors_open(const char *path, safetensors *ret, tutti_error *err)
{
    uint64_t length = 0;
    const char *name;
    json_t *value, *header = NULL;
    tutti_status s = read_all(path, ret, err);
    if (s)
        return s;
    for (int k = 0; k < LENGTH && ret->size >= LENGTH; k++)
        length |= (uint64_t)(unsigned char)ret->bytes[k] << 8 * k;
    if (ret->size >= LENGTH && length <= MOST_HEADER && length <= ret->size - LENGTH &&
        length % 4 == 0) { /* so that numbers lie at multiples of their size */
        const unsigned long before = json_memory_watch();
        header = json_loadb(ret->bytes + LENGTH, length, JSON_REJECT_DUPLICATES, NULL);
        if ((s = json_memory_told(before, &header, path, err)))
            return s;
    }
    if (!json_is_object(header)) {
        json_decref(header);
        return tutti_fail(err, TUTTI_E_FORMAT, "lora: %s: is no .safetensors file", path);
    }
    ret->tensors = calloc(json_object_size(header) + 1, sizeof *ret->tensors);
    if (!ret->tensors)
        s = safetensors_no_memory(err);
    json_object_foreach(header, name, value) if (!s && strcmp(name, "__metadata__") != 0) s =
        read_tensor(path, ret, LENGTH + length, name, value, err);
    json_decref(header);
    return s;
}

void safetensors_close(safetensors *f)
{
    for (uint32_t k = 0; k < f->count; k++)
        free(f->tensors[k].name);
    free(f->tensors);
    free(f->bytes);
    *f = (safetensors){NULL, 0, NULL, 0, 0};
}
