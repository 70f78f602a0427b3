/* io_faults.c - a library to preload that sees every system call on files, lets one fail, or records what is written.
 *
 * A filter of the kernel (seccomp) turns the calls into SIGSYS, whichever part of the C library makes them; the
 * handler makes them itself, or answers for them.  Calls on /proc, /sys, /dev and what the system owns do not
 * count, unless the path lies below the folder in which the process was started.  The others are counted from 1,
 * over all threads.  TUTTI_FAULTS says what happens:
 *   "list"              FILE gets a line of each: number, name, path
 *   "one N E"           call N fails with errno E
 *   "some N E K"        call N and the next K - 1 of the same name fail so
 *   "from N E"          call N and all later ones that write, or make or change names, fail so
 *   "each E NAME PART"  all calls of that name on paths that have PART in them fail with errno E
 *   "short N"           call N reads or writes half of what it should
 *   "record"            FILE gets what changes files: "name inode offset size path [path]\n", then `size` bytes; a call
 *                       that it has no words for ends the process with status 98
 * TUTTI_FAULTS_FILE is FILE; of failures it gets the lines. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef __x86_64__
#error "the filter and the handler know the registers of x86-64 alone"
#endif

enum { PATH = 512, PARTS = 1000 /* of a writev that is recorded */ };

/* fd: the argument that is a descriptor, or -1.  path, to: those that are paths, or -1; `at` is the folder of
 * `path`.  change: files or names. */
typedef struct call {
    long number;
    const char *name;
    int fd, path, to;
    bool change;
} call;
static const call calls[] = {
    {SYS_open, "open", -1, 0, -1, false},
    {SYS_openat, "open", -1, 1, -1, false},
    {SYS_openat2, "open", -1, 1, -1, false},
    {SYS_creat, "open", -1, 0, -1, false},
    {SYS_read, "read", 0, -1, -1, false},
    {SYS_pread64, "read", 0, -1, -1, false},
    {SYS_readv, "readv", 0, -1, -1, false},
    {SYS_preadv, "readv", 0, -1, -1, false},
    {SYS_preadv2, "readv", 0, -1, -1, false},
    {SYS_write, "write", 0, -1, -1, true},
    {SYS_pwrite64, "pwrite", 0, -1, -1, true},
    {SYS_writev, "writev", 0, -1, -1, true},
    {SYS_pwritev, "pwritev", 0, -1, -1, true},
    {SYS_pwritev2, "pwritev", 0, -1, -1, true},
    {SYS_sendfile, "copy", 0, -1, -1, true},
    {SYS_copy_file_range, "copy", 2, -1, -1, true},
    {SYS_ftruncate, "truncate", 0, -1, -1, true},
    {SYS_truncate, "truncate", -1, 0, -1, true},
    {SYS_fallocate, "fallocate", 0, -1, -1, true},
    {SYS_fsync, "fsync", 0, -1, -1, true},
    {SYS_fdatasync, "fsync", 0, -1, -1, true},
    {SYS_rename, "rename", -1, 0, 1, true},
    {SYS_renameat, "rename", -1, 1, 3, true},
    {SYS_renameat2, "rename", -1, 1, 3, true},
    {SYS_link, "link", -1, 0, 1, true},
    {SYS_linkat, "link", -1, 1, 3, true},
    {SYS_symlink, "symlink", -1, 1, 0, true},
    {SYS_symlinkat, "symlink", -1, 2, 0, true},
    {SYS_unlink, "unlink", -1, 0, -1, true},
    {SYS_unlinkat, "unlink", -1, 1, -1, true},
    {SYS_rmdir, "unlink", -1, 0, -1, true},
    {SYS_mkdir, "mkdir", -1, 0, -1, true},
    {SYS_mkdirat, "mkdir", -1, 1, -1, true},
    {SYS_mmap, "mmap", 4, -1, -1, false},
    {SYS_close, "close", 0, -1, -1, false},
};
enum { CALLS = sizeof calls / sizeof *calls };

