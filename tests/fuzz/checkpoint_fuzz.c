/* checkpoint_fuzz.c - any bytes as a checkpoint: an error that names it, or tensors that lie inside it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_file.h"

#include "train/checkpoint_file/checkpoint.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[2 * FUZZ_PATH];
    checkpoint *c = NULL;
    volatile unsigned char sum = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    fuzz_file("x.safetensors", data, size, path);
    if (checkpoint_open(path, &c, &err)) {
        if (c || !strstr(err.text, "x.safetensors"))
            abort();
        return 0;
    }
    for (size_t k = 0; k < checkpoint_count(c); k++) {
        checkpoint_item item;
        checkpoint_at(c, k, &item);
        const unsigned char *bytes = item.tensor.data;
        for (uint64_t b = 0; b < tutti_nbytes(&item.tensor.desc); b++)
            sum = (unsigned char)(sum + bytes[b]);
    }
    checkpoint_close(c);
    return 0;
}
