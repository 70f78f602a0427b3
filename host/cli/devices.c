/* devices.c - what a backend says of its devices, for tutti plugins info. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "device/backend.h"
#include "graph/runtime/host_memory.h"

#include <stdio.h>

static void print_device(const tutti_device *d, uint32_t index)
{
    uint64_t unused = 0, total = 0;
    char a[32], b[32];
    tutti_error err = TUTTI_ERROR_INIT;
    (void)printf("  %u: %s", index, d->info.name);
    if (d->table->memory(d->device, &unused, &total, &err) == TUTTI_OK)
        (void)printf(", %s of %s free", bytes_text(unused, a, sizeof a),
                     bytes_text(total, b, sizeof b));
    if (*d->info.kernels)
        (void)printf(", kernels %s", d->info.kernels);
    (void)printf(", memory %s", tutti_device_is_host(d) ? "of the host" : "of its own");
    if (d->info.flags & TUTTI_DEVICE_STEPS)
        (void)printf(", works in steps");
    else if (d->info.flags & TUTTI_DEVICE_ASYNC)
        (void)printf(", asynchronous");
    (void)printf("\n");
}

static bool print_index(const object *o, const char *name, uint32_t index, tutti_error *err)
{
    faults *f = faults_create();
    tutti_params *params = o && f ? params_from_json(o, NULL, NULL, ".", f) : NULL;
    backend b;
    tutti_status s = TUTTI_E_ARG;
    if (!f || (o && !params))
        (void)tutti_fail(err, s, "%s",
                         f && faults_count(f) ? faults_text(f, 0) : "out of memory");
    else
        s = backend_open(o, name, &params, index, NULL, NULL, &b, err);
    if (!s) {
        print_device(&b.device, index);
        backend_close(&b);
    }
    params_free(params);
    faults_destroy(f);
    return !s;
}

void cli_print_devices(const object *o, const char *name)
{
    tutti_error err = TUTTI_ERROR_INIT;
    uint32_t index = 0;
    (void)printf("devices:\n");
    while (print_index(o, name, index, &err))
        index++;
    if (err.status != TUTTI_E_RANGE || !index)
        (void)printf("  %s\n", err.text);
}
