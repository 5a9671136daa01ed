/* ledger.c -- what this device has spent, and the bytes it spent it on.
 *
 * One entry for each study, each kept in two slots A and B:
 *
 *     0   'T' 'L' 1 entry     magic, layout version, entry number
 *     4   u32 sequence        commits of this entry; 0: the entry is free
 *     8   u32 budget          the device's whole budget, the same everywhere
 *     12  u32 spent           by this entry
 *     16  16 bytes            study tag
 *     32  u32 round
 *     36  u16 sample
 *     38  u16 report length
 *     40  u32 CRC-32          of bytes 0..39 and of the report
 *     44  the report
 *
 * A commit writes the same image to A, then to B, and only then do bytes
 * leave. What a power cut or a damaged slot can leave behind, and what we do:
 *
 *     1. A = B                     the newest state.
 *     2. A = n + 1, B = n          cut between the writes: A is the newest,
 *                                  its charge stands, B is repaired first.
 *     3. one slot unreadable       cut during its write, or damage: the other
 *                                  is the newest state that could have left
 *                                  the device; the slot is repaired first.
 *     4. anything else             refuse: LEDGER_ROLLED_BACK, LEDGER_DAMAGED,
 *                                  or LEDGER_MISSING when there is none.
 *
 * Because both slots are written before bytes leave, losing either one never
 * forgets a charge. The platform's counter, where there is one, holds the
 * number of commits of all entries together: an older copy of any part of
 * the ledger has too few. */
#include "parts.h"

enum {
    LAYOUT = 1,
    AT_SEQUENCE = 4,
    AT_BUDGET = 8,
    AT_SPENT = 12,
    AT_STUDY = 16,
    AT_ROUND = 32,
    AT_SAMPLE = 36,
    AT_LENGTH = 38,
    AT_CHECK = 40,
};

static uint32_t crc_update(uint32_t crc, const uint8_t *bytes, size_t length)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    while (length-- > 0) {
        crc ^= *bytes++;
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return crc;
}

static uint32_t field(const uint8_t *image, unsigned at)
{
    return tremolo_bytes_load(image + at, 4);
}

static size_t report_length(const uint8_t *image)
{
    return tremolo_bytes_load(image + AT_LENGTH, 2);
}

static uint32_t check_of(const uint8_t *image)
{
    uint32_t crc = crc_update(UINT32_C(0xffffffff), image, AT_CHECK);
    return ~crc_update(crc, image + TREMOLO_SLOT_HEAD_BYTES, report_length(image));
}

static int has_magic(const uint8_t *image)
{
    return image[0] == 'T' && image[1] == 'L';
}

/* What became of one slot. */
struct slot_state {
    uint32_t sequence;
    uint32_t check;
    uint8_t magic;
    uint8_t sound;
};

/* Read a slot into work->image: the head, then as much as the head says. */
static enum tremolo_status read_slot(struct tremolo_work *work, struct slot_state *state,
                                     const struct tremolo_platform *platform, unsigned slot)
{
    uint8_t *image = work->image;
    size_t length;
    tremolo_bytes_wipe(state, sizeof *state);
    if (platform->read(platform->context, slot, image, TREMOLO_SLOT_HEAD_BYTES) != 0) {
        return TREMOLO_STORAGE_FAILED;
    }
    state->magic = (uint8_t)has_magic(image);
    length = report_length(image);
    if (!state->magic || image[2] != LAYOUT || image[3] != slot / 2 ||
        length > TREMOLO_MAX_REPORT_BYTES) {
        return TREMOLO_OK;
    }
    if (length != 0 && platform->read(platform->context, slot, image,
                                      TREMOLO_SLOT_HEAD_BYTES + length) != 0) {
        return TREMOLO_STORAGE_FAILED;
    }
    state->sequence = field(image, AT_SEQUENCE);
    state->check = check_of(image);
    state->sound = state->check == field(image, AT_CHECK) && report_length(image) == length;
    return TREMOLO_OK;
}

static enum tremolo_status write_slot(const struct tremolo_work *work,
                                      const struct tremolo_platform *platform, unsigned slot)
{
    size_t length = TREMOLO_SLOT_HEAD_BYTES + report_length(work->image);
    return platform->write(platform->context, slot, work->image, length) == 0
               ? TREMOLO_OK
               : TREMOLO_STORAGE_FAILED;
}

/* Decide between the two slots of an entry, by the list above: which one to
 * keep (0 or 1), and whether the other needs repair. */
