/* web_files.c -- finding a file in the table; it is short, so we walk it. */
#include "web_files.h"

#include <string.h>

const struct web_file *web_file_named(const char *name)
{
    for (size_t i = 0; i < web_files_count; i++) {
        if (strcmp(web_files[i].name, name) == 0) {
            return &web_files[i];
        }
    }
    return NULL;
}

const struct web_file *web_file_at(const char *path)
{
    for (size_t i = 0; i < web_files_count; i++) {
        if (web_files[i].path != NULL && strcmp(web_files[i].path, path) == 0) {
            return &web_files[i];
        }
    }
    return NULL;
}
