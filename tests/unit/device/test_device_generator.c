/* test_device_generator.c -- ChaCha20 of RFC 8439, keys that are
 * erased as they are used, and an entropy source that is not trusted. */
#include "fake_device.h"
#include "parts.h"
#include "testing.h"

static void state_of(uint32_t state[16], const uint8_t key[32], uint32_t counter,
                     const uint8_t nonce[12])
{
    static const uint32_t constants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    memcpy(state, constants, sizeof constants);
    for (int i = 0; i < 8; i++) {
        state[4 + i] = tremolo_bytes_load(key + 4 * i);
    }
    state[12] = counter;
    for (int i = 0; i < 3; i++) {
        state[13 + i] = tremolo_bytes_load(nonce + 4 * i);
    }
}

/* The first block the generator's function gives for a state. */
static void block_of(uint8_t block[64], const uint8_t key[32], uint32_t counter,
                     const uint8_t nonce[12])
{
    uint8_t blocks[64 * TREMOLO_LANES];
    uint32_t state[16];
    state_of(state, key, counter, nonce);
    tremolo_chacha_blocks(blocks, state, 10);
    assert_int_equal(state[12], (uint32_t)(counter + TREMOLO_LANES));
    memcpy(block, blocks, 64);
}

static void assert_hex(const uint8_t *bytes, size_t length, const char *hex)
{
    assert_int_equal(strlen(hex), 2 * length);
    for (size_t i = 0; i < length; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        assert_int_equal(bytes[i], strtoul(digits, NULL, 16));
    }
}

/* RFC 8439, section 2.3.2. */
static void test_rfc_8439_block(void **state)
{
    const uint8_t nonce[12] = {0, 0, 0, 9, 0, 0, 0, 0x4a, 0, 0, 0, 0};
    uint8_t key[32];
    uint8_t block[64];
    (void)state;
    for (int i = 0; i < 32; i++) {
        key[i] = (uint8_t)i;
    }
    block_of(block, key, 1, nonce);
    assert_hex(block, 64,
               "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
               "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e");
}

