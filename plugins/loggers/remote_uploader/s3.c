/* s3.c - a file goes to a bucket: whole, or in parts of which those that have arrived are not sent again. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1
#include "../../common/whole_io.h"
#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOT_FOUND = 404, QUERY = 2048 };

/* One request of a job.  *ret_answer says how it went. */
static tutti_status s3_request(const place *p, const job *j, const char *method,
                               const char *query, const void *body, size_t size,
                               remote_answer *ret_answer, tutti_error *err)
{
    tutti_error why = TUTTI_ERROR_INIT;
    const remote_request request = {.method = method,
                                    .name = j->name,
                                    .query = query,
                                    .body = body,
                                    .size = size,
                                    .must_end = p->must_end,
                                    .ctx = p->ctx};
    const tutti_status s = remote_send(p->remote, &request, ret_answer, &why);
    if (!s)
        return TUTTI_OK;
    if (ret_answer->again && ret_answer->wait_s > 0)
        p->wait(p->ctx, ret_answer->wait_s);
    /* Who may do it, and whether the bucket is there, may change; what else the server refuses does not. */
    const long status = ret_answer->status;
    const bool for_good =
        s == TUTTI_E_ARG || (status >= 400 && status < 500 && !ret_answer->again &&
                             status != 401 && status != 403 && status != NOT_FOUND);
    return tutti_fail(err,
                      for_good                   ? TUTTI_E_ARG
                      : s == TUTTI_E_INTERRUPTED ? s
                                                 : TUTTI_E_IO,
                      "remote_uploader: %s", why.text);
}

static tutti_status read_part(const job *j, uint64_t at, size_t size, void **ret_data,
                              tutti_error *err)
{
    char *data = malloc(size ? size : 1);
    const int fd = data ? open(j->data, O_RDONLY | O_CLOEXEC) : -1;
    const size_t have = fd >= 0 ? whole_read(fd, data, size, (int64_t)at) : 0;
    if (fd >= 0)
        (void)close(fd);
    if (fd >= 0 && have == size) {
        *ret_data = data;
        return TUTTI_OK;
    }
    const bool lacks = !data;
    free(data);
    *ret_data = NULL;
    return lacks ? tutti_fail(err, TUTTI_E_NOMEM, "remote_uploader: no memory for a part")
                 : tutti_fail(err, TUTTI_E_ARG,
                              "remote_uploader: %s cannot be read, or was cut", j->data);
}

/* A name that is taken is left alone, unless this job took it before it was stopped. */
static tutti_status check_name(const place *p, job *j, bool *ret_done, tutti_error *err)
{
    remote_answer answer;
    tutti_error why = TUTTI_ERROR_INIT;
    const tutti_status s = s3_request(p, j, "HEAD", NULL, NULL, 0, &answer, &why);
    if (s && answer.status != NOT_FOUND)
        return tutti_fail(err, s, "%s", why.text);
    *ret_done = !s && j->begun && answer.length == (int64_t)j->size;
    if (s || *ret_done)
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_EXISTS, "remote_uploader: %s is there already", j->name);
}

static tutti_status put_whole(const place *p, job *j, tutti_error *err)
{
    void *data = NULL;
    remote_answer answer;
    tutti_status s = read_part(j, 0, (size_t)j->size, &data, err);
    if (s)
        return s;
    s = s3_request(p, j, "PUT", NULL, data, (size_t)j->size, &answer, err);
    free(data);
    return s;
}

/* ---- parts ---- */

/* "partNumber=2&uploadId=..." */
static const char *part_query(const job *j, uint32_t number, char *to)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    int n = number ? snprintf(to, QUERY, "partNumber=%u&", number) : 0;
    n += snprintf(to + n, QUERY - (size_t)n, "uploadId=");
    for (const char *c = j->upload; *c; c++)
        n += snprintf(to + n, QUERY - (size_t)n, strchr(plain, *c) ? "%c" : "%%%02X",
                      (unsigned char)*c);
    return to;
}

