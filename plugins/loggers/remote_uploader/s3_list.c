/* s3_list.c - the names in a bucket's folder, page by page. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1
#include "place.h"

#include <stdlib.h>
#include <string.h>

enum { QUERY = 8192, TEXT = 5 * JOB_NAME, PAGE = 8 << 20, MOST_PAGES = 1000 };

/* Adds `text` with all but letters, digits and "-._~" escaped. */
static void add_escaped(char *to, size_t room, const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    size_t n = strlen(to);
    for (; *text && n + 4 < room; text++)
        n += (size_t)snprintf(to + n, room - n, strchr(plain, *text) ? "%c" : "%%%02X",
                              (unsigned char)*text);
}

/* The five entities of XML become what they stand for. */
static void unescape_text(char *text)
{
    static const char *const words[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"};
    static const char marks[] = "&<>\"'";
    char *to = text;
    for (const char *c = text; *c;) {
        size_t k = 0;
        while (k < 5 && strncmp(c, words[k], strlen(words[k])) != 0)
            k++;
        *to++ = k < 5 ? marks[k] : *c;
        c += k < 5 ? strlen(words[k]) : 1;
    }
    *to = '\0';
}

/* The text of the next <word>text</word> from *at on; false: no more. */
static bool next_element(const char **at, const char *word, char *ret, size_t room)
{
    char begin[64], end[64];
    (void)snprintf(begin, sizeof begin, "<%s>", word);
    (void)snprintf(end, sizeof end, "</%s>", word);
    const char *from = strstr(*at, begin);
    const char *to = from ? strstr(from, end) : NULL;
    if (!to)
        return false;
    *at = to;
    from += strlen(begin);
    (void)snprintf(ret, room, "%.*s", (int)(to - from), from);
    unescape_text(ret);
    return true;
}

/* A whole answer in memory; the caller frees it. */
static tutti_status get_page(const place *p, const char *query, char **ret_page,
                             tutti_error *err)
{
    size_t size = 0;
    remote_answer answer;
    tutti_error why = TUTTI_ERROR_INIT;
    *ret_page = NULL;
    FILE *out = open_memstream(ret_page, &size);
    if (!out)
        return tutti_fail(err, TUTTI_E_NOMEM, "remote_uploader: no memory");
    const remote_request request = {.method = "GET",
                                    .name = "",
                                    .query = query,
                                    .file = out,
                                    .most = PAGE,
                                    .must_end = p->must_end,
                                    .ctx = p->ctx};
    tutti_status s = remote_send(p->bucket, &request, &answer, &why);
    if (fclose(out) != 0 && !s)
        s = tutti_fail(&why, TUTTI_E_NOMEM, "no memory");
    if (!s && !strstr(*ret_page, "ListBucketResult"))
        s = tutti_fail(&why, TUTTI_E_IO, "the server sends no list of the bucket");
    return s ? tutti_fail(err, s, "remote_uploader: %s", why.text) : TUTTI_OK;
}

tutti_status s3_list(const place *p, const tutti_listing *what, tutti_error *err)
{
    char query[QUERY], token[TEXT] = "", folder[REMOTE_ADDRESS];
    tutti_status s = TUTTI_OK;
    bool more = true;
    (void)snprintf(folder, sizeof folder, "%s", p->head);
    for (size_t n = strlen(folder); n > 0 && folder[n - 1] == '/'; n--)
        folder[n - 1] = '\0';
    const size_t skip = *folder ? strlen(folder) + 1 : 0;
    for (int k = 0; more && !s && k < MOST_PAGES; k++) {
        char *page = NULL, name[TEXT];
        query[0] = '\0'; /* in the order of names, as it is signed */
        if (*token) {
            (void)strcpy(query, "continuation-token=");
            add_escaped(query, sizeof query, token);
            (void)strcat(query, "&");
        }
        (void)strcat(query, "delimiter=%2F&list-type=2&prefix=");
        add_escaped(query, sizeof query, folder);
        add_escaped(query, sizeof query, *folder ? "/" : "");
        add_escaped(query, sizeof query, what->prefix);
        s = get_page(p, query, &page, err);
        const char *at = page, *tail = page;
        more = !s && next_element(&tail, "NextContinuationToken", token, sizeof token);
        while (!s && next_element(&at, "Key", name, sizeof name))
            if (strlen(name) > skip)
                s = what->each(what->asker, name + skip, err);
        free(page);
    }
    return s;
}
