/* terminal.c -- take a terminal over and give it back. */
#include "terminal.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "study_internal.h"

enum { COLUMNS_DEFAULT = 80, ROWS_DEFAULT = 24, COLUMNS_MAX = 500 };

static volatile sig_atomic_t stopping, resized, suspending;
static struct termios before;
static bool keyboard_changed;

static void on_signal(int number)
{
    *(number == SIGWINCH ? &resized : number == SIGTSTP ? &suspending : &stopping) = 1;
}

/* The last two on a screen only. */
static const int caught_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP};

enum { CAUGHT = sizeof caught_signals / sizeof caught_signals[0], CAUGHT_IN_PIPES = CAUGHT - 2 };

static void catch_signal(int number, void (*handler)(int))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler; /* without SA_RESTART: a wait ends at once */
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(number, &action, NULL);
}

static void write_whole(const char *text, size_t length)
{
    while (length > 0) {
        ssize_t written = write(STDOUT_FILENO, text, length);
        if (written < 0 && errno == EAGAIN) { /* somebody made it so: wait, do not spin */
            struct pollfd room = {.fd = STDOUT_FILENO, .events = POLLOUT};
            (void)poll(&room, 1, -1);
        } else if (written < 0 && errno != EINTR) {
            stopping = 1; /* nobody reads any more */
            return;
        }
        if (written > 0) {
            text += written;
            length -= (size_t)written;
        }
    }
}

static void write_text(const char *text)
{
    write_whole(text, strlen(text));
}

/* Keys arrive one by one and are not echoed into the picture; Ctrl-C and Ctrl-Z
 * stay signals. */
static void take_over(void)
{
    struct termios keys;
    if (isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &before) == 0) {
        keys = before;
        keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        keyboard_changed = tcsetattr(STDIN_FILENO, TCSADRAIN, &keys) == 0;
    }
    write_text("\033[?1049h\033[?25l\033[H\033[2J");
}

static void give_back(void)
{
    write_text("\033[0m\033[?25h\033[?1049l");
    if (keyboard_changed) {
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
        keyboard_changed = false;
    }
}

static void measure(struct terminal *terminal)
{
    struct winsize size;
    terminal->columns = COLUMNS_DEFAULT;
    terminal->rows = ROWS_DEFAULT;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
        terminal->columns = size.ws_col > COLUMNS_MAX ? COLUMNS_MAX : size.ws_col;
        terminal->rows = size.ws_row;
    }
}

void terminal_open(struct terminal *terminal)
{
    const char *no_colour = getenv("NO_COLOR");
    const char *kind = getenv("TERM");
    bool dumb = kind == NULL || kind[0] == '\0' || strcmp(kind, "dumb") == 0;
    /* Characters only: numbers keep their point in every locale. */
    (void)setlocale(LC_CTYPE, "");
    stopping = resized = suspending = 0;
    terminal->unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    terminal->screen = isatty(STDOUT_FILENO) != 0 && !dumb;
    terminal->colour = terminal->screen && (no_colour == NULL || no_colour[0] == '\0');
    measure(terminal);
    catch_signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < (terminal->screen ? CAUGHT : CAUGHT_IN_PIPES); i++) {
        catch_signal(caught_signals[i], on_signal);
    }
    if (terminal->screen) {
        take_over();
    }
}

void terminal_close(const struct terminal *terminal)
{
    if (terminal->screen) {
        give_back();
    }
}

bool terminal_stopping(void)
{
    return stopping != 0;
}

/* Ctrl-Z: leave a clean terminal to the shell, and take it again afterwards. */
static void suspend(void)
{
    suspending = 0;
    give_back();
    (void)raise(SIGSTOP);
    take_over();
}

static bool quit_pressed(void)
{
    char keys[64];
    ssize_t length = read(STDIN_FILENO, keys, sizeof keys);
    for (ssize_t i = 0; i < length; i++) {
        if (keys[i] == 'q' || keys[i] == 'Q') {
            return true;
        }
    }
    return length == 0; /* the terminal is gone */
}

/* The signals are blocked except within ppoll, so that none slips in between a
 * look at the flags and the sleep. */
enum terminal_event terminal_wait(struct terminal *terminal, int milliseconds)
{
    sigset_t caught, usual;
    struct pollfd keyboard = {.fd = keyboard_changed ? STDIN_FILENO : -1, .events = POLLIN};
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    (void)sigemptyset(&caught);
    for (int i = 0; i < CAUGHT; i++) {
        (void)sigaddset(&caught, caught_signals[i]);
    }
    (void)sigprocmask(SIG_BLOCK, &caught, &usual);
    int ready = stopping || resized || suspending ? 0 : ppoll(&keyboard, 1, &time, &usual);
    (void)sigprocmask(SIG_SETMASK, &usual, NULL);
    bool quit = ready > 0 && quit_pressed();
    if (stopping || quit) {
        return TERMINAL_QUIT;
    }
    bool again = suspending || resized;
    if (suspending) {
        suspend();
    }
    if (again) {
        resized = 0;
        measure(terminal);
        return TERMINAL_RESIZED;
    }
    return TERMINAL_TIMEOUT;
}

/* On a screen each line clears what is right of it and the last one what is below, so
 * that nothing flickers; the last line feed is left out, because it would scroll. */
bool terminal_show(const struct terminal *terminal, const char *frame)
{
    if (!terminal->screen) {
        write_text(frame);
        return !stopping;
    }
    write_text("\033[H");
    for (int row = 0; *frame != '\0' && row < terminal->rows; row++) {
        size_t length = strcspn(frame, "\n");
        write_text(row > 0 ? "\r\n" : "");
        write_whole(frame, length);
        write_text("\033[0m\033[K");
        frame += length + (frame[length] == '\n');
    }
    write_text("\033[J");
    return !stopping;
}

int terminal_text(const struct terminal *terminal, FILE *out, const char *text, int columns,
                  bool pad)
{
    int used = 0;
    size_t left = strlen(text);
    mbstate_t state;
    memset(&state, 0, sizeof state);
    while (left > 0) {
        wchar_t character = L'?';
        size_t length = mbrtowc(&character, text, left, &state);
        bool broken = length == 0 || length > left;
        int width = broken || tremolo_text_hidden(text) > 0 ? -1 : wcwidth(character);
        bool shown = width >= 0 && (terminal->unicode || character < 128);
        width = shown ? width : 1;
        if (used + width > columns) {
            break;
        }
        if (broken) {
            memset(&state, 0, sizeof state);
            length = 1;
        }
        (void)(shown ? fwrite(text, 1, length, out) : fwrite("?", 1, 1, out));
        used += width;
        text += length;
        left -= length;
    }
    for (; pad && used < columns; used++) {
        (void)fputc(' ', out);
    }
    return used;
}

void terminal_style(const struct terminal *terminal, FILE *out, enum terminal_style style)
{
    static const char *const codes[] = {
        [STYLE_PLAIN] = "\033[0m", [STYLE_BOLD] = "\033[1m",  [STYLE_FAINT] = "\033[2m",
        [STYLE_GOOD] = "\033[32m", [STYLE_CARE] = "\033[33m", [STYLE_BAD] = "\033[31m"};
    if (terminal->colour) {
        (void)fputs(codes[style], out);
    }
}
