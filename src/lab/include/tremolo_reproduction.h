/* tremolo_reproduction.h -- the paper's experiments. */
#ifndef TREMOLO_REPRODUCTION_H
#define TREMOLO_REPRODUCTION_H

#include "tremolo_design.h"

enum { TREMOLO_TASKS = 5 };

/* One of the five regression tasks. */
struct tremolo_task {
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

extern const struct tremolo_task tremolo_tasks[TREMOLO_TASKS];

/* Build the task's design from the files in `folder`. */
bool tremolo_task_load(struct tremolo_design *design, const struct tremolo_task *task,
                       const char *folder, char error[TREMOLO_TABLE_ERROR_BYTES]);

#endif
