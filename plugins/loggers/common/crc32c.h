/* crc32c.h - the checksum CRC-32C (Castagnoli), bit by bit through a table of 16. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOGGERS_CRC32C_H
#define LOGGERS_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Of `size` bytes; polynomial 0x1EDC6F41, reflected, as RFC 3720 defines it. */
static inline uint32_t crc32c_of(const void *data, size_t size)
{
    /* Of the four bits k: k shifted out through the reflected polynomial 0x82F63B78. */
    static const uint32_t nibble[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
                                        0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
                                        0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
    const unsigned char *at = (const unsigned char *)data;
    uint32_t crc = ~0u;
    for (size_t k = 0; k < size; k++) {
        crc ^= at[k];
        crc = crc >> 4 ^ nibble[crc & 15];
        crc = crc >> 4 ^ nibble[crc & 15];
    }
    return ~crc;
}

#endif
