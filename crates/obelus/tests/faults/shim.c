/* Simulates a failing disk under a store: LD_PRELOAD=shim.so OBELUS_FAULTS=DIR.
 *
 * While DIR/full exists, writes fail as on a full disk; while DIR/readonly exists, as on a read-only one; while DIR/sync
 * exists, every sync fails. DIR/die has a number: the process kills itself before the write or sync of that number.
 * Only files with "obelus.db" in their name are affected. Failed syncs are counted in DIR/failed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int is_store(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return strstr(path, "obelus.db") != NULL;
}

static const char *place(const char *name, char *path) {
    const char *folder = getenv("OBELUS_FAULTS");
    if (!folder) return NULL;
    snprintf(path, 4096, "%s/%s", folder, name);
    return path;
}

static int there(const char *name) {
    char path[4096];
    return place(name, path) && access(path, F_OK) == 0;
}

static void boundary(void) {
    static long count, limit = -1;
    char path[4096];
    if (limit < 0) {
        limit = 0;
        FILE *file = place("die", path) ? fopen(path, "r") : NULL;
        if (file) { if (fscanf(file, "%ld", &limit) != 1) limit = 0; fclose(file); }
    }
    if (limit > 0 && ++count == limit) kill(getpid(), SIGKILL);
}

static int fails(int fd) {
    if (!is_store(fd)) return 0;
    boundary();
    if (there("full")) { errno = ENOSPC; return 1; }
    if (there("readonly")) { errno = EROFS; return 1; }
    return 0;
}

static int sync_fails(int fd) {
    char path[4096];
    if (!is_store(fd)) return 0;
    boundary();
    if (!there("sync")) return 0;
    FILE *file = place("failed", path) ? fopen(path, "a") : NULL;
    if (file) { fputs("x", file); fclose(file); }
    errno = EIO;
    return 1;
}

#define NEXT(type, name, ...) ((type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    return fails(fd) ? -1 : NEXT(ssize_t, "pwrite64", int, const void *, size_t, off64_t)(fd, data, size, at);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    return fails(fd) ? -1 : NEXT(ssize_t, "pwrite", int, const void *, size_t, off_t)(fd, data, size, at);
}
ssize_t write(int fd, const void *data, size_t size) {
    return fails(fd) ? -1 : NEXT(ssize_t, "write", int, const void *, size_t)(fd, data, size);
}
int fdatasync(int fd) { return sync_fails(fd) ? -1 : NEXT(int, "fdatasync", int)(fd); }
int fsync(int fd) { return sync_fails(fd) ? -1 : NEXT(int, "fsync", int)(fd); }