static enum { LIST, ONE, SOME, FROM, SHORT, RECORD, EACH } mode;
static uint64_t wanted;
static long error;
static _Atomic long left;   /* of "some" */
static const char *failing; /* name of the call, of "some" */
static char each[32], part[64];
static _Atomic uint64_t count;
static int file;
static char home[PATH]; /* where the process was started */

/* A system call that the filter lets pass, as it comes from here. */
__asm__(".text\n"
        "faults_syscall:\n"
        "mov %rdi, %rax\n mov %rsi, %rdi\n mov %rdx, %rsi\n mov %rcx, %rdx\n"
        "mov %r8, %r10\n mov %r9, %r8\n mov 8(%rsp), %r9\n"
        "syscall\n"
        "faults_passed:\n"
        "ret\n");
__attribute__((visibility("hidden"))) long faults_syscall(long number, long a, long b, long c,
                                                          long d, long e, long f);
extern const char faults_passed[] __attribute__((visibility("hidden")));

static long pass(long number, long a, long b, long c)
{
    return faults_syscall(number, a, b, c, 0, 0, 0);
}

/* Whether the path is that folder, or lies below it. */
static bool is_below(const char *path, const char *folder)
{
    const size_t size = strlen(folder);
    return size && strncmp(path, folder, size) == 0 && (path[size] == '/' || !path[size]);
}

static bool is_of_system(const char *path)
{
    static const char *const folders[] = {"/proc", "/sys",   "/dev",   "/etc",    "/usr",
                                          "/lib",  "/lib32", "/lib64", "/libx32", "/run"};
    static const char *const kinds[] = {"/memfd:", "pipe:", "socket:", "anon_inode:"};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (strncmp(path, kinds[k], strlen(kinds[k])) == 0)
            return true;
    for (size_t k = 0; k < sizeof folders / sizeof *folders; k++)
        if (is_below(path, folders[k]))
            return !is_below(path, home);
    return false;
}

/* Whether the path is the program's business; makes one of a descriptor first. */
static bool path_of(const call *c, const long *a, char path[PATH])
{
    path[0] = '\0';
    if (c->fd >= 0) {
        char link[48];
        if ((int)a[c->fd] < 0)
            return false;
        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", (int)a[c->fd]);
        const long n = pass(SYS_readlink, (long)link, (long)path, PATH - 1);
        path[n > 0 ? n : 0] = '\0';
        if (n <= 0 || (int)a[c->fd] == file)
            return false;
    } else {
        (void)snprintf(path, PATH, "%s", (const char *)a[c->path]);
    }
    return !is_of_system(path);
}

static void tell(uint64_t number, const char *name, const char *path)
{
    char line[PATH + 64];
    const int n =
        snprintf(line, sizeof line, "%llu %s %s\n", (unsigned long long)number, name, path);
    (void)pass(SYS_write, file, (long)line, n);
}

/* After a change that succeeded. */
static void record(const call *c, const long *a, const char *path, long offset, long result)
{
    struct stat st = {0};
    char line[2 * PATH + 96];
    const bool several = strstr(c->name, "writev") != NULL;
    const bool data =
        several || strcmp(c->name, "write") == 0 || strcmp(c->name, "pwrite") == 0;
    if (strcmp(c->name, "copy") == 0 || strcmp(c->name, "fallocate") == 0) {
        static const char sorry[] = "io_faults: a copy or fallocate cannot be recorded\n";
        (void)pass(SYS_write, 2, (long)sorry, sizeof sorry - 1);
        _exit(98);
    }
    if (c->fd >= 0)
        (void)pass(SYS_fstat, a[c->fd], (long)&st, 0);
    else
        (void)pass(SYS_stat, (long)(c->to >= 0 ? a[c->to] : a[c->path]), (long)&st, 0);
    const int n = snprintf(line, sizeof line, "%s %llu %ld %ld %s %s\n", c->name,
                           (unsigned long long)st.st_ino,
                           strcmp(c->name, "truncate") == 0 ? a[1] : offset, data ? result : 0,
                           path, c->to >= 0 ? (const char *)a[c->to] : "");
    struct iovec parts[2 + PARTS] = {{line, (size_t)n},
                                     {(void *)a[1], data && !several ? (size_t)result : 0}};
    const int count_parts = several ? (int)a[2] : 0;
    if (count_parts > PARTS)
        abort();
    long left_over = result;
    for (int k = 0; k < count_parts; k++) {
        parts[2 + k] = ((const struct iovec *)a[1])[k];
        if ((long)parts[2 + k].iov_len > left_over)
            parts[2 + k].iov_len = (size_t)left_over;
        left_over -= (long)parts[2 + k].iov_len;
    }
    (void)pass(SYS_writev, file, (long)parts, 2 + count_parts);
}

