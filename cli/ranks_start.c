/* SPDX-License-Identifier: MIT */
/* ranks_start.c - MPI is met only here, in pith-mpi.so (mpi/), which lies beside pith or in
 * ../lib/pith of its folder: pith itself needs none. */
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/common/json_out.h"
#include "mpi/ranks_mpi.h"
#include "ranks_start.h"

static struct pith_mpi mpi = {.size_bytes = sizeof mpi};
static bool wants_json;

/* Environment variables that OpenMPI's mpirun, MPICH's and Slurm's srun set. */
static bool started_by_mpi(void)
{
    static const char *const counts[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const char *text = secure_getenv(counts[i]);
        if (text && strtoul(text, NULL, 10) > 1)
            return true;
    }
    const char *tasks = secure_getenv("SLURM_STEP_NUM_TASKS");
    return secure_getenv("PMIX_RANK") && tasks && strtoul(tasks, NULL, 10) > 1;
}

static void *open_plugin(void)
{
    static const char *const places[] = {"pith-mpi.so", "../lib/pith/pith-mpi.so"};
    char folder[2048], path[2200];
    ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
    void *plugin = NULL;
    folder[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places && !plugin; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, places[i]);
        /* global: what MPI loads itself looks for MPI among what is loaded */
        plugin = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    }
    return plugin;
}

static void share_processors(struct cli_common *c)
{
    cpu_set_t allowed;
    const char *given = secure_getenv("PITH_THREADS");
    long cores = sysconf(_SC_NPROCESSORS_ONLN) / (long)mpi.local_count;
    if (c->threads || (given && *given))
        return;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) < cores)
        cores = CPU_COUNT(&allowed);
    c->threads = cores > 0 ? (uint64_t)cores : 1;
}

enum cli_exit cli_ranks_start(struct cli_common *c, const char *how,
                              const struct pith_ranks **ranks)
{
    pith_mpi_start_function *start;
    *ranks = NULL;
    if (how && strcmp(how, "mpi") != 0) {
        cli_error("--ranks '%s': give mpi", how);
        return EXIT_USAGE;
    }
    if (!how && started_by_mpi())
        cli_hint(
            "started as one of several processes, but each works alone: --ranks mpi makes one job "
            "of them");
    if (!how || !started_by_mpi())
        return EXIT_DONE;
    void *plugin = open_plugin(), *found = plugin ? dlsym(plugin, "pith_mpi_start") : NULL;
    if (!found) {
        cli_error("started as one of several processes, but built without MPI: pith-mpi.so is "
                  "neither beside pith nor in ../lib/pith");
        return EXIT_UNSUPPORTED;
    }
    memcpy(&start, &found, sizeof start); /* ISO C has no cast from object to function */
    if (!start(&mpi)) {
        cli_error("MPI does not start, or pith-mpi.so is of another version");
        return EXIT_UNSUPPORTED;
    }
    *ranks = &mpi.ranks;
    wants_json = c->json != NULL;
    share_processors(c);
    if (mpi.ranks.rank > 0) {
        c->quiet = 2;
        cli_hold_errors();
    }
    return EXIT_DONE;
}

/* What fails in all ranks is printed by rank 0, which ends the others (SIGTERM) before they speak.
 */
static void end_all(enum cli_exit rc)
{
    char who[32];
    if (mpi.ranks.rank > 0) {
        snprintf(who, sizeof who, "process %u: ", mpi.ranks.rank);
        sleep(2);
        if (cli_interrupted())
            _exit((int)rc);
        cli_report_held_error(who);
    } else if (rc == EXIT_INTERRUPTED) {
        cli_error("interrupted");
    }
    if (wants_json)
        cli_json_error(rc);
    fflush(stdout);
    mpi.end_all(rc == EXIT_INTERRUPTED ? cli_interrupt_status() : (int)rc);
}

enum cli_exit cli_ranks_end(const struct pith_ranks *ranks, enum cli_exit rc)
{
    if (ranks && rc)
        end_all(rc);
    if (ranks)
        mpi.finish();
    return rc;
}
