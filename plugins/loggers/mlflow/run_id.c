/* run_id.c - a line with the id, which is replaced as a whole. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "run_id.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void run_id_read(const char *path, char *ret_id, size_t room)
{
    FILE *in = fopen(path, "re");
    ret_id[0] = '\0';
    if (!in)
        return;
    if (!fgets(ret_id, (int)room, in))
        ret_id[0] = '\0';
    ret_id[strcspn(ret_id, "\r\n")] = '\0';
    (void)fclose(in);
}

tutti_status run_id_write(const char *path, const char *id, tutti_error *err)
{
    char next[1024];
    (void)snprintf(next, sizeof next, "%s.tmp", path);
    FILE *out = fopen(next, "we");
    bool whole = out && fprintf(out, "%s\n", id) > 0;
    if (out && fclose(out) != 0)
        whole = false;
    if (!whole || rename(next, path) != 0)
        return tutti_fail(err, TUTTI_E_IO, "mlflow: cannot write %s: %s", path,
                          strerror(errno));
    return TUTTI_OK;
}