/* Where a write begins. */
static long begin_of(const call *c, const long *a)
{
    struct stat st;
    const bool placed =
        strncmp(c->name, "pwrite", 6) == 0 && a[3] != -1; /* else pwritev2's own place */
    if (placed)
        return a[3];
    if (!strstr(c->name, "write"))
        return 0;
    if (pass(SYS_fcntl, a[0], F_GETFL, 0) & O_APPEND)
        return pass(SYS_fstat, a[0], (long)&st, 0) ? 0 : (long)st.st_size;
    return pass(SYS_lseek, a[0], 0, SEEK_CUR);
}

/* The error of call `number`, or 0; it `changes` files or names. */
static long error_of(const call *c, uint64_t number, const char *path, bool changes)
{
    if (mode == EACH)
        return strcmp(c->name, each) == 0 && strstr(path, part) ? error : 0;
    if (mode == SOME) {
        if (number == wanted)
            failing = c->name;
        if (number < wanted || !failing || strcmp(failing, c->name) != 0)
            return 0;
        return atomic_fetch_sub(&left, 1) > 0 ? error : 0;
    }
    return (mode == ONE && number == wanted) || (mode == FROM && number >= wanted && changes)
               ? error
               : 0;
}

/* Of a call that opens. */
static long flags_of(const call *c, const long *a)
{
    if (c->number == SYS_creat)
        return O_CREAT | O_WRONLY | O_TRUNC;
    if (c->number == SYS_openat2)
        return (long)((const struct open_how *)a[2])->flags;
    return c->number == SYS_openat ? a[2] : a[1];
}

/* Which argument has the bytes of a call, or how many parts there are; -1 where it cannot do half. */
static int size_of(const call *c)
{
    if (strcmp(c->name, "copy") == 0)
        return c->number == SYS_sendfile ? 3 : 4;
    return strstr(c->name, "write") || strncmp(c->name, "read", 4) == 0 ? 2 : -1;
}

static long answer(const call *c, long *a)
{
    char path[PATH];
    const bool counts = path_of(c, a, path);
    const uint64_t number = counts ? atomic_fetch_add(&count, 1) + 1 : 0;
    const bool opens = strcmp(c->name, "open") == 0;
    const long flags = opens ? flags_of(c, a) : 0;
    const bool makes = opens && (flags & (O_CREAT | O_TRUNC));
    if (counts && mode == LIST)
        tell(number, makes ? "create" : c->name, path);
    const long failed = counts ? error_of(c, number, path, c->change || makes) : 0;
    const int size = size_of(c);
    const bool is_short =
        counts && mode == SHORT && number == wanted && size >= 0 && a[size] > 1;
    if (failed || is_short)
        tell(number, c->name, path);
    if (failed) {
        if (strcmp(c->name, "close") == 0) /* Linux closes whatever it says */
            (void)pass(SYS_close, a[0], 0, 0);
        return -failed;
    }
    if (is_short)
        a[size] /= 2;
    const long offset = counts && mode == RECORD && c->change ? begin_of(c, a) : 0;
    const long result = faults_syscall(c->number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (counts && mode == RECORD && result >= 0) {
        const call created = {c->number, "create", c->fd, c->path, c->to, true};
        if (c->change)
            record(c, a, path, offset, result);
        else if (makes)
            record(&created, a, path, flags & O_TRUNC ? 1 : 0, 0);
    }
    return result;
}

static void handle(int signal, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    const int before = errno;
    (void)signal;
    for (int k = 0; k < CALLS; k++)
        if (calls[k].number == info->si_syscall) {
            long a[6] = {r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9]};
            r[REG_RAX] = answer(&calls[k], a);
            break;
        }
    errno = before;
}

