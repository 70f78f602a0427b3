/* code_ids.c - which files of device code belong to this build. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/code_file.h"

#include <stddef.h>

const code_id cuda_code_ids[] = {
#include "cuda_code_ids.inc" /* generated: {90, "0a1b..."}, */
    {0, NULL},
};
