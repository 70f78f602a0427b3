/* plugin.c - csv_log: writes every value as a line "step,name,value". */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/logger.h"
#include "tutti/tutti.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct csv {
    FILE *file;
} csv;

static tutti_status csv_log_open(const tutti_host *host, const tutti_params *params,
                                 void **ret_self, tutti_error *err)
{
    const char *path = tutti_param_str(params, "path");
    (void)host;
    csv *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "csv_log: no memory");
    c->file = fopen(path ? path : "", "ae");
    if (!c->file) {
        const tutti_status s = tutti_fail(err, TUTTI_E_IO, "csv_log: %s cannot be written: %s",
                                          path ? path : "the file", strerror(errno));
        free(c);
        return s;
    }
    *ret_self = c;
    return TUTTI_OK;
}

static tutti_status csv_log_close(void *self, tutti_error *err)
{
    csv *c = self;
    const int failed = fclose(c->file);
    free(c);
    return failed ? tutti_fail(err, TUTTI_E_IO, "csv_log: %s", strerror(errno)) : TUTTI_OK;
}

static tutti_status csv_log_metrics(void *self, const tutti_named_value *values, uint32_t n,
                                    uint64_t step, tutti_error *err)
{
    const csv *c = self;
    for (uint32_t k = 0; k < n; k++)
        if (fprintf(c->file, "%llu,%s,%.17g\n", (unsigned long long)step, values[k].name,
                    values[k].value) < 0)
            return tutti_fail(err, TUTTI_E_IO, "csv_log: %s", strerror(errno));
    return TUTTI_OK;
}

/* Calls that it does not care for are NULL. */
static const void *csv_log_query(void *self, const char *interface_id)
{
    static const tutti_logger_v1 logger = {.struct_size = sizeof logger,
                                           .metrics = csv_log_metrics};
    (void)self;
    return strcmp(interface_id, TUTTI_LOGGER_V1) == 0 ? &logger : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = csv_log_open,
                                  .close = csv_log_close,
                                  .query = csv_log_query};
static const tutti_object object = TUTTI_OBJECT_INIT("csv_log", TUTTI_KIND_LOGGER, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.example.csv_log", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
