/* cubin.h - a look at the arguments of device code without a device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_ELF_CUBIN_H
#define HOST_PLUGIN_ELF_CUBIN_H

#include "tutti/base.h"

/* A device function as those see it who call it. */
typedef struct cubin_function {
    const char *entry;
    const char *by;        /* who says so, for messages: "kernel scale" */
    const uint32_t *sizes; /* bytes of each argument */
    uint32_t nargs;
    uint32_t
        checked; /* set: in so many cubins it was looked at; PTX and compressed ones are not */
} cubin_function;

/* The file, a fatbin or one cubin, must have all of the functions, with these arguments, for each
 * architecture.  Errors: E_FORMAT it is neither, or torn; E_NOTFOUND a function is missing; E_ARG number
 * or size of arguments differ; E_IO. */
TUTTI_NODISCARD tutti_status cubin_check(const char *path, cubin_function *functions,
                                         size_t count, tutti_error *err);

/* The same for a file in memory; `path` stands in messages. */
TUTTI_NODISCARD tutti_status cubin_check_bytes(const char *path, const void *data, size_t size,
                                               cubin_function *functions, size_t count,
                                               tutti_error *err);

#endif
