/* status_store.c -- `tremolo status --store URL`: shards, owners, lag, replication. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "status_store.h"

static long long number_in(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

static const char *text_in(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static void print_shard(const json_t *shard)
{
    const char *owner = text_in(shard, "owner");
    bool alive = json_is_true(json_object_get(shard, "alive"));
    (void)printf("  %5lld  %-28s %-6s %12lld %8lld %10lld %8lld %6lld %8lld\n",
                 number_in(shard, "shard"), owner[0] != '\0' ? owner : "(nobody)",
                 alive ? "yes" : "no", number_in(shard, "position"), number_in(shard, "behind"),
                 number_in(shard, "counted"), number_in(shard, "repeated"),
                 number_in(shard, "late"), number_in(shard, "refused"));
}

static void print_study(const json_t *study)
{
    const json_t *stream = json_object_get(study, "stream");
    const char *leader = text_in(stream, "leader");
    size_t index;
    json_t *shard;
    (void)printf("%s  %s\n", text_in(study, "id"), text_in(study, "title"));
    (void)printf("  %s, round %lld of %lld, %lld reports\n", text_in(study, "state"),
                 number_in(study, "round") + 1, number_in(study, "rounds"),
                 number_in(study, "reports"));
    (void)printf("  stream %s: %lld messages, %lld bytes, %lld of %lld replicas up to date%s%s\n",
                 text_in(stream, "name"), number_in(stream, "messages"), number_in(stream, "bytes"),
                 number_in(stream, "current"), number_in(stream, "replicas"),
                 leader[0] != '\0' ? ", led by " : "", leader);
    (void)printf("  shard  owner                        alive      position   behind    counted "
                 "repeated   late  refused\n");
    json_array_foreach(json_object_get(study, "shards"), index, shard)
    {
        print_shard(shard);
    }
}

int status_store(const struct tremolo_store_options *store, bool json)
{
    char *text = NULL;
    char words[512] = "";
    size_t index;
    json_t *study;
    enum tremolo_status status = tremolo_store_overview(&text, store, words, sizeof words);
    if (status != TREMOLO_OK) {
        return cli_fail(CLI_FAILED, "status", "%s", words);
    }
    if (json) {
        (void)puts(text);
        free(text);
        return CLI_DONE;
    }
    json_t *answer = json_loads(text, 0, NULL);
    json_array_foreach(json_object_get(answer, "studies"), index, study)
    {
        print_study(study);
    }
    if (json_array_size(json_object_get(answer, "studies")) == 0) {
        (void)puts("no studies");
    }
    json_decref(answer);
    free(text);
    return CLI_DONE;
}
