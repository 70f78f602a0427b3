/* mpi_faults.c - an MPI whose first operation does not return, or fails where TUTTI_FAULTS is "fail". */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FAULTS_MPI_ERR_OTHER = 16 }; /* of Open MPI */

int MPI_Iallgather(void); /* its arguments are not looked at */

int MPI_Iallgather(void)
{
    const char *what = getenv("TUTTI_FAULTS");
    while (!what || strcmp(what, "fail") != 0)
        (void)pause();
    return FAULTS_MPI_ERR_OTHER;
}
