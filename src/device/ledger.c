/* ledger.c -- what this device has spent, and the reports it spent it on.
 *
 * There is one entry for each study, and each entry is kept in two slots A and
 * B that hold a struct tremolo_slot up to the end of its report.
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
 * the ledger has too few.
 *
 * An entry's study makes one kind of release, so `spent` counts mu^2 in some
 * entries and epsilon in others; the highest bit of `epsilon` says which.
 *
 * A secret follows the report and enters the next release's draws. Every
 * commit replaces it by bytes drawn for that purpose, so that an attacker who
 * reads the storage later cannot repeat an earlier draw. The checksum does not
 * cover the secret: damaged bytes there are as good as any. */
#include "parts.h"

/* What a slot was found to hold; bits, so that two can be joined. */
enum { NOTHING = 0, DAMAGED = 1, SOUND = 2, UNREADABLE = 4 };

enum { SLOT_HEAD_BYTES = offsetof(struct tremolo_slot, report) };

/* 'T' 'L', and below them the number of entries and the entry's own: a ledger
 * opened with fewer entries than it has would forget what the others spent. */
#define MAGIC UINT32_C(0x544c0000)

static TREMOLO_APART uint32_t magic_of(const struct tremolo_work *work, unsigned entry)
{
    return MAGIC + (work->platform->studies << 8) + entry;
}

/* FNV-1a: every step is a bijection of the sum, so a single changed byte is
 * always noticed. Of other accidents one in 2^32 goes unnoticed. */
static TREMOLO_APART uint32_t check_of(const struct tremolo_slot *slot)
{
    const uint8_t *byte = (const uint8_t *)&slot->magic;
    uint32_t sum = UINT32_C(2166136261);
    while (byte != slot->report + slot->length) {
        sum = (sum ^ *byte++) * UINT32_C(16777619);
    }
    return sum;
}

/* Read a slot into work->slot and say what it holds. */
static unsigned read_slot(struct tremolo_work *work, unsigned number)
{
    struct tremolo_slot *slot = &work->slot;
    const struct tremolo_platform *platform = work->platform;
    uint32_t differing;
    if (platform->read(platform->context, number, (uint8_t *)slot, sizeof *slot) != 0) {
        return UNREADABLE;
    }
    differing = slot->magic ^ magic_of(work, number / 2);
    if (differing != 0) {
        return differing >> 16 == 0 ? DAMAGED : NOTHING;
    }
    return slot->length <= TREMOLO_MAX_REPORT_BYTES && check_of(slot) == slot->check ? SOUND
                                                                                     : DAMAGED;
}

static enum tremolo_status write_slot(const struct tremolo_work *work, unsigned number)
{
    const struct tremolo_platform *platform = work->platform;
    return platform->write(platform->context, number, (const uint8_t *)&work->slot,
                           SLOT_HEAD_BYTES + work->slot.length + TREMOLO_SECRET_BYTES) == 0
               ? TREMOLO_OK
               : TREMOLO_STORAGE_FAILED;
}

/* Seal the slot in work, give it a new secret and write it to both places, A first. */
static enum tremolo_status write_both(struct tremolo_work *work, unsigned number)
{
    struct tremolo_slot *slot = &work->slot;
    enum tremolo_status status;
    slot->check = check_of(slot);
    tremolo_bytes_copy(slot->report + slot->length, work->id + TREMOLO_REPORT_ID_BYTES,
                       TREMOLO_SECRET_BYTES);
    status = write_slot(work, number);
    return status == TREMOLO_OK ? write_slot(work, number + 1) : status;
}

/* `number` is slot A of an entry. Leave the entry's newest state in work->slot
 * and in both slots, by the list above. */
static enum tremolo_status load_entry(struct tremolo_work *work, unsigned number)
{
    const struct tremolo_slot *slot = &work->slot;
    unsigned a = read_slot(work, number);
    uint32_t a_sequence = slot->sequence;
    uint32_t a_check = slot->check;
    unsigned b = read_slot(work, number + 1);
    if ((a | b) & UNREADABLE) {
        return TREMOLO_STORAGE_FAILED;
    }
    if (((a | b) & SOUND) == 0) {
        return (a | b) == NOTHING ? TREMOLO_LEDGER_MISSING : TREMOLO_LEDGER_DAMAGED;
    }
    if (a == b) {
        uint32_t lead = a_sequence - slot->sequence;
        if (lead == 0) {
            return a_check == slot->check ? TREMOLO_OK : TREMOLO_LEDGER_DAMAGED;
        }
        if (lead > 1) {
            return TREMOLO_LEDGER_ROLLED_BACK;
        }
    }
    if (a != SOUND) {
        return write_slot(work, number);
    }
    return read_slot(work, number) == SOUND ? write_slot(work, number + 1) : TREMOLO_STORAGE_FAILED;
}

/* The counter may lag one commit behind: the power went between the two. It
 * is brought up before anything leaves. */
static enum tremolo_status check_counter(const struct tremolo_work *work)
{
    const struct tremolo_platform *platform = work->platform;
    uint32_t counted = work->commits;
    if (platform->counter != NULL && platform->counter(platform->context, &counted) != 0) {
        return TREMOLO_STORAGE_FAILED;
    }
    if (work->commits - counted > 1) {
        return TREMOLO_LEDGER_ROLLED_BACK;
    }
    return work->commits != counted && platform->advance(platform->context, work->commits) != 0
               ? TREMOLO_STORAGE_FAILED
               : TREMOLO_OK;
}