static enum tremolo_status judge(const struct slot_state *a, const struct slot_state *b,
                                 unsigned *keep, int *repair)
{
    *keep = a->sound ? 0 : 1;
    *repair = 1;
    if (a->sound && b->sound) {
        *repair = a->sequence != b->sequence;
        if (a->sequence - b->sequence > 1) {
            return TREMOLO_LEDGER_ROLLED_BACK;
        }
        return *repair || a->check == b->check ? TREMOLO_OK : TREMOLO_LEDGER_DAMAGED;
    }
    if (a->sound || b->sound) {
        return TREMOLO_OK;
    }
    return a->magic || b->magic ? TREMOLO_LEDGER_DAMAGED : TREMOLO_LEDGER_MISSING;
}

/* Leave the entry's newest image in work->image and in both slots. */
static enum tremolo_status load_entry(struct tremolo_work *work,
                                      const struct tremolo_platform *platform, unsigned entry)
{
    struct slot_state state[2];
    unsigned keep = 0;
    int repair = 0;
    enum tremolo_status status = read_slot(work, &state[0], platform, 2 * entry);
    if (status == TREMOLO_OK) {
        status = read_slot(work, &state[1], platform, 2 * entry + 1);
    }
    if (status == TREMOLO_OK) {
        status = judge(&state[0], &state[1], &keep, &repair);
    }
    if (status == TREMOLO_OK && keep == 0 && repair) {
        status = read_slot(work, &state[0], platform, 2 * entry);
    }
    if (status == TREMOLO_OK && repair) {
        status = write_slot(work, platform, 2 * entry + 1 - keep);
    }
    return status;
}

/* The counter may lag one commit behind: the power went between the two. It
 * is brought up before anything leaves. */
static enum tremolo_status check_counter(const struct tremolo_platform *platform, uint32_t commits)
{
    uint32_t counted = 0;
    if (platform->counter == NULL) {
        return TREMOLO_OK;
    }
    if (platform->counter(platform->context, &counted) != 0) {
        return TREMOLO_STORAGE_FAILED;
    }
    if (commits - counted > 1) {
        return TREMOLO_LEDGER_ROLLED_BACK;
    }
    if (commits != counted && platform->advance(platform->context, commits) != 0) {
        return TREMOLO_STORAGE_FAILED;
    }
    return TREMOLO_OK;
}

/* Add the loaded entry to the totals and remember it when it is the study's,
 * or the first free one. The entry beyond the last stands for "none". */
static enum tremolo_status add_entry(const uint8_t *image, struct tremolo_ledger *ledger,
                                     const struct tremolo_platform *platform, unsigned entry,
                                     const uint8_t *study_tag)
{
    uint32_t sequence = field(image, AT_SEQUENCE);
    uint32_t spent = field(image, AT_SPENT);
    if (entry == 0) {
        ledger->budget = field(image, AT_BUDGET);
    }
    if (field(image, AT_BUDGET) != ledger->budget || spent > ledger->budget - ledger->spent) {
        return TREMOLO_LEDGER_DAMAGED;
    }
    ledger->spent += spent;
    ledger->commits += sequence;
    if (sequence != 0 ? !tremolo_bytes_differ(image + AT_STUDY, study_tag, TREMOLO_STUDY_TAG_BYTES)
                      : ledger->entry == platform->studies) {
        ledger->entry = entry;
    }
    return TREMOLO_OK;
}

/* Read the whole ledger. On success ledger->entry is the study's entry, a
 * free one, or platform->studies when there is neither; the image of an entry
 * that exists is in work->image. */
TREMOLO_PART enum tremolo_status tremolo_ledger_find(struct tremolo_work *work,
                                                     struct tremolo_ledger *ledger,
                                                     const struct tremolo_platform *platform,
                                                     const uint8_t *study_tag)
{
    enum tremolo_status status = TREMOLO_OK;
    unsigned entry;
    tremolo_bytes_wipe(ledger, sizeof *ledger);
    ledger->entry = platform->studies;
    for (entry = 0; entry < platform->studies && status == TREMOLO_OK; entry++) {
        status = load_entry(work, platform, entry);
        if (status == TREMOLO_LEDGER_MISSING && entry > 0) {
            status = TREMOLO_LEDGER_DAMAGED;
        }
        if (status == TREMOLO_OK) {
            status = add_entry(work->image, ledger, platform, entry, study_tag);
        }
    }
    if (status == TREMOLO_OK) {
        status = check_counter(platform, ledger->commits);
    }
    if (status == TREMOLO_OK && ledger->entry + 1 < platform->studies) {
        status = load_entry(work, platform, ledger->entry);
    }
    return status;
}

