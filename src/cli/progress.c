/* progress.c -- draw how much is done, and guess how long the rest takes.
 *
 * Workers add steps from any thread to an atomic counter. One that finds the last drawing a
 * tenth of a second old draws; it takes the lock by trylock, so that no worker ever waits for
 * the terminal. In a pipe `total` is 0 and nothing is drawn. */
#include "progress.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "cli.h"

enum { BAR_WIDTH = 30 };

/* begin() and end() run in the thread that computes, add() in any. `what`, `total` and `start`
 * change in begin() and end() only. */
static struct {
    const char *what; /* the caller's text, before the bar */
    size_t total;     /* 0: nothing is drawn */
    atomic_size_t done;
    /* Held while drawing; guards `drawn`. */
    pthread_mutex_t drawing;
    /* When the work began, and when the bar was drawn last, by cli_seconds(). */
    double start, drawn;
} bar = {.drawing = PTHREAD_MUTEX_INITIALIZER};

/* The bar appears with the first step that ends a tenth of a second from now or later: work that is
 * done by then shows none. */
static void begin(void *unused, const char *what, size_t steps)
{
    (void)unused;
    bar.what = what;
    bar.total = isatty(STDERR_FILENO) ? steps : 0;
    bar.start = bar.drawn = cli_seconds();
    atomic_store(&bar.done, 0);
}

/* The rest is taken to be as fast as the steps so far. The carriage return and the erasing of the
 * line's rest make each drawing replace the one before. */
static void draw(size_t done, double time)
{
    char text[BAR_WIDTH + 1];
    double share = (double)done / (double)bar.total;
    share = share > 1 ? 1 : share;
    for (int i = 0; i < BAR_WIDTH; i++) {
        text[i] = i < share * BAR_WIDTH ? '#' : '.';
    }
    text[BAR_WIDTH] = '\0';
    double left = share > 0 ? (time - bar.start) * (1 - share) / share : 0;
    (void)fprintf(stderr, "\r%s [%s] %3.0f%%  %.0f s left \033[K", bar.what, text, 100 * share,
                  left);
    (void)fflush(stderr);
}

/* Always true: a bar never stops the work. */
static bool add(void *unused, size_t steps)
{
    (void)unused;
    size_t done = atomic_fetch_add(&bar.done, steps) + steps;
    if (bar.total == 0 || pthread_mutex_trylock(&bar.drawing) != 0) {
        return true;
    }
    double time = cli_seconds();
    if (time - bar.drawn >= 0.1) {
        bar.drawn = time;
        draw(done, time);
    }
    (void)pthread_mutex_unlock(&bar.drawing);
    return true;
}

/* Erase the bar, so that what is printed next begins on a clean line. */
static void end(void *unused)
{
    (void)unused;
    if (bar.total > 0) {
        (void)fputs("\r\033[K", stderr);
    }
    bar.total = 0;
}

const struct tremolo_progress progress_bar = {begin, add, end, NULL};
