/* checkpoint_format.h - what writing and reading of checkpoints share: where the checksum stands. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CHECKPOINT_CHECKPOINT_FORMAT_H
#define HOST_TRAIN_CHECKPOINT_CHECKPOINT_FORMAT_H

/* A header of version 2 begins with SEAL_HEAD, then 16 hexadecimal digits: XXH3 of the whole file with SEAL_NONE
 * in their place. */
#define SEAL_HEAD "{\"__metadata__\":{\"xxh3_64_file\":\""
#define SEAL_NONE "0000000000000000"
enum { SEAL_HEAD_SIZE = sizeof SEAL_HEAD - 1, SEAL_DIGITS = sizeof SEAL_NONE - 1 };

#endif
