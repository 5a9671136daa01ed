/* web_files.h -- the pages and their assets, as bytes in the program.
 *
 * tools/build-web bundles web/ and writes the table. Each file is held plain
 * and compressed: the compressed bytes are what browsers get, the plain ones
 * are for clients that take no gzip and for reports that inline them.
 *
 *     const struct web_file *page = web_file_named("index.html");
 */
#ifndef WEB_FILES_H
#define WEB_FILES_H

#include <stddef.h>

struct web_file {
    const char *name; /* as in web/: "index.html", "index.js" */
    const char *path; /* where an asset is served, with its hash; NULL for pages */
    const char *type; /* media type */
    const char *hash; /* 16 hexadecimal digits of SHA-256 of the plain bytes */
    const unsigned char *plain;
    size_t plain_bytes;
    const unsigned char *gzip;
    size_t gzip_bytes;
};

extern const struct web_file web_files[];
extern const size_t web_files_count;

/* NULL when there is none. The table is constant: any thread may ask. */
const struct web_file *web_file_named(const char *name);
const struct web_file *web_file_at(const char *path);

#endif
