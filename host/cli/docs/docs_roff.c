/* docs_roff.c - the few macros of man(7) that pages are made of. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/docs/docs.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* One character of text; `first` of an output line, where a point or a quote would begin a request. */
static void put(char c, bool first)
{
    if (first && (c == '.' || c == '\''))
        (void)printf("\\&");
    if (c == '\\')
        (void)printf("\\e");
    else if (c == '-')
        (void)printf("\\-");
    else
        (void)putchar(c);
}

static void put_all(const char *text)
{
    for (const char *at = text; *at; at++)
        put(*at, at == text);
}

void roff_title(const char *name, int section, const char *what)
{
    (void)printf(".TH \"");
    for (const char *at = name; *at; at++)
        (void)putchar(toupper((unsigned char)*at));
    (void)printf("\" %d \"%s\" \"tutti %s\" \"Tutti\"\n.SH NAME\n", section, TUTTI_DATE,
                 TUTTI_VERSION);
    put_all(name);
    (void)printf(" \\- ");
    put_all(what);
    (void)printf("\n");
}

void roff_section(const char *name)
{
    (void)printf(".SH \"%s\"\n", name);
}

void roff_item(const char *name, const char *value)
{
    (void)printf(".TP\n\\fB");
    put_all(name);
    (void)printf("\\fR");
    if (value) {
        (void)printf(name[strlen(name) - 1] == '=' ? "\\fI" : " \\fI");
        put_all(value);
        (void)printf("\\fR");
    }
    (void)printf("\n");
}

void roff_text(const char *text)
{
    bool bold = false, first = true;
    for (const char *at = text; *at; at++) {
        if (*at == '`') {
            bold = !bold;
            (void)printf("%s", bold ? "\\fB" : "\\fR");
        } else if (*at == '\n')
            (void)printf("\n.PP\n");
        else if (*at == ' ' && (first || at[1] == ' '))
            continue;
        else
            put(*at, first);
        first = *at == '\n';
    }
    (void)printf("\n");
}

void roff_lines(const char *text)
{
    bool first = true;
    (void)printf(".nf\n");
    for (const char *at = text; *at; at++) {
        put(*at, first);
        first = *at == '\n';
    }
    (void)printf("\n.fi\n");
}