/* RFC 8439, appendix A.1, test vectors 1 to 5. */
static void test_rfc_8439_appendix(void **state)
{
    static const struct {
        uint8_t key_at, key_byte, nonce_byte;
        uint32_t counter;
        const char *block;
    } vectors[] = {
        {0, 0, 0, 0,
         "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
         "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"},
        {0, 0, 0, 1,
         "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
         "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"},
        {31, 1, 0, 1,
         "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
         "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0"},
        {1, 0xff, 0, 2,
         "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
         "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096"},
        {0, 0, 2, 0,
         "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7"
         "8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        uint8_t key[32] = {0};
        uint8_t nonce[12] = {0};
        uint8_t block[64];
        key[vectors[i].key_at] = vectors[i].key_byte;
        nonce[11] = vectors[i].nonce_byte;
        block_of(block, key, vectors[i].counter, nonce);
        assert_hex(block, 64, vectors[i].block);
    }
}

/* Several blocks at once are the blocks of consecutive counters. */
static void test_lanes_are_consecutive_blocks(void **state)
{
    const uint8_t nonce[12] = {0};
    uint8_t key[32] = {3, 1, 4, 1, 5};
    uint8_t blocks[64 * TREMOLO_LANES];
    uint32_t words[16];
    (void)state;
    state_of(words, key, 7, nonce);
    tremolo_chacha_blocks(blocks, words, 10);
    for (unsigned lane = 0; lane < TREMOLO_LANES; lane++) {
        uint8_t block[64];
        block_of(block, key, 7 + lane, nonce);
        assert_memory_equal(blocks + 64 * lane, block, 64);
    }
}

static void seed(struct tremolo_generator *generator, struct fake_device *device, uint64_t number)
{
    struct tremolo_platform platform;
    fake_device_init(device, number);
    platform = fake_device_platform(device, 1, 0);
    assert_status(tremolo_generator_seed(generator, &platform, added_nothing, added_nothing),
                  TREMOLO_OK);
}

/* The stream as the design describes it, made from single blocks: under each
 * key 256 bytes, of which the first 32 are the next key. */
static void test_stream_is_fast_key_erasure(void **state)
{
    const uint8_t nonce[12] = {0};
    static struct fake_device device;
    struct tremolo_generator generator;
    struct fake_entropy same = {.state = 99};
    uint8_t key[32];
    (void)state;
    seed(&generator, &device, 99);
    assert_int_equal(fake_entropy_fill(&same, key, sizeof key), 0);
    for (int refill = 0; refill < 5; refill++) {
        uint8_t stream[256];
        for (uint32_t block = 0; block < 4; block++) {
            block_of(stream + 64 * block, key, block, nonce);
        }
        for (unsigned i = 32; i < sizeof stream; i++) {
            assert_int_equal(tremolo_generator_byte(&generator), stream[i]);
        }
        memcpy(key, stream, sizeof key);
    }
}

/* Nothing in the generator's memory equals what was handed out, or the key it
 * came from. */
static void test_handed_out_bytes_are_gone(void **state)
{
    static struct fake_device device;
    struct tremolo_generator generator;
    uint32_t first_key[8];
    (void)state;
    seed(&generator, &device, 5);
    memcpy(first_key, generator.state + 4, sizeof first_key);
    for (unsigned i = 0; i < 100; i++) {
        (void)tremolo_generator_byte(&generator);
    }
    assert_true(is_zero(generator.block, 132));
    assert_false(is_zero(generator.block + 132, 124));
    for (unsigned i = 0; i < 8; i++) {
        for (unsigned j = 0; j < 16; j++) {
            assert_int_not_equal(generator.state[j], first_key[i]);
        }
    }
}

static void test_words_are_big_endian_bytes(void **state)
{
    static struct fake_device device;
    struct tremolo_generator bytes;
    struct tremolo_generator words;
    (void)state;
    seed(&bytes, &device, 12);
    seed(&words, &device, 12);
    for (int i = 0; i < 200; i++) {
        uint32_t word = 0;
        for (int j = 0; j < 4; j++) {
            word = word << 8 | tremolo_generator_byte(&bytes);
        }
        assert_int_equal(tremolo_generator_word(&words), word);
    }
}

static void test_failing_entropy_leaves_nothing(void **state)
{
    static struct fake_device device;
    struct tremolo_platform platform;
    struct tremolo_generator generator;
    (void)state;
    memset(&generator, 0x77, sizeof generator);
    fake_device_init(&device, 1);
    platform = fake_device_platform(&device, 1, 0);
    device.entropy.fails = 1;
    assert_status(tremolo_generator_seed(&generator, &platform, added_nothing, added_nothing),
                  TREMOLO_NO_ENTROPY);
    assert_true(is_zero(&generator, sizeof generator));
}

static void test_stuck_entropy_leaves_nothing(void **state)
{
    static struct fake_device device;
    struct tremolo_platform platform;
    struct tremolo_generator generator;
    (void)state;
    memset(&generator, 0x77, sizeof generator);
    fake_device_init(&device, 1);
    platform = fake_device_platform(&device, 1, 0);
    device.entropy.is_stuck = 1;
    assert_status(tremolo_generator_seed(&generator, &platform, added_nothing, added_nothing),
                  TREMOLO_NO_ENTROPY);
    assert_true(is_zero(&generator, sizeof generator));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rfc_8439_block),
        cmocka_unit_test(test_rfc_8439_appendix),
        cmocka_unit_test(test_lanes_are_consecutive_blocks),
        cmocka_unit_test(test_stream_is_fast_key_erasure),
        cmocka_unit_test(test_handed_out_bytes_are_gone),
        cmocka_unit_test(test_words_are_big_endian_bytes),
        cmocka_unit_test(test_failing_entropy_leaves_nothing),
        cmocka_unit_test(test_stuck_entropy_leaves_nothing),
    };
    return cmocka_run_group_tests_name("device generator", tests, NULL, NULL);
}