/* A thread that blocks the signal would be killed by its first call: masks of threads, of new ones too, let it be. */
static const sigset_t *let_pass(const sigset_t *set, sigset_t *let)
{
    if (!set)
        return NULL;
    *let = *set;
    (void)sigdelset(let, SIGSYS);
    return let;
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    int (*next)(int how, const sigset_t *set, sigset_t *old);
    void *found = dlsym(RTLD_NEXT, "pthread_sigmask");
    sigset_t let;
    memcpy(&next, &found, sizeof next);
    return next(how, how == SIG_UNBLOCK ? set : let_pass(set, &let), old);
}

int pthread_attr_setsigmask_np(pthread_attr_t *attr, const sigset_t *set)
{
    int (*next)(pthread_attr_t * attr, const sigset_t *set);
    void *found = dlsym(RTLD_NEXT, "pthread_attr_setsigmask_np");
    sigset_t let;
    memcpy(&next, &found, sizeof next);
    return next(attr, let_pass(set, &let));
}

/* Traps the calls of the table that come from elsewhere than faults_syscall; of maps those of files. */
static bool filter(void)
{
    const uint64_t passed = (uint64_t)(uintptr_t)faults_passed;
    struct sock_filter program[CALLS + 16];
    unsigned short n = 0;
#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define IS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), yes, no)
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)
    const struct sock_filter head[] = {
        LOAD(instruction_pointer),
        IS(passed, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                 offsetof(struct seccomp_data, instruction_pointer) + 4),
        IS(passed >> 32, 0, 1),
        RETURN(SECCOMP_RET_ALLOW),
        LOAD(nr),
        IS(SYS_mmap, 0, 3),
        LOAD(args[3]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, CALLS, CALLS + 1),
    };
    memcpy(program, head, sizeof head);
    n = sizeof head / sizeof *head;
    for (int k = 0; k < CALLS; k++, n++) {
        /* mmap was judged above */
        const long number = calls[k].number == SYS_mmap ? SYS_close : calls[k].number;
        program[n] = (struct sock_filter)IS(number, (uint8_t)(CALLS - k), 0);
    }
    program[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
    program[n++] = (struct sock_filter)RETURN(SECCOMP_RET_TRAP);
    const struct sock_fprog p = {n, program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p, 0, 0) == 0;
}

static void read_mode(const char *text)
{
    static const char *const modes[] = {"list",  "one",    "some", "from",
                                        "short", "record", "each"};
    char *end;
    for (int k = 0; k < 7; k++)
        if (strncmp(text, modes[k], strlen(modes[k])) == 0)
            mode = k;
    const char *numbers = strchr(text, ' ');
    if (!numbers)
        return;
    if (mode == EACH) {
        (void)sscanf(numbers, "%ld %31s %63s", &error, each, part);
        return;
    }
    wanted = strtoull(numbers, &end, 10);
    error = strtol(end, &end, 10);
    atomic_store(&left, strtol(end, NULL, 10));
}

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("TUTTI_FAULTS"), *path = getenv("TUTTI_FAULTS_FILE");
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (!text || !path)
        return;
    read_mode(text);
    if (!getcwd(home, sizeof home) || strcmp(home, "/") == 0)
        home[0] = '\0';
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    (void)sigemptyset(&action.sa_mask);
    if (file < 0 || sigaction(SIGSYS, &action, NULL) != 0 || !filter()) {
        static const char sorry[] = "io_faults: no filter of system calls here\n";
        (void)!write(2, sorry, sizeof sorry - 1);
        _exit(99);
    }
}
