/* nvrtc.c - a libnvrtc without CUDA: it compiles device code for the emulator, with the C++ compiler of the build. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/libraries/nvrtc.h"
#include "misuse.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { /* nvrtcResult */
       OK,
       OUT_OF_MEMORY,
       CREATION,
       INVALID_PROGRAM = 4,
       INVALID_OPTION,
       COMPILATION,
       INTERNAL_ERROR = 11
};
enum { MAX_HEADERS = 128, MAX_LOG = 4096, CAPABILITY = 90 };

struct _nvrtcProgram {
    char folder[64]; /* its text, its headers, what becomes of them */
    char file
        [PATH_MAX]; /* "standin:" and the library of emulated kernels; "" before it is compiled */
    char log[MAX_LOG];
};

/* As kernels/ declares them. */
#define DECLARE(member, name, args) EXPORT unsigned name args;
NVRTC_FUNCTIONS(DECLARE)
#undef DECLARE

/* The folders of programs are kept until the process ends: their libraries stay loaded. */
static char kept[64][64];
static unsigned nkept;

__attribute__((destructor)) static void remove_folders(void)
{
    char command[96];
    for (unsigned k = 0; k < nkept; k++) {
        (void)snprintf(command, sizeof command, "rm -rf '%s'", kept[k]);
        if (system(command)) /* NOLINT(cert-env33-c): a folder of mkdtemp's */
            (void)fprintf(stderr, "nvrtc: %s stays\n", kept[k]);
    }
}

static bool write_text(const char *folder, const char *name, const char *text)
{
    char path[PATH_MAX];
    const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = strchr(path + strlen(folder) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0700) && errno != EEXIST)
            return false;
        *slash = '/';
    }
    FILE *f = n < (int)sizeof path ? fopen(path, "w") : NULL;
    if (!f)
        return false;
    const bool failed = fputs(text, f) < 0;
    return !fclose(f) && !failed;
}

EXPORT unsigned nvrtcVersion(int *ret_major, int *ret_minor)
{
    *ret_major = 13;
    *ret_minor = 0;
    const char *there = getenv("TUTTI_CUDA_NVRTC");
    return libraries_are_there() && !(there && strcmp(there, "0") == 0) ? OK : INTERNAL_ERROR;
}

EXPORT unsigned nvrtcGetNumSupportedArchs(int *ret)
{
    *ret = 2;
    return OK;
}

EXPORT unsigned nvrtcGetSupportedArchs(int *ret)
{
    ret[0] = 80;
    ret[1] = CAPABILITY;
    return OK;
}

/* A header that is "" is one that NVRTC lacks and this compiler has. */
EXPORT unsigned nvrtcCreateProgram(struct _nvrtcProgram **ret, const char *text,
                                   const char *name, int nheaders, const char *const *headers,
                                   const char *const *names)
{
    (void)name;
    struct _nvrtcProgram *p = calloc(1, sizeof *p);
    if (!p)
        return OUT_OF_MEMORY;
    (void)snprintf(p->folder, sizeof p->folder, "/tmp/tutti_nvrtc_XXXXXX");
    bool good =
        nheaders <= MAX_HEADERS && nkept < sizeof kept / sizeof *kept && mkdtemp(p->folder);
    if (good)
        memcpy(kept[nkept++], p->folder, sizeof p->folder);
    good = good && write_text(p->folder, "program.cc", text);
    for (int k = 0; k < nheaders && good; k++)
        good = !*headers[k] || write_text(p->folder, names[k], headers[k]);
    if (!good) {
        free(p);
        return CREATION;
    }
    *ret = p;
    return OK;
}

EXPORT unsigned nvrtcDestroyProgram(struct _nvrtcProgram **program)
{
    free(*program);
    *program = NULL;
    return OK;
}