/* How the wanted release relates to what the study's entry holds: *stored is
 * the length of the report to repeat, or 0 when a new one may be made. */
TREMOLO_PART enum tremolo_status
tremolo_ledger_key(const struct tremolo_work *work, const struct tremolo_study *study,
                   const struct tremolo_round *round, const struct tremolo_sample *sample,
                   size_t *stored)
{
    const uint8_t *image = work->image;
    uint32_t last_round = field(image, AT_ROUND);
    uint32_t last_sample = tremolo_bytes_load(image + AT_SAMPLE, 2);
    *stored = 0;
    if (field(image, AT_SEQUENCE) == 0) {
        return TREMOLO_OK;
    }
    if (round->number == last_round && sample->number == last_sample) {
        *stored = report_length(image);
        return TREMOLO_OK;
    }
    (void)study;
    return round->number < last_round ||
                   (round->number == last_round && sample->number < last_sample)
               ? TREMOLO_ROUND_PASSED
               : TREMOLO_OK;
}

static enum tremolo_status write_both(const struct tremolo_work *work,
                                      const struct tremolo_platform *platform, unsigned entry)
{
    enum tremolo_status status = write_slot(work, platform, 2 * entry);
    return status == TREMOLO_OK ? write_slot(work, platform, 2 * entry + 1) : status;
}

/* The entry's head is in work->image as tremolo_ledger_find() left it, with
 * the new report behind it: charge it and make both durable. */
TREMOLO_PART enum tremolo_status
tremolo_ledger_commit(struct tremolo_work *work, const struct tremolo_ledger *ledger,
                      const struct tremolo_platform *platform, const struct tremolo_study *study,
                      const struct tremolo_round *round, const struct tremolo_sample *sample,
                      size_t report_bytes)
{
    uint8_t *image = work->image;
    uint32_t spent = field(image, AT_SPENT) + tremolo_study_charge(study);
    enum tremolo_status status;
    tremolo_bytes_store(image + AT_SEQUENCE, field(image, AT_SEQUENCE) + 1, 4);
    tremolo_bytes_store(image + AT_SPENT, spent, 4);
    tremolo_bytes_copy(image + AT_STUDY, study->id, TREMOLO_STUDY_TAG_BYTES);
    tremolo_bytes_store(image + AT_ROUND, round->number, 4);
    tremolo_bytes_store(image + AT_SAMPLE, sample->number, 2);
    tremolo_bytes_store(image + AT_LENGTH, (uint32_t)report_bytes, 2);
    tremolo_bytes_store(image + AT_CHECK, check_of(image), 4);
    status = write_both(work, platform, ledger->entry);
    return status == TREMOLO_OK ? check_counter(platform, ledger->commits + 1) : status;
}

/* An empty image for an entry. */
static void blank_image(uint8_t *image, unsigned entry, uint32_t budget)
{
    tremolo_bytes_wipe(image, TREMOLO_SLOT_HEAD_BYTES);
    image[0] = 'T';
    image[1] = 'L';
    image[2] = LAYOUT;
    image[3] = (uint8_t)entry;
    tremolo_bytes_store(image + AT_BUDGET, budget, 4);
    tremolo_bytes_store(image + AT_CHECK, check_of(image), 4);
}

/* Refuse when any slot shows that a device already spent here, or when the
 * first entry, which is written last, is there: the ledger is whole then. */
static enum tremolo_status check_absent(struct tremolo_work *work,
                                        const struct tremolo_platform *platform)
{
    struct slot_state state;
    unsigned slot;
    for (slot = 0; slot < 2 * platform->studies; slot++) {
        enum tremolo_status status = read_slot(work, &state, platform, slot);
        if (status != TREMOLO_OK) {
            return status;
        }
        if (state.sound && (slot < 2 || state.sequence != 0)) {
            return TREMOLO_LEDGER_EXISTS;
        }
    }
    return check_counter(platform, 0) == TREMOLO_OK ? TREMOLO_OK : TREMOLO_LEDGER_EXISTS;
}

TREMOLO_PART enum tremolo_status tremolo_ledger_create(struct tremolo_work *work,
                                                       const struct tremolo_platform *platform,
                                                       uint32_t budget)
{
    enum tremolo_status status = check_absent(work, platform);
    unsigned entry = platform->studies;
    while (entry-- > 0 && status == TREMOLO_OK) {
        blank_image(work->image, entry, budget);
        status = write_both(work, platform, entry);
    }
    return status;
}
