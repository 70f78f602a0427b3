/* report_page.c - the parts of a report, put together as one page. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report.h"

#include <stdio.h>
#include <string.h>

/* A script must not end the element that it lies in, nor name a map of its sources that is elsewhere. */
static void add_script(text_buffer *b, const char *script)
{
    static const char end[] = "</script", map[] = "//# sourceMappingURL=";
    while (*script) {
        const char *tag = strstr(script, end), *comment = strstr(script, map);
        const char *next = !tag || (comment && comment < tag) ? comment : tag;
        if (!next) {
            text_add_bytes(b, script, strlen(script));
            return;
        }
        text_add_bytes(b, script, (size_t)(next - script));
        if (next == comment)
            script = next + strcspn(next, "\n");
        else {
            text_add(b, "<\\/script");
            script = next + sizeof end - 1;
        }
    }
}

tutti_status report_page(text_buffer *b, const report_parts *parts, const char *data,
                         uint64_t number, tutti_error *err)
{
    char after[64] = "";
    if (parts->live)
        (void)snprintf(after, sizeof after, "const liveAfter = %llu;",
                       (unsigned long long)number);
    const struct {
        const char *mark, *text, *more;
        bool script;
    } all[] = {{"{{CONNECT}}", parts->live ? "; connect-src 'self'" : "", "", false},
               {"{{STYLE}}", parts->style, "", false},
               {"{{DATA}}", data, "", false},
               {"{{LIBRARY}}", parts->library, "", true},
               {"{{SCRIPT}}", parts->script, "", true},
               {"{{LIVE}}", after, parts->live ? parts->live : "", true}};
    const char *rest = parts->page;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        const char *at = strstr(rest, all[k].mark);
        if (!at)
            return tutti_fail(err, TUTTI_E_FORMAT, "the page of reports has no %s",
                              all[k].mark);
        text_add_bytes(b, rest, (size_t)(at - rest));
        if (all[k].script) {
            add_script(b, all[k].text);
            add_script(b, all[k].more);
        } else
            text_add_bytes(b, all[k].text, strlen(all[k].text));
        rest = at + strlen(all[k].mark);
    }
    text_add_bytes(b, rest, strlen(rest));
    return b->failed ? tutti_fail(err, TUTTI_E_NOMEM, "no memory for a report") : TUTTI_OK;
}