/* The runtime's stand-in, which has the emulator, lies beside this library. */
static void find_runtime(char path[PATH_MAX])
{
    Dl_info info = {0};
    (void)dladdr((void *)(uintptr_t)find_runtime, &info);
    const char *end = info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
    (void)snprintf(path, PATH_MAX, "%.*s/libcudart.so.13",
                   end ? (int)(end - info.dli_fname) : 1, end ? info.dli_fname : ".");
}

static void read_log(struct _nvrtcProgram *p, const char *path)
{
    FILE *f = fopen(path, "r");
    const size_t n = f ? fread(p->log, 1, sizeof p->log - 1, f) : 0;
    p->log[n] = '\0';
    if (f)
        (void)fclose(f);
}

static bool is_known(const char *option)
{
    char architecture[40];
    (void)snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d", CAPABILITY);
    return strcmp(option, architecture) == 0 ||
           strcmp(option, "--gpu-architecture=sm_80") == 0 ||
           strcmp(option, "--std=c++17") == 0 || strcmp(option, "--fmad=true") == 0;
}

EXPORT unsigned nvrtcCompileProgram(struct _nvrtcProgram *p, int noptions,
                                    const char *const *options)
{
    char runtime[PATH_MAX], library[128], source[128], include[128], log[128];
    int status = 1;
    pid_t child = 0;
    for (int k = 0; k < noptions; k++)
        if (!is_known(options[k]))
            return INVALID_OPTION;
    find_runtime(runtime);
    (void)snprintf(library, sizeof library, "%s/program.so", p->folder);
    (void)snprintf(source, sizeof source, "%s/program.cc", p->folder);
    (void)snprintf(include, sizeof include, "-I%s", p->folder);
    (void)snprintf(log, sizeof log, "%s/program.log", p->folder);
    /* As tutti_emulated compiles, quicker. */
    static const char sdk[] = SDK "/tutti", sdk_option[] = "-I" SDK, emulator[] = "-I" EMULATOR;
    const char *const words[] = {CXX,
                                 "-std=c++17",
                                 "-O1",
                                 "-w",
                                 "-shared",
                                 "-fPIC",
                                 "-ffp-contract=off",
                                 "-fno-strict-aliasing",
                                 "-fvisibility=hidden",
                                 "-fno-exceptions",
                                 "-fno-rtti",
                                 "-DTUTTI_USE_MINOR=2",
                                 "-DCUDA_EMULATED_IMAGE=\"nvrtc\"",
                                 include,
                                 "-iquote",
                                 sdk,
                                 emulator,
                                 sdk_option,
                                 "-o",
                                 library,
                                 source,
                                 runtime,
                                 NULL};
    posix_spawn_file_actions_t files;
    (void)posix_spawn_file_actions_init(&files);
    (void)posix_spawn_file_actions_addopen(&files, STDERR_FILENO, log, O_WRONLY | O_CREAT,
                                           0600);
    if (!posix_spawnp(&child, CXX, &files, NULL, (char *const *)(uintptr_t)words, environ))
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
    (void)posix_spawn_file_actions_destroy(&files);
    read_log(p, log);
    if (status)
        return COMPILATION;
    (void)snprintf(p->file, sizeof p->file, "standin:%s", library);
    return OK;
}

EXPORT unsigned nvrtcGetProgramLogSize(struct _nvrtcProgram *p, size_t *ret)
{
    *ret = strlen(p->log) + 1;
    return OK;
}

EXPORT unsigned nvrtcGetProgramLog(struct _nvrtcProgram *p, char *ret)
{
    memcpy(ret, p->log, strlen(p->log) + 1);
    return OK;
}

EXPORT unsigned nvrtcGetCUBINSize(struct _nvrtcProgram *p, size_t *ret)
{
    *ret = *p->file ? strlen(p->file) + 1 : 0;
    return *ret ? OK : INVALID_PROGRAM;
}

EXPORT unsigned nvrtcGetCUBIN(struct _nvrtcProgram *p, char *ret)
{
    memcpy(ret, p->file, strlen(p->file) + 1);
    return *p->file ? OK : INVALID_PROGRAM;
}
