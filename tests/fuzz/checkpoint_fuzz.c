/* checkpoint_fuzz.c - any bytes as a checkpoint: an error that names it, or tensors that lie inside it. */
/* SPDX-License-Identifier: Apache-2.0 */
#define JSON_IS_A_PART
#include "fuzz_file.h"
#include "json_mutator.h"

#include "train/checkpoint_file/checkpoint_format.h"

#include <inttypes.h>

#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Puts the checksum where version 2 has it, of the whole file, or else version 1, of the tensors alone.  The digits are
 * made on their own, so that a reader that takes wrong ones disagrees. */
static void mend_checksum(uint8_t *data, size_t size, size_t header)
{
    static const char old_key[] = "\"xxh3_64\": \"";
    char digits[SEAL_DIGITS + 1];
    uint8_t *at = data + 8;
    XXH64_hash_t hash;
    if (header > SEAL_HEAD_SIZE + SEAL_DIGITS && memcmp(at, SEAL_HEAD, SEAL_HEAD_SIZE) == 0) {
        at += SEAL_HEAD_SIZE;
        memcpy(at, SEAL_NONE, SEAL_DIGITS);
        hash = XXH3_64bits(data, size);
    } else {
        at = memmem(at, header, old_key, sizeof old_key - 1);
        if (!at || (size_t)(data + 8 + header - at) < sizeof old_key - 1 + SEAL_DIGITS)
            return;
        at += sizeof old_key - 1;
        hash = XXH3_64bits(data + 8 + header, size - 8 - header);
    }
    (void)snprintf(digits, sizeof digits, "%016" PRIx64, (uint64_t)hash);
    memcpy(at, digits, SEAL_DIGITS);
}

/* The header, with the length that it then has, or the tensors; half of the time with the checksum of that. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    unsigned state = seed;
    uint64_t header = 0;
    const bool blind = json_blind();
    for (size_t k = 8; k-- > 0 && size >= 8;)
        header = header << 8 | data[k];
    const unsigned way = json_random(&state) % 16;
    if (size > 8 && way > 8 && (header == 0 || header > size - 8))
        header = size - 8; /* a length that is wrong becomes right */
    if (blind || way == 0 || header == 0 || header > size - 8 || size - header >= max_size)
        return LLVMFuzzerMutate(data, size, max_size);
    const size_t tensors = 8 + (size_t)header;
    if (way < 3 && tensors < max_size) {
        size = tensors + LLVMFuzzerMutate(data + tensors, size - tensors, max_size - tensors);
    } else {
        const size_t changed = json_mutate_part(data, size, max_size, 8, tensors, &state);
        header = header + changed - size;
        size = changed;
    }
    for (size_t k = 0; k < 8; k++)
        data[k] = (uint8_t)(header >> 8 * k);
    if (json_random(&state) % 2)
        mend_checksum(data, size, (size_t)header);
    return size;
}

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
        json_tell(!strstr(err.text, "header"), false);
        return 0;
    }
    json_tell(true, true);
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
