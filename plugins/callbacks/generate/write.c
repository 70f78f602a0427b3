/* write.c - cuts a text into lines that any logger can take. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "write.h"

#include "../../common/utf8.h"

#include <stdlib.h>
#include <string.h>

static void generate_send(const tutti_log_v1 *log, char *line, uint64_t used)
{
    line[used] = '\0';
    log->write(log->ctx, TUTTI_LOG_INFO, line);
}

tutti_status write_lines(const tutti_log_v1 *log, const char *text, uint64_t size,
                         tutti_error *err)
{
    static const char mark[] = "| ", unknown[] = "\xef\xbf\xbd";
    char *line = malloc(3 * size + sizeof mark); /* a byte becomes three at most */
    if (!line)
        return tutti_fail(err, TUTTI_E_NOMEM, "generate: no memory for a text");
    memcpy(line, mark, sizeof mark);
    uint64_t used = sizeof mark - 1;
    for (uint64_t at = 0, n; at < size; at += n) {
        uint32_t code = 0;
        n = utf8_read(text + at, size - at, &code);
        const int good = n > 0 && code != 0x7f && (code >= 0x20 || code == '\t');
        n = n ? n : 1;
        if (code == '\n') {
            generate_send(log, line, used);
            used = sizeof mark - 1;
            continue;
        }
        const uint64_t bytes = good ? n : sizeof unknown - 1;
        memcpy(line + used, good ? text + at : unknown, bytes);
        used += bytes;
    }
    generate_send(log, line, used);
    free(line);
    return TUTTI_OK;
}
