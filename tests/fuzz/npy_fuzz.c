/* npy_fuzz.c - any bytes as an array of NumPy's, alone or in an archive: an error, or samples that can be read. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_file.h"

#include "datasets/common/npy_array.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char sample[1 << 16];
    char path[2 * FUZZ_PATH];
    npy_array a;
    tutti_error err = TUTTI_ERROR_INIT;
    fuzz_file("x.npy", data, size, path);
    const tutti_status s = npy_open(&a, path, NULL, "inputs_key", &err);
    if (s && !err.text[0])
        abort();
    if (!s && tutti_nbytes(&a.sample) <= sizeof sample)
        for (int64_t k = 0; k < a.samples && k < 64; k++)
            npy_read(&a, k, sample);
    npy_close(&a);
    return 0;
}
