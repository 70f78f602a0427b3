/* job.c - the two files of a job. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"
#include "../../common/whole_io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static tutti_status fail_io(const char *what, const char *path, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_IO, "remote_uploader: cannot %s %s: %s", what, path,
                      strerror(errno));
}

static void job_path(char to[JOB_PATH], const char *folder, uint64_t number, const char *end)
{
    (void)snprintf(to, JOB_PATH, "%s/%010" PRIu64 ".%s", folder, number, end);
}

/* ---- making one ---- */

/* The first `size` bytes, where the file system has no link to the file. */
static tutti_status copy_file(int from, const char *to, uint64_t size, tutti_error *err)
{
    const size_t room = 1 << 20;
    char *part = malloc(room);
    const int fd = part ? open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    tutti_status s = fd >= 0 ? TUTTI_OK
                     : part  ? fail_io("make", to, err)
                             : tutti_fail(err, TUTTI_E_NOMEM, "remote_uploader: no memory");
    for (uint64_t at = 0; !s && at < size;) {
        const size_t some = size - at < room ? size - at : room;
        if (whole_read(from, part, some, (int64_t)at) != some ||
            whole_write(fd, part, some, -1) != some)
            s = fail_io("copy to", to, err);
        at += some;
    }
    if (fd >= 0 && close(fd) != 0 && !s)
        s = fail_io("copy to", to, err);
    free(part);
    return s;
}

static tutti_status take_file(const char *path, const char *data, uint64_t *ret_size,
                              tutti_error *err)
{
    struct stat st = {0};
    tutti_status s = TUTTI_OK;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0)
        s = fail_io("read", path, err);
    else if (!S_ISREG(st.st_mode))
        s = tutti_fail(err, TUTTI_E_ARG, "remote_uploader: %s is no regular file", path);
    else if (linkat(AT_FDCWD, path, AT_FDCWD, data, AT_SYMLINK_FOLLOW) != 0)
        s = copy_file(fd, data, (uint64_t)st.st_size, err);
    if (!s)
        *ret_size = (uint64_t)st.st_size;
    if (fd >= 0)
        (void)close(fd);
    return s;
}

tutti_status job_make(const char *folder, uint64_t number, const char *name, const char *path,
                      bool overwrite, tutti_error *err)
{
    char data[JOB_PATH], file[JOB_PATH], part[JOB_PATH];
    uint64_t size = 0;
    job_path(data, folder, number, "data");
    job_path(file, folder, number, "job");
    job_path(part, folder, number, "tmp");
    if (!*name || strpbrk(name, "\r\n") || strlen(name) >= JOB_NAME)
        return tutti_fail(err, TUTTI_E_ARG,
                          "remote_uploader: the remote name of %s is empty, has a line break "
                          "or more than %d bytes",
                          path, JOB_NAME - 1);
    (void)unlink(data);
    tutti_status s = take_file(path, data, &size, err);
    FILE *out = s ? NULL : fopen(part, "wxe");
    if (!s && !out)
        s = fail_io("make", part, err);
    if (out) {
        (void)fprintf(out, "name %s\nsize %" PRIu64 "\noverwrite %d\n", name, size, overwrite);
        const bool bad = fflush(out) != 0 || fsync(fileno(out)) != 0;
        if (fclose(out) != 0 || bad || rename(part, file) != 0)
            s = fail_io("write", file, err);
    }
    if (s) {
        (void)unlink(part);
        (void)unlink(data);
    }
    return s;
}

/* ---- reading one ---- */

static tutti_status keep_etag(job *j, uint32_t k, const char *etag, tutti_error *err)
{
    if (!j->etags)
        j->etags = calloc(JOB_PARTS, sizeof *j->etags);
    if (!j->etags)
        return tutti_fail(err, TUTTI_E_NOMEM, "remote_uploader: no memory");
    (void)snprintf(j->etags[k], sizeof j->etags[k], "%s", etag);
    return TUTTI_OK;
}

static void drop_upload(job *j)
{
    j->upload[0] = '\0';
    free(j->etags);
    j->etags = NULL;
}

/* One line: a word and its value. */
static tutti_status take_line(job *j, const char *word, const char *value, tutti_error *err)
{
    char *end;
    if (strcmp(word, "name") == 0)
        (void)snprintf(j->name, sizeof j->name, "%s", value);
    else if (strcmp(word, "size") == 0)
        j->size = strtoull(value, NULL, 10);
    else if (strcmp(word, "overwrite") == 0)
        j->overwrite = *value == '1';
    else if (strcmp(word, "begun") == 0)
        j->begun = true;
    else if (strcmp(word, "upload") == 0) {
        drop_upload(j);
        j->part = strtoull(value, &end, 10);
        if (j->part && *end == ' ')
            (void)snprintf(j->upload, sizeof j->upload, "%s", end + 1);
    } else if (strcmp(word, "part") == 0) {
        const uint64_t k = strtoull(value, &end, 10);
        if (k < JOB_PARTS && *end == ' ')
            return keep_etag(j, (uint32_t)k, end + 1, err);
    }
    return TUTTI_OK;
}

