/* tasks.h -- the five regression tasks of the paper's experiments. */
#ifndef TREMOLO_CLI_TASKS_H
#define TREMOLO_CLI_TASKS_H

#include "table.h"

enum { TASK_COUNT = 5 };

struct task {
    const char *key;      /* in file names and on the command line */
    const char *title;    /* as the paper prints it */
    const char *file;     /* in the data folder */
    const char *response; /* NULL: built by hand */
    const char *features; /* NULL: all other columns */
    /* What the paper's two tables say. */
    size_t paper_rows, paper_dimension;
    double paper_r2_ols;
    double paper_step, paper_ridge, paper_clip, paper_rate;
};

extern const struct task tasks[TASK_COUNT];

/* Build the task's design from the files in `folder`. */
bool task_load(struct design *design, const struct task *task, const char *folder,
               char error[TABLE_ERROR_BYTES]);

#endif
