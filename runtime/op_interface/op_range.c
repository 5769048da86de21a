/* SPDX-License-Identifier: MIT */
#include "op_interface/op_range.h"

#define TASK_WORK 32768u /* elements: two microseconds at least, as much as a hand-over costs */
#define MAX_TASKS 64u

struct range_job {
    pith_range_body *body;
    void *arg;
    size_t n, n_tasks;
};

static void run_task(void *p, uint32_t i)
{
    const struct range_job *job = p;
    /* n <= 2^40 and i < 64: no overflow in 64 bits */
    size_t begin = (size_t)((uint64_t)job->n * i / job->n_tasks);
    size_t end = (size_t)((uint64_t)job->n * (i + 1u) / job->n_tasks);
    job->body(job->arg, begin, end);
}

void pith_op_range(const struct op_env *env, size_t n, size_t item_work, pith_range_body *body,
                   void *arg)
{
    size_t items = item_work >= TASK_WORK ? 1 : TASK_WORK / (item_work + 1);
    size_t n_tasks = n / items;
    n_tasks = n_tasks > MAX_TASKS ? MAX_TASKS : n_tasks;
    if (!env->parallel_for || n_tasks < 2) {
        if (n > 0)
            body(arg, 0, n);
        return;
    }
    struct range_job job = {body, arg, n, n_tasks};
    pith_op_parallel(env, (uint32_t)n_tasks, run_task, &job);
}
