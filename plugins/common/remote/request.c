/* request.c - one request by libcurl, signed for S3, and what came of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "remote_internal.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum { CONNECT_S = 10, PERMISSION_MS = 200, PARTIAL = 206, NO_RANGE = 416 };

typedef struct attempt {
    const remote *remote;
    const remote_request *request;
    remote_answer *answer;
    CURL *curl;
    uint64_t range;   /* where the server says that the body begins */
    bool begun, good; /* the body has; its status is 2xx */
    bool astray;      /* it begins elsewhere than was asked for */
    size_t sent;      /* bytes of the body */
    curl_off_t moved; /* bytes both ways when it was looked last */
    double moved_at;  /* seconds: when they had become so many */
    bool silent;      /* for too long */
    bool too_large;   /* why writing ended */
    int disk;
    char why[CURL_ERROR_SIZE];
} attempt;

/* The headers are there: whether the server goes on where the file ends, or begins it anew. */
static void begin_body(attempt *a)
{
    const remote_request *q = a->request;
    long status = 0;
    (void)curl_easy_getinfo(a->curl, CURLINFO_RESPONSE_CODE, &status);
    a->begun = true;
    a->good = status >= 200 && status < 300;
    if (!a->good || !q->file || !q->from)
        return;
    a->astray = status == PARTIAL && a->range != q->from;
    a->answer->from = status == PARTIAL && !a->astray ? q->from : 0;
    if (status != PARTIAL && (fflush(q->file) != 0 || fseeko(q->file, 0, SEEK_SET) != 0 ||
                              ftruncate(fileno(q->file), 0) != 0))
        a->disk = errno;
}

static size_t take_bytes(char *data, size_t one, size_t n, void *ctx)
{
    attempt *a = ctx;
    const remote_request *q = a->request;
    const uint64_t before = a->answer->size;
    (void)one;
    if (!a->begun)
        begin_body(a);
    if (a->astray || a->disk)
        return 0;
    a->answer->size += n;
    if (!q->file || !a->good) { /* what is beyond its room is left out */
        const size_t room = before < REMOTE_BODY - 1 ? REMOTE_BODY - 1 - (size_t)before : 0;
        memcpy(a->answer->body + before * (room > 0), data, n < room ? n : room);
        return n;
    }
    a->too_large = a->answer->from + a->answer->size > q->most;
    a->disk = !a->too_large && fwrite(data, 1, n, q->file) != n ? errno : 0;
    return a->too_large || a->disk ? 0 : n;
}

static size_t give_bytes(char *to, size_t one, size_t n, void *ctx)
{
    attempt *a = ctx;
    const size_t left = a->request->size - a->sent, now = one * n < left ? one * n : left;
    memcpy(to, (const char *)a->request->body + a->sent, now);
    a->sent += now;
    return now;
}

