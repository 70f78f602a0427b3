/* machine_text.c - what of a machine decides the bits of a run: device, CPU, its vector units, oneDNN's limit. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/context/machine_text.h"
#include "tutti/isa.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The words of the CPU's flags that choose code: "fma avx2 avx512f".  False: no memory to read them. */
static bool add_units(char *text, size_t size)
{
    static const char *const heads[] = {"fma", "f16c", "avx", "amx"};
    char line[8192], *rest = NULL;
    FILE *file = fopen("/proc/cpuinfo", "re");
    line[0] = '\0';
    if (!file && errno == ENOMEM)
        return false;
    while (file && fgets(line, sizeof line, file) && strncmp(line, "flags", 5) != 0)
        line[0] = '\0';
    if (file)
        (void)fclose(file);
    for (char *word = strtok_r(line, " \t\n:", &rest); word;
         word = strtok_r(NULL, " \t\n", &rest))
        for (size_t k = 0; k < sizeof heads / sizeof *heads; k++)
            if (strncmp(word, heads[k], strlen(heads[k])) == 0) {
                const size_t used = strlen(text);
                (void)snprintf(text + used, size - used, " %s", word);
            }
    return true;
}

tutti_status machine_text(const run_context *run, char *text, size_t size, tutti_error *err)
{
    const char *limit = getenv("ONEDNN_MAX_CPU_ISA");
    if (run->file->numerics.deterministic == RUN_REPEATS_ANYWHERE) {
        (void)snprintf(text, size, "kernels that compute the same bits anywhere");
        return TUTTI_OK;
    }
    (void)snprintf(text, size, "%s, %s, kernels for %s,", run->file->device.part.name,
                   net_cpu(run->net), tutti_isa_name(tutti_isa()));
    if (!add_units(text, size))
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory to read /proc/cpuinfo");
    if (limit && *limit) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, size - used, ", oneDNN up to %s", limit);
    }
    return TUTTI_OK;
}