/* A line that a kill has cut ends without its newline, and does not count. */
static tutti_status read_lines(job *j, FILE *in, tutti_error *err)
{
    char line[JOB_NAME + 64];
    tutti_status s = TUTTI_OK;
    while (!s && fgets(line, sizeof line, in)) {
        char *end = strchr(line, '\n'), *value = strchr(line, ' ');
        if (!end || !value)
            continue;
        *end = *value = '\0';
        s = take_line(j, line, value + 1, err);
    }
    if (!s && !*j->name)
        s = tutti_fail(err, TUTTI_E_ARG, "remote_uploader: %s names no file", j->file);
    return s;
}

tutti_status job_open(job *j, const char *folder, uint64_t number, bool *ret_there,
                      tutti_error *err)
{
    *j = (job){0};
    job_path(j->file, folder, number, "job");
    job_path(j->data, folder, number, "data");
    FILE *in = fopen(j->file, "re");
    *ret_there = in != NULL;
    if (!in)
        return errno == ENOENT ? TUTTI_OK : fail_io("read", j->file, err);
    const tutti_status s = read_lines(j, in, err);
    (void)fclose(in);
    if (s)
        job_close(j);
    return s;
}

void job_close(job *j)
{
    free(j->etags);
    j->etags = NULL;
}

/* Without its .job there is no job, so that goes first. */
void job_remove(const job *j)
{
    (void)unlink(j->file);
    (void)unlink(j->data);
}

void job_remove_number(const char *folder, uint64_t number)
{
    job j;
    job_path(j.file, folder, number, "job");
    job_path(j.data, folder, number, "data");
    job_remove(&j);
}

/* ---- what has become of it ---- */

static void add_line(const job *j, const char *line)
{
    FILE *out = fopen(j->file, "r+e"); /* one that is gone is not made again */
    if (!out)
        return;
    /* A kill may have left half a line. */
    const bool whole = fseek(out, -1, SEEK_END) != 0 || getc(out) == '\n';
    (void)fseek(out, 0, SEEK_END);
    (void)fprintf(out, "%s%s\n", whole ? "" : "\n", line);
    (void)fclose(out);
}

void job_note_begun(job *j)
{
    if (!j->begun)
        add_line(j, "begun 1");
    j->begun = true;
}

void job_note_upload(job *j, const char *upload, uint64_t part)
{
    char line[JOB_UPLOAD + 64];
    drop_upload(j);
    j->part = part;
    (void)snprintf(j->upload, sizeof j->upload, "%s", upload);
    (void)snprintf(line, sizeof line, "upload %" PRIu64 " %s", part, upload);
    add_line(j, line);
}

tutti_status job_note_part(job *j, uint32_t k, const char *etag, tutti_error *err)
{
    const tutti_status s = keep_etag(j, k, etag, err);
    char line[JOB_ETAG + 64];
    (void)snprintf(line, sizeof line, "part %u %s", k, etag);
    if (!s)
        add_line(j, line);
    return s;
}

void job_forget_upload(job *j)
{
    drop_upload(j);
    add_line(j, "upload 0");
}

/* ---- the folder ---- */

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The number of NUMBER.END; false: it is no such name. */
static bool read_name(const char *text, const char *end, uint64_t *ret_number)
{
    char *rest;
    *ret_number = strtoull(text, &rest, 10);
    return rest - text == 10 && *rest == '.' && strcmp(rest + 1, end) == 0;
}

/* Without a .job: a kill came before it. */
static void remove_half(const char *folder, const char *name)
{
    char path[JOB_PATH], file[JOB_PATH];
    uint64_t number;
    const bool is_data = read_name(name, "data", &number);
    if (!is_data && !read_name(name, "tmp", &number))
        return;
    job_path(file, folder, number, "job");
    job_path(path, folder, number, is_data ? "data" : "tmp");
    if (!is_data || access(file, F_OK) != 0)
        (void)unlink(path);
}

tutti_status job_list(const char *folder, void (*each)(void *ctx, uint64_t number), void *ctx,
                      tutti_error *err)
{
    uint64_t *numbers = NULL, number;
    size_t n = 0, room = 0;
    DIR *dir = opendir(folder);
    if (!dir)
        return errno == ENOENT ? TUTTI_OK : fail_io("read", folder, err);
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        remove_half(folder, e->d_name);
        if (!read_name(e->d_name, "job", &number))
            continue;
        if (n == room) {
            uint64_t *grown = realloc(numbers, (2 * room + 64) * sizeof *numbers);
            if (!grown)
                break;
            numbers = grown;
            room = 2 * room + 64;
        }
        numbers[n++] = number;
    }
    (void)closedir(dir);
    if (n)
        qsort(numbers, n, sizeof *numbers, by_number);
    for (size_t k = 0; k < n; k++)
        each(ctx, numbers[k]);
    free(numbers);
    return TUTTI_OK;
}