/* A connection that was kept too long is made anew, and the body sent from its beginning. */
static int seek_bytes(void *ctx, curl_off_t at, int from)
{
    ((attempt *)ctx)->sent = (size_t)at;
    return from == SEEK_SET ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

/* The header's value in `ret`; false: it is another header. */
static bool read_header(const char *data, size_t n, const char *name, char *ret, size_t room)
{
    const size_t skip = strlen(name);
    const char *at = data + skip, *end = data + n;
    if (n <= skip || strncasecmp(data, name, skip) != 0)
        return false;
    while (at < end && *at == ' ')
        at++;
    while (end > at && (end[-1] == '\r' || end[-1] == '\n' || end[-1] == ' '))
        end--;
    (void)snprintf(ret, room, "%.*s", (int)(end - at), at);
    return true;
}

static size_t take_header(char *data, size_t one, size_t n, void *ctx)
{
    attempt *a = ctx;
    char range[64] = "";
    if (n > 5 && memcmp(data, "HTTP/", 5) == 0) { /* behind a redirection */
        a->answer->etag[0] = '\0';
        a->range = 0;
    }
    if (!read_header(data, n, "ETag:", a->answer->etag, sizeof a->answer->etag) &&
        read_header(data, n, "Content-Range: bytes", range, sizeof range))
        a->range = strtoull(range, NULL, 10);
    return one * n;
}

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* libcurl asks at least once a second. */
static int must_end(void *ctx, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
                    curl_off_t up)
{
    attempt *a = ctx;
    (void)down_all, (void)up_all;
    if (down + up != a->moved) {
        a->moved = down + up;
        a->moved_at = now_s();
    }
    a->silent = now_s() - a->moved_at > a->remote->silence_s;
    return a->silent || remote_is_stopped(a->remote) ||
           (a->request->must_end && a->request->must_end(a->request->ctx));
}

/* Fails only for want of memory, or in a libcurl without the option, which are told by the request. */
#define SET(curl, option, value) (void)curl_easy_setopt(curl, option, value)

static void set_limits(CURL *curl, const remote *r)
{
    const long silence_s = (long)(r->silence_s + 0.999);
    const bool is_safe = strncmp(r->base, "https:", 6) == 0; /* and stays so */
    SET(curl, CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075500
    SET(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    SET(curl, CURLOPT_REDIR_PROTOCOLS_STR, is_safe ? "https" : "http,https");
#else
    SET(curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    SET(curl, CURLOPT_REDIR_PROTOCOLS, (long)(is_safe ? 0 : CURLPROTO_HTTP) | CURLPROTO_HTTPS);
#endif
    SET(curl, CURLOPT_CONNECTTIMEOUT, silence_s < CONNECT_S ? silence_s : (long)CONNECT_S);
    SET(curl, CURLOPT_FOLLOWLOCATION, 1L);
    SET(curl, CURLOPT_MAXREDIRS, 5L);
    SET(curl, CURLOPT_HTTP09_ALLOWED, 0L);
    SET(curl, CURLOPT_USERAGENT, "tutti");
}

/* "x-amz-content-sha256: ..." of the body. */
static void hash_header(const remote_request *q, char *to, size_t room)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    int at = snprintf(to, room, "x-amz-content-sha256: ");
    if (!EVP_Digest(q->body, q->size, digest, &n, EVP_sha256(), NULL))
        n = 0;
    for (unsigned k = 0; k < n; k++)
        at += snprintf(to + at, room - (size_t)at, "%02x", digest[k]);
}

static struct curl_slist *add_header(struct curl_slist *list, const char *header)
{
    struct curl_slist *longer = curl_slist_append(list, header);
    return longer ? longer : list;
}

/* Bodies of POST are XML. */
static struct curl_slist *set_headers(CURL *curl, const attempt *a)
{
    char hash[128];
    struct curl_slist *headers = NULL;
    if (a->request->size && strcmp(a->request->method, "POST") == 0)
        headers = add_header(headers, "Content-Type: application/xml");
    if (a->request->from && a->request->etag) {
        char only[REMOTE_ETAG + 16];
        (void)snprintf(only, sizeof only, "If-Range: %s", a->request->etag);
        headers = add_header(headers, only);
    }
    if (a->remote->signer[0]) {
        hash_header(a->request, hash, sizeof hash);
        headers = add_header(headers, hash);
        if (a->remote->token_header[0])
            headers = add_header(headers, a->remote->token_header);
#if LIBCURL_VERSION_NUM >= 0x074b00
        SET(curl, CURLOPT_AWS_SIGV4, a->remote->signer);
#endif
        SET(curl, CURLOPT_USERPWD, a->remote->credentials);
    }
    SET(curl, CURLOPT_HTTPHEADER, headers);
    return headers;
}

static void set_body(CURL *curl, attempt *a)
{
    const remote_request *q = a->request;
    if (strcmp(q->method, "HEAD") == 0) {
        SET(curl, CURLOPT_NOBODY, 1L);
    } else if (strcmp(q->method, "POST") == 0) {
        SET(curl, CURLOPT_POST, 1L);
        SET(curl, CURLOPT_POSTFIELDS, q->size ? q->body : "");
        SET(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->size);
    } else if (strcmp(q->method, "PUT") == 0) {
        SET(curl, CURLOPT_UPLOAD, 1L);
        /* A large body waits so long for permission.  "Expect:" among the headers, which would end that, is signed by
         * libcurl 7.88 and not sent. */
        SET(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, (long)PERMISSION_MS);
        SET(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)q->size);
        SET(curl, CURLOPT_READFUNCTION, give_bytes);
        SET(curl, CURLOPT_READDATA, a);
        SET(curl, CURLOPT_SEEKFUNCTION, seek_bytes);
        SET(curl, CURLOPT_SEEKDATA, a);
    } else if (strcmp(q->method, "GET") != 0) {
        SET(curl, CURLOPT_CUSTOMREQUEST, q->method);
    } else if (q->from) {
        char range[32]; /* libcurl copies it */
        (void)snprintf(range, sizeof range, "%" PRIu64 "-", q->from);
        SET(curl, CURLOPT_RANGE, range);
    }
}

static CURLcode run_attempt(attempt *a, const char *address)
{
    curl_off_t wait_s = 0, length = -1;
    CURL *curl = curl_easy_init();
    if (!curl)
        return CURLE_OUT_OF_MEMORY;
    a->curl = curl;
    set_limits(curl, a->remote);
    struct curl_slist *headers = set_headers(curl, a);
    set_body(curl, a);
    SET(curl, CURLOPT_URL, address);
    SET(curl, CURLOPT_ERRORBUFFER, a->why);
    SET(curl, CURLOPT_WRITEFUNCTION, take_bytes);
    SET(curl, CURLOPT_WRITEDATA, a);
    SET(curl, CURLOPT_HEADERFUNCTION, take_header);
    SET(curl, CURLOPT_HEADERDATA, a);
    SET(curl, CURLOPT_NOPROGRESS, 0L);
    SET(curl, CURLOPT_XFERINFOFUNCTION, must_end);
    SET(curl, CURLOPT_XFERINFODATA, a);
    const CURLcode code = curl_easy_perform(curl);
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &a->answer->status);
    (void)curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &wait_s);
    (void)curl_easy_getinfo(curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    a->answer->wait_s = wait_s;
    a->answer->length = length;
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return code;
}

/* ": NoSuchBucket" of S3's answers. */
static int reason_of(const remote_answer *answer, const char **ret_text)
{
    static const char begin[] = "<Code>";
    const char *at = strstr(answer->body, begin);
    *ret_text = at ? at + sizeof begin - 1 : "";
    return at ? (int)strcspn(*ret_text, "<\r\n") : 0;
}

/* TUTTI_OK, or a sentence. */
static tutti_status judge_attempt(attempt *a, CURLcode code, const char *address,
                                  tutti_error *err)
{
    remote_answer *answer = a->answer;
    const bool sends = a->request->size > 0;
    const bool refused = answer->status < 200 || answer->status > 299;
    if (code == CURLE_ABORTED_BY_CALLBACK && a->silent) {
        answer->again = true;
        return tutti_fail(err, TUTTI_E_IO, "%s: the server is silent for %g s", address,
                          a->remote->silence_s);
    }
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return tutti_fail(err, TUTTI_E_INTERRUPTED, "%s: not %s, it is being closed", address,
                          sends ? "sent" : "fetched");
    if (a->disk)
        return tutti_fail(err, TUTTI_E_IO, "%s: cannot be kept: %s", address,
                          strerror(a->disk));
    if (a->too_large) {
        answer->again = true;
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: has more than %llu bytes", address,
                          (unsigned long long)a->request->most);
    }
    if (a->astray) {
        answer->again = true;
        return tutti_fail(err, TUTTI_E_IO,
                          "%s: the server sends another part of it than was asked for",
                          address);
    }
    if (code == CURLE_OK && refused) {
        const char *why;
        const int n = reason_of(answer, &why);
        answer->again = answer->status >= 500 || answer->status == 408 ||
                        answer->status == 429 ||
                        (answer->status == NO_RANGE && a->request->from);
        return tutti_fail(err, answer->status == 404 ? TUTTI_E_NOTFOUND : TUTTI_E_IO,
                          "%s: the server answers with status %ld%s%.*s", address,
                          answer->status, n ? ": " : "", n, why);
    }
    if (code == CURLE_OK)
        return TUTTI_OK;
    answer->again = code != CURLE_OUT_OF_MEMORY && code != CURLE_URL_MALFORMAT &&
                    code != CURLE_UNSUPPORTED_PROTOCOL;
    return tutti_fail(err, TUTTI_E_IO, "%s: cannot be %s: %s", address,
                      sends ? "sent" : "fetched",
                      a->why[0] ? a->why : curl_easy_strerror(code));
}

tutti_status remote_send(remote *r, const remote_request *request, remote_answer *ret_answer,
                         tutti_error *err)
{
    char address[REMOTE_ADDRESS];
    attempt a = {.remote = r, .request = request, .answer = ret_answer, .moved_at = now_s()};
    *ret_answer = (remote_answer){.length = -1};
    const tutti_status s = remote_address(r, request->name, request->query, address, err);
    if (s)
        return s;
    const CURLcode code = run_attempt(&a, address);
    char *query = strchr(address, '?'); /* says nothing to a reader */
    if (query)
        *query = '\0';
    return judge_attempt(&a, code, address, err);
}