static tutti_status begin_parts(const place *p, job *j, tutti_error *err)
{
    static const char begin[] = "<UploadId>";
    remote_answer answer;
    const uint64_t least = (j->size + JOB_PARTS - 1) / JOB_PARTS;
    const tutti_status s = s3_request(p, j, "POST", "uploads=", NULL, 0, &answer, err);
    if (s)
        return s;
    char *id = strstr(answer.body, begin);
    id = id ? id + sizeof begin - 1 : NULL;
    const size_t n = id ? strcspn(id, "<\r\n") : 0;
    if (!n || n >= JOB_UPLOAD)
        return tutti_fail(err, TUTTI_E_IO,
                          "remote_uploader: %s: the server begins no upload of parts", j->name);
    id[n] = '\0';
    job_note_upload(j, id, p->part > least ? p->part : least);
    return TUTTI_OK;
}

static tutti_status send_part(const place *p, job *j, uint32_t k, tutti_error *err)
{
    char query[QUERY];
    void *data = NULL;
    remote_answer answer;
    const uint64_t at = k * j->part, left = j->size - at;
    const size_t size = (size_t)(left < j->part ? left : j->part);
    tutti_status s = read_part(j, at, size, &data, err);
    if (s)
        return s;
    s = s3_request(p, j, "PUT", part_query(j, k + 1, query), data, size, &answer, err);
    free(data);
    if (answer.status == NOT_FOUND && strstr(answer.body, "NoSuchUpload"))
        job_forget_upload(j);
    if (!s && (!answer.etag[0] || strpbrk(answer.etag, "<&")))
        s = tutti_fail(err, TUTTI_E_IO, "remote_uploader: %s: the server gives part %u no ETag",
                       j->name, k + 1);
    return s ? s : job_note_part(j, k, answer.etag, err);
}

static tutti_status end_parts(const place *p, job *j, uint32_t parts, tutti_error *err)
{
    char query[QUERY], *text = NULL;
    size_t size = 0;
    remote_answer answer;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tutti_fail(err, TUTTI_E_NOMEM, "remote_uploader: no memory");
    (void)fprintf(out, "<CompleteMultipartUpload>");
    for (uint32_t k = 0; k < parts; k++)
        (void)fprintf(out, "<Part><PartNumber>%u</PartNumber><ETag>%s</ETag></Part>", k + 1,
                      j->etags[k]);
    (void)fprintf(out, "</CompleteMultipartUpload>");
    if (fclose(out) != 0) {
        free(text);
        return tutti_fail(err, TUTTI_E_NOMEM, "remote_uploader: no memory");
    }
    tutti_status s =
        s3_request(p, j, "POST", part_query(j, 0, query), text, size, &answer, err);
    free(text);
    /* What goes wrong while the parts are joined comes behind a status of 200. */
    if (!s && strstr(answer.body, "<Error>"))
        s = tutti_fail(err, TUTTI_E_IO, "remote_uploader: %s: the server cannot join its parts",
                       j->name);
    /* The server knows no such upload, or not these parts: all of it is sent again. */
    if (s && s != TUTTI_E_INTERRUPTED && answer.status >= 400 && answer.status < 500 &&
        !answer.again && answer.status != 401 && answer.status != 403) {
        job_forget_upload(j);
        s = TUTTI_E_IO;
    }
    return s;
}

static tutti_status put_parts(const place *p, job *j, tutti_error *err)
{
    tutti_status s = j->upload[0] ? TUTTI_OK : begin_parts(p, j, err);
    const uint32_t parts = s ? 0 : (uint32_t)((j->size + j->part - 1) / j->part);
    if (parts > JOB_PARTS)
        return tutti_fail(err, TUTTI_E_ARG, "remote_uploader: %s has %u parts", j->name, parts);
    for (uint32_t k = 0; k < parts && !s; k++)
        if (!j->etags || !j->etags[k][0])
            s = send_part(p, j, k, err);
    return s ? s : end_parts(p, j, parts, err);
}

tutti_status s3_put(const place *p, job *j, tutti_error *err)
{
    bool done = false;
    const tutti_status s = j->overwrite ? TUTTI_OK : check_name(p, j, &done, err);
    if (s || done)
        return s;
    job_note_begun(j);
    return j->size > p->part ? put_parts(p, j, err) : put_whole(p, j, err);
}
