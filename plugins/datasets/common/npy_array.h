/* npy_array.h - one NumPy array, read a sample at a time. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_DATASETS_NPY_ARRAY_H
#define PLUGIN_DATASETS_NPY_ARRAY_H

#include "mapped_file.h"

#include "tutti/tensor.h"

typedef struct npy_array {
    char *name; /* the file, with the member of an .npz, for errors */
    mapped_file file;
    void *unpacked;      /* a deflated member; NULL: mapped */
    const uint8_t *data; /* the values */
    tutti_desc sample;   /* of one; 32-bit unsigned values become I64 */
    int64_t samples;
    uint64_t bytes; /* of one, as stored */
    int32_t width;  /* bytes of a value */
    char kind;      /* 'f' float, 'i' signed, 'u' unsigned, 'b' boolean */
    char swapped;   /* bytes are in the other order */
    char fortran;   /* the first dimension runs fastest */
    char reserved;
} npy_array;

/* Opens `path`; `key` names the array in an .npz file (NULL: the only one) and `setting` the
 * parameter that holds `key`.  `a` is for npy_close even after an error.  Errors name the file:
 * E_IO, E_FORMAT, E_NOTFOUND, E_UNSUPPORTED, E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status npy_open(npy_array *a, const char *path, const char *key,
                                      const char *setting, tutti_error *err);
void npy_close(npy_array *a);

/* An array in memory, with its header, as one sample of all its dimensions; nothing is to be closed.  `name` begins
 * sentences.  Errors: E_FORMAT, E_VERSION, E_SHAPE, E_UNSUPPORTED.  [any] */
TUTTI_NODISCARD tutti_status npy_view(npy_array *a, const char *name, const uint8_t *data,
                                      uint64_t size, tutti_error *err);

/* Sample `index`, as `sample` describes it, in C order and the machine's byte order.  [any] */
void npy_read(const npy_array *a, int64_t index, void *to);

/* Value `k`, in C order, of sample `index` of an array of whole numbers; INT64_MAX if it is larger.  [any] */
int64_t npy_whole(const npy_array *a, int64_t index, uint64_t k);

/* Value `k`, in C order, of sample `index` of an array of 32-bit or 64-bit floats or of whole numbers.  [any] */
double npy_number(const npy_array *a, int64_t index, uint64_t k);

#endif
