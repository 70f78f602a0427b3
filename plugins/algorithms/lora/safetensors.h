/* safetensors.h - F32 tensors of two dimensions in a .safetensors file. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LORA_SAFETENSORS_H
#define LORA_SAFETENSORS_H

#include "tutti/base.h"

typedef struct lora_tensor {
    char *name;
    const float *data; /* row-major */
    int64_t rows, cols;
} lora_tensor;

/* Writes path.part and renames it to `path`.  Errors: E_IO, E_NOMEM. */
tutti_status safetensors_write(const char *path, const lora_tensor *tensors, uint32_t count,
                               tutti_error *err);

/* A file's tensors; starts as zeros, ends with safetensors_close, also after an error. */
typedef struct safetensors {
    char *bytes;
    uint64_t size;
    lora_tensor *tensors;
    uint32_t count;
    uint32_t reserved;
} safetensors;

/* Errors: E_IO, E_NOMEM; E_FORMAT what is no such file; E_UNSUPPORTED a tensor of another dtype or rank. */
tutti_status safetensors_open(const char *path, safetensors *ret, tutti_error *err);
void safetensors_close(safetensors *f);

#endif
