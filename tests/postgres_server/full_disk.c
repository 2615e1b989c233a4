/* A library to preload (LD_PRELOAD) under a server of PostgreSQL: while the file that the variable
 * AKIN_TEST_FULL names exists, tables and indexes cannot grow, and pages of them are not written. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int is_full(int fd) {
    const char *flag = getenv("AKIN_TEST_FULL");
    if (!flag || access(flag, F_OK) != 0) return 0;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strstr(path, "/base/") != NULL;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define REFUSE(fd)                                                                                 \
    if (is_full(fd)) {                                                                             \
        errno = ENOSPC;                                                                            \
        return -1;                                                                                 \
    }

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at) {
    REFUSE(fd)
    return NEXT(pwrite)(fd, data, bytes, at);
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t at) {
    REFUSE(fd)
    return NEXT(pwrite64)(fd, data, bytes, at);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
    REFUSE(fd)
    return NEXT(pwritev)(fd, parts, count, at);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) {
    REFUSE(fd)
    return NEXT(pwritev64)(fd, parts, count, at);
}

int posix_fallocate(int fd, off_t at, off_t bytes) {
    return is_full(fd) ? ENOSPC : NEXT(posix_fallocate)(fd, at, bytes);
}

int posix_fallocate64(int fd, off64_t at, off64_t bytes) {
    return is_full(fd) ? ENOSPC : NEXT(posix_fallocate64)(fd, at, bytes);
}
