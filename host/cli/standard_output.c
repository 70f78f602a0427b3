/* standard_output.c - what is printed must go somewhere. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include "base/output_file.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

FILE *cli_notes(const char *path)
{
    return output_file_is_stdout(path) ? stderr : stdout;
}

/* Once a write has failed what it had is gone, and a later flush has nothing to fail with. */
int cli_flush(void)
{
    static int why;
    if ((fflush(stdout) != 0 || ferror(stdout)) && !why)
        why = errno ? errno : EIO;
    return why;
}

void cli_tell_closed_pipes(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
}
