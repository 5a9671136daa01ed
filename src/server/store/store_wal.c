/* store_wal.c -- a write-ahead log read as SQLite's file format documents it.
 *
 * Header, 32 bytes: magic, version, page size, number, salt (8), checksum (8) of the 24 before.
 * Frame, 24 bytes and a page: page number, database size in pages if it ends a transaction and else
 * 0, salt (8), checksum (8). A checksum goes on from the one before, over the first 8 bytes of
 * the frame's head and the page. All numbers are big-endian; what is summed is read in the order
 * that the last bit of the magic says. A log that begins again gets another salt, so frames of
 * an earlier generation, all of them carried over by then, are told apart. */
#include "store_audit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = 32, FRAME_HEAD_BYTES = 24, PAGE_BYTES = 4096, MAGIC = 0x377f0682 };
enum { FRAME_BYTES = FRAME_HEAD_BYTES + PAGE_BYTES };

struct sum {
    uint32_t a, b;
};

static uint32_t get_be(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint32_t get_le(const uint8_t *at)
{
    return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static struct sum add(struct sum sum, const uint8_t *bytes, size_t length, bool big)
{
    for (size_t i = 0; i < length; i += 8) {
        sum.a += (big ? get_be(bytes + i) : get_le(bytes + i)) + sum.b;
        sum.b += (big ? get_be(bytes + i + 4) : get_le(bytes + i + 4)) + sum.a;
    }
    return sum;
}

static bool is_sum(struct sum sum, const uint8_t *stored)
{
    return sum.a == get_be(stored) && sum.b == get_be(stored + 4);
}

/* What a walk over the frames knows. */
struct walk {
    struct wal_findings *found;
    struct sum sum;
    uint8_t salt[8];
    bool big;
    bool broken;         /* a frame was not right: SQLite ends before it */
    bool ended;          /* one of those passed over ends a transaction */
    uint64_t since_last; /* good frames since the last commit that SQLite sees */
};

static bool is_good(struct walk *walk, const uint8_t *frame)
{
    struct sum sum = add(walk->sum, frame, 8, walk->big);
    sum = add(sum, frame + FRAME_HEAD_BYTES, PAGE_BYTES, walk->big);
    walk->sum = sum;
    return get_be(frame) != 0 && is_sum(sum, frame + 16);
}

static void pass_over(struct walk *walk, const uint8_t *frame)
{
    walk->found->passed_over++;
    walk->found->lost = walk->found->lost || walk->ended;
    if (get_be(frame + 4) != 0) {
        walk->ended = true;
        walk->found->transactions++;
    }
}

static void take_frame(struct walk *walk, const uint8_t *frame)
{
    bool same_salt = memcmp(frame + 8, walk->salt, sizeof walk->salt) == 0;
    walk->broken = walk->broken || !same_salt || !is_good(walk, frame);
    if (walk->broken) {
        if (same_salt) {
            pass_over(walk, frame);
        }
        return;
    }
    walk->since_last++;
    if (get_be(frame + 4) != 0) {
        walk->found->frames += walk->since_last;
        walk->since_last = 0;
    }
}

static void walk_log(struct wal_findings *found, FILE *file, const uint8_t *head, uint8_t *frame)
{
    struct walk walk = {.found = found, .big = (get_be(head) & 1) != 0};
    struct sum sum = add((struct sum){0, 0}, head, 24, walk.big);
    bool good =
        (get_be(head) & ~1u) == MAGIC && get_be(head + 8) == PAGE_BYTES && is_sum(sum, head + 24);
    walk.sum = sum;
    memcpy(walk.salt, head + 16, sizeof walk.salt);
    while (fread(frame, 1, FRAME_BYTES, file) == FRAME_BYTES) {
        if (!good && !found->bad_header) { /* its first frame has the salt it should have */
            found->bad_header = true;
            found->lost = true;
            walk.broken = true;
            memcpy(walk.salt, frame + 8, sizeof walk.salt);
        }
        take_frame(&walk, frame);
    }
    found->passed_over += walk.since_last;
}

bool store_wal_look(struct wal_findings *findings, const char *path)
{
    uint8_t head[HEAD_BYTES];
    *findings = (struct wal_findings){0};
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        return errno == ENOENT;
    }
    uint8_t *frame = malloc(FRAME_BYTES);
    if (frame != NULL && fread(head, 1, sizeof head, file) == sizeof head) {
        walk_log(findings, file, head, frame);
    }
    bool read = frame != NULL && ferror(file) == 0;
    free(frame);
    (void)fclose(file);
    return read;
}
