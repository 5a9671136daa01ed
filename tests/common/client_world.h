/* client_world.h -- one device and one server for the tests of the client: no
 * network, no waiting, a folder of its own. begin() makes them, with up to two
 * members of the study replaced, report() opens a new client and sends, and
 * end() leaves nothing behind. */
#ifndef TREMOLO_TESTS_CLIENT_WORLD_H
#define TREMOLO_TESTS_CLIENT_WORLD_H

#include "fake_server.h"

struct world {
    struct fake_server server;
    struct fake_folder folder;
    struct tremolo_client_options options;
    struct tremolo_client_surroundings around;
    struct tremolo_client *client;
    char why[TREMOLO_CLIENT_WHY_BYTES];
};

/* 2026-11-15T08:00:00Z and the same time in December. */
enum { NOVEMBER = 1794729600, DECEMBER = 1797321600 };
static const char dates[] = "{\"opens\": \"2026-11-15T08:00:00Z\", "
                            "\"closes\": \"2026-12-15T08:00:00Z\"}";

static inline void begin(struct world *world, const char *path, const char *json, const char *path2,
                         const char *json2)
{
    memset(world, 0, sizeof *world);
    fake_server_start(&world->server, study_with(path, json, path2, json2), 1);
    fake_folder_make(&world->folder);
    world->options = (struct tremolo_client_options)TREMOLO_CLIENT_DEFAULTS;
    world->options.study_url = world->server.url;
    world->options.state_directory = world->folder.state;
    world->options.server_key = world->server.public_key;
    world->options.enrol = true;
    world->around = fake_surroundings(&world->server);
}

static inline void end(struct world *world)
{
    tremolo_client_close(world->client);
    fake_server_stop(&world->server);
    fake_folder_remove(&world->folder);
}

static inline enum tremolo_status open_client(struct world *world)
{
    tremolo_client_close(world->client);
    world->client = NULL;
    world->why[0] = '\0';
    return tremolo_client_open(&world->client, world->why, &world->options, &world->around);
}

static inline enum tremolo_status open_with_sample(struct world *world)
{
    enum tremolo_status status = open_client(world);
    return status == TREMOLO_OK
               ? tremolo_client_sample(world->client, study_base_sample, strlen(study_base_sample))
               : status;
}

static inline enum tremolo_status report(struct world *world,
                                         struct tremolo_client_receipt *receipt)
{
    enum tremolo_status status = open_with_sample(world);
    return status == TREMOLO_OK ? tremolo_client_report(world->client, receipt) : status;
}

#endif
