/* system.c - the machine as /proc and uname tell of it, as JSON. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "system.h"
#include "mllog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* The text behind "key\t: " in a line of /proc/cpuinfo, or NULL. */
static const char *system_behind(const char *line, const char *key)
{
    const size_t n = strlen(key);
    const char *colon = strncmp(line, key, n) == 0 ? strchr(line + n, ':') : NULL;
    return colon && (line[n] == '\t' || line[n] == ' ' || line[n] == ':') ? colon + 2 : NULL;
}

static void read_cpuinfo(system_facts *f)
{
    char line[1024];
    int64_t sockets = 0, cores = 0;
    const char *text;
    FILE *in = fopen("/proc/cpuinfo", "re");
    while (in && fgets(line, sizeof line, in)) {
        line[strcspn(line, "\n")] = '\0';
        if ((text = system_behind(line, "model name")) != NULL)
            (void)snprintf(f->processor, sizeof f->processor, "%s", text);
        else if ((text = system_behind(line, "physical id")) != NULL)
            sockets = atoll(text) + 1 > sockets ? atoll(text) + 1 : sockets;
        else if ((text = system_behind(line, "cpu cores")) != NULL)
            cores = atoll(text);
    }
    if (in)
        (void)fclose(in);
    f->cores = sockets * cores;
}

void system_look(system_facts *f, const char *name)
{
    (void)snprintf(f->processor, sizeof f->processor, "CPU");
    f->cores = 0;
    read_cpuinfo(f);
    if (name) {
        (void)snprintf(f->name, sizeof f->name, "%s", name);
        return;
    }
    (void)snprintf(f->name, sizeof f->name, "%lldx%s_tutti", (long long)f->processes,
                   strcmp(f->device, "cpu") == 0 ? f->processor : f->device);
    for (char *c = f->name; *c; c++)
        *c = *c == ' ' || *c == '/' ? '_' : *c;
}

static const char *system_count(int64_t n, char text[32])
{
    text[0] = '\0';
    if (n)
        (void)snprintf(text, 32, "%lld", (long long)n);
    return text;
}

typedef struct field {
    const char *key;
    const char *value;
    bool is_json;
} field;

static void write_fields(FILE *out, const field *fields, size_t n)
{
    char text[512];
    for (size_t k = 0; k < n; k++)
        (void)fprintf(out, "    \"%s\": %s%s\n", fields[k].key,
                      fields[k].is_json ? fields[k].value
                                        : mllog_text(fields[k].value, text, sizeof text),
                      k + 1 < n ? "," : "");
}

static void write_description(FILE *out, const system_facts *f)
{
    struct utsname u;
    char os[160] = "", cores[32], processors[32], accelerators[32];
    const int gpu = strcmp(f->device, "cpu") != 0;
    if (uname(&u) == 0)
        (void)snprintf(os, sizeof os, "%s %s", u.sysname, u.release);
    const field fields[] = {
        {"submitter", f->submitter, false},
        {"division", f->division, false},
        {"status", f->status, false},
        {"number_of_nodes", "1.0", true},
        {"host_processors_per_node", system_count(f->processors, processors), false},
        {"host_processor_model_name", f->processor, false},
        {"host_processor_core_count", system_count(f->cores, cores), false},
        {"host_processor_vcpu_count", "", false},
        {"host_processor_frequency", "", false},
        {"host_processor_caches", "", false},
        {"host_processor_interconnect", "", false},
        {"host_memory_capacity", "", false},
        {"host_storage_type", "", false},
        {"host_storage_capacity", "", false},
        {"host_networking", "", false},
        {"host_networking_topology", "", false},
        {"host_memory_configuration", "", false},
        {"accelerators_per_node", gpu ? system_count(f->processes, accelerators) : "0", false},
        {"accelerator_model_name", gpu ? f->device : "", false},
        {"accelerator_host_interconnect", "", false},
        {"accelerator_frequency", "", false},
        {"accelerator_on-chip_memories", "", false},
        {"accelerator_memory_configuration", "", false},
        {"accelerator_memory_capacity", "", false},
        {"accelerator_interconnect", "", false},
        {"accelerator_interconnect_topology", "", false},
        {"cooling", "", false},
        {"hw_notes", "", false},
        {"framework", "Tutti", false},
        {"operating_system", os, false},
        {"sw_notes", "", false},
        {"system_name", f->name, false}};
    (void)fputs("{\n", out);
    write_fields(out, fields, sizeof fields / sizeof *fields);
    (void)fputs("}\n", out);
}

tutti_status system_write(const system_facts *f, const char *path, tutti_error *err)
{
    FILE *out = fopen(path, "we");
    if (!out)
        return tutti_fail(err, TUTTI_E_IO, "mlperf: cannot write %s: %s", path,
                          strerror(errno));
    write_description(out, f);
    const int failed = ferror(out);
    if (fclose(out) != 0 || failed)
        return tutti_fail(err, TUTTI_E_IO, "mlperf: cannot write %s: %s", path,
                          strerror(errno));
    return TUTTI_OK;
}