/* Add the loaded entry to the totals, and remember it when it is the study's
 * or, failing that, free. A study that comes back under its tag with the other
 * release is another one: a charge must stay with the budget it was taken from. */
static enum tremolo_status add_entry(struct tremolo_work *work, unsigned entry,
                                     const uint8_t *study_tag, unsigned release)
{
    const struct tremolo_slot *slot = &work->slot;
    unsigned kind = slot->epsilon >> 15;
    uint32_t epsilon = (uint32_t)slot->epsilon << 17 >> 1;
    if (entry == 0) {
        work->budget[0] = work->left[0] = slot->budget;
        work->budget[1] = work->left[1] = epsilon;
    }
    if (slot->budget != work->budget[0] || epsilon != work->budget[1] ||
        slot->spent > work->left[kind]) {
        return TREMOLO_LEDGER_DAMAGED;
    }
    work->left[kind] -= slot->spent;
    work->commits += slot->sequence;
    if (slot->sequence == 0 ? work->entry == TREMOLO_MAX_STUDIES
                            : kind == release && !tremolo_bytes_differ(slot->study_tag, study_tag,
                                                                       TREMOLO_STUDY_TAG_BYTES)) {
        work->entry = entry;
    }
    return TREMOLO_OK;
}

/* Read the whole ledger. On success work->entry is the study's entry or a
 * free one, with its state in work->slot, or TREMOLO_MAX_STUDIES when there
 * is neither. */
TREMOLO_PART enum tremolo_status tremolo_ledger_find(struct tremolo_work *work,
                                                     const uint8_t *study_tag, unsigned release)
{
    enum tremolo_status status;
    unsigned entry = 0;
    work->entry = TREMOLO_MAX_STUDIES;
    do {
        status = load_entry(work, 2 * entry);
        if (status == TREMOLO_OK) {
            status = add_entry(work, entry, study_tag, release);
        }
    } while (status == TREMOLO_OK && ++entry < work->platform->studies);
    if (status == TREMOLO_OK) {
        status = check_counter(work);
    }
    return status == TREMOLO_OK && work->entry + 1 < work->platform->studies
               ? load_entry(work, 2 * work->entry)
               : status;
}

/* How the wanted release relates to the study's entry: *length is that of the
 * stored report to repeat, or 0 when a new one may be made. */
TREMOLO_PART enum tremolo_status tremolo_ledger_stored(const struct tremolo_work *work,
                                                       size_t *length)
{
    const struct tremolo_slot *slot = &work->slot;
    *length = 0;
    if (slot->sequence == 0 || work->key > slot->key) {
        return TREMOLO_OK;
    }
    *length = slot->length;
    return work->key == slot->key ? TREMOLO_OK : TREMOLO_ROUND_PASSED;
}

/* work->slot holds the study's entry as tremolo_ledger_find() left it, and the
 * new report. Charge the entry and make both durable. */
TREMOLO_PART enum tremolo_status tremolo_ledger_commit(struct tremolo_work *work, uint32_t charge,
                                                       size_t length)
{
    struct tremolo_slot *slot = &work->slot;
    enum tremolo_status status;
    slot->sequence++;
    slot->spent += charge;
    slot->key = work->key;
    slot->length = (uint16_t)length;
    slot->epsilon =
        (uint16_t)(work->budget[1] >> 16 | (uint32_t)tremolo_release(work->study) << 15);
    tremolo_bytes_copy(slot->study_tag, work->study->id, TREMOLO_STUDY_TAG_BYTES);
    status = write_both(work, 2 * work->entry);
    work->commits++;
    return status == TREMOLO_OK ? check_counter(work) : status;
}

/* Refuse when any slot shows that a device already spent here, or when the
 * first entry, which is written last, is there: the ledger is whole then.
 * Slot B of that entry is the very last; a cut during its first write leaves A
 * sound, so a damaged B with an A that is not sound was a whole ledger once. */
static enum tremolo_status check_absent(struct tremolo_work *work)
{
    unsigned number = 2 * work->platform->studies;
    unsigned holds = NOTHING;
    unsigned before;
    do {
        before = holds;
        holds = read_slot(work, --number);
        if (holds == UNREADABLE) {
            return TREMOLO_STORAGE_FAILED;
        }
        if (holds == SOUND && (number < 2 || work->slot.sequence != 0)) {
            return TREMOLO_LEDGER_EXISTS;
        }
    } while (number > 0);
    if (before == DAMAGED) {
        return TREMOLO_LEDGER_DAMAGED;
    }
    return check_counter(work) == TREMOLO_OK ? TREMOLO_OK : TREMOLO_LEDGER_EXISTS;
}

TREMOLO_PART enum tremolo_status tremolo_ledger_create(struct tremolo_work *work, uint32_t budget,
                                                       uint32_t epsilon)
{
    enum tremolo_status status = check_absent(work);
    unsigned entry = work->platform->studies;
    if (status == TREMOLO_OK) {
        status = tremolo_generator_seed(&work->generator, work->platform, work->slot.report,
                                        work->slot.report);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    tremolo_generator_fill(&work->generator, work->id, sizeof work->id);
    do {
        entry--;
        tremolo_bytes_wipe(&work->slot, SLOT_HEAD_BYTES);
        work->slot.magic = magic_of(work, entry);
        work->slot.budget = budget;
        work->slot.epsilon = (uint16_t)(epsilon << 1 >> 17);
        status = write_both(work, 2 * entry);
    } while (entry > 0 && status == TREMOLO_OK);
    return status;
}
