/* digest.c - hashes by OpenSSL and xxHash. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "digest.h"

#include <stdio.h>
#include <string.h>

#include <openssl/evp.h>
#include <xxhash.h>

_Static_assert(MDS_DIGEST_SIZE > 2 * EVP_MAX_MD_SIZE, "a digest fits");

int mds_digest(const char *kind, const void *data, uint64_t size, char ret[MDS_DIGEST_SIZE])
{
    if (strcmp(kind, "xxh32") == 0)
        return snprintf(ret, 9, "%08x", XXH32(data, size, 0));
    if (strcmp(kind, "xxh64") == 0)
        return snprintf(ret, 17, "%016llx", (unsigned long long)XXH64(data, size, 0));
    if (strcmp(kind, "xxh3_64") == 0)
        return snprintf(ret, 17, "%016llx", (unsigned long long)XXH3_64bits(data, size));
    if (strcmp(kind, "xxh128") == 0 || strcmp(kind, "xxh3_128") == 0) {
        const XXH128_hash_t h = XXH3_128bits(data, size);
        return snprintf(ret, 33, "%016llx%016llx", (unsigned long long)h.high64,
                        (unsigned long long)h.low64);
    }
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    char name[32]; /* hashlib's sha3_256 is OpenSSL's sha3-256 */
    (void)snprintf(name, sizeof name, "%s",
                   strcmp(kind, "blake2s") == 0   ? "blake2s256"
                   : strcmp(kind, "blake2b") == 0 ? "blake2b512"
                                                  : kind);
    for (char *c = name; *c; c++)
        *c = *c == '_' ? '-' : *c;
    const EVP_MD *md = EVP_get_digestbyname(name);
    if (!md || EVP_Digest(data, size, bytes, &n, md, NULL) != 1)
        return 0;
    for (unsigned k = 0; k < n; k++)
        (void)snprintf(ret + 2 * k, 3, "%02x", bytes[k]);
    return 1;
}
