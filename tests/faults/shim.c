/* Faults on purpose: a library to preload (LD_PRELOAD) under the real server.
 *
 * It sees every call that changes files below one directory, numbers them, and lets one fault
 * happen at the N-th. It keeps, for every change that no sync has made durable yet, what is needed
 * to undo it. So it can cut the power: undo a subset of these changes, chosen by a seed, and end
 * the process. The files are then what a disk may have after a real power cut.
 *
 * What counts as durable: the data of a file after fsync or fdatasync of that file; a created,
 * removed or renamed name after fsync of its directory. Everything else may be lost, in sectors of
 * 512 bytes and names. This is the promise of POSIX, which is weaker than that of usual file
 * systems. Files that end in -shm are memory that SQLite shares, the only files that are mapped and
 * written: they are no durable data.
 *
 * Environment:
 *   FAULTS_DIR    the directory
 *   FAULTS_STASH  a directory on the same file system, for files whose names are removed
 *   FAULTS_LOG    a file to which each numbered call is written
 *   FAULTS_FULL   while this file exists, calls that need room fail with ENOSPC
 *   FAULTS_NO_THREADS  while this file exists, no thread can be created
 *   FAULTS        none; or KIND:N:SEED, what happens at call N; or KIND:N:SEED:CALL, at the N-th of
 *                 the calls CALL: what is done and a file's name without the digits that it begins
 *                 with, such as "write store.sqlite"
 *     cut      the power is cut before it, after it or, if it writes, in the middle
 *     fail     it fails with EIO; if it is a sync, what it was to sync never becomes durable, and
 *              the power is cut when the process ends
 *     full     it fails with ENOSPC
 *     short    it writes half of what it was to write
 *     readfail reads are numbered instead, and read N fails with EIO
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SECTOR = 512, EXIT_CUT = 86 };
enum fault { NONE, CUT, FAIL, FULL, SHORT, READ_FAIL };
enum kind { DATA, TRUNCATE, CREATE, REMOVE, RENAME, MAKE_DIR, REMOVE_DIR };

/* A file or directory, open for as long as the process lives, so that its number is not reused. */
struct node {
    struct node *next;
    dev_t dev;
    ino_t ino;
    int fd;
};

/* A change that can be undone. Names are relative to directories, which may be renamed. */
struct change {
    enum kind kind;
    int durable, doomed;
    struct node *node;      /* the file of data; otherwise the directory of the name */
    struct node *to;        /* the directory of the new name */
    char name[NAME_MAX + 1], to_name[NAME_MAX + 1];
    int stashed;            /* the number under which a removed or replaced file is stashed */
    off_t at, old_size;
    size_t bytes;           /* of the data */
    size_t kept;            /* of the data before */
    unsigned char *before;
};

static char root[PATH_MAX], stash[PATH_MAX], full_flag[PATH_MAX], threads_flag[PATH_MAX];
static enum fault fault = NONE;
static char wanted[NAME_MAX + 32];
static long strikes_at, calls, reads, hits, stashes;
static uint64_t seed = 1;
static int log_fd = -1, cut_at_exit, is_over;
static pid_t own;
static struct node *nodes;
static struct change **changes;
static size_t changes_count, changes_room;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* The calls of the system, without this library in between. */
static long sys(long result) {
    return result;
}
#define SYS(...) sys(syscall(__VA_ARGS__))
static int sys_openat(int dir, const char *path, int flags, mode_t mode) {
    return (int)SYS(SYS_openat, dir, path, flags, mode);
}
static ssize_t sys_pwrite(int fd, const void *data, size_t bytes, off_t at) {
    return SYS(SYS_pwrite64, fd, data, bytes, at);
}

static uint64_t random_u64(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * 0x2545F4914F6CDD1DULL;
}
static int coin(void) {
    return random_u64() >> 63;
}

static void copy_variable(char *to, const char *name) {
    const char *value = getenv(name);
    snprintf(to, PATH_MAX, "%s", value ? value : "");
}

__attribute__((constructor)) static void begin(void) {
    const char *dir = getenv("FAULTS_DIR"), *what = getenv("FAULTS"), *path = getenv("FAULTS_LOG");
    if (!dir) return;
    own = getpid();
    snprintf(root, sizeof root, "%s", dir);
    copy_variable(stash, "FAULTS_STASH");
    copy_variable(full_flag, "FAULTS_FULL");
    copy_variable(threads_flag, "FAULTS_NO_THREADS");
    if (path) log_fd = sys_openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    char kind[16] = "none";
    unsigned long long given = 1;
    if (what) sscanf(what, "%15[a-z]:%ld:%llu:%255[^\n]", kind, &strikes_at, &given, wanted);
    seed = (given + 1) * 0x9E3779B97F4A7C15ULL;
    const char *kinds[] = {"none", "cut", "fail", "full", "short", "readfail"};
    for (int i = 0; i < 6; i++)
        if (!strcmp(kind, kinds[i])) fault = (enum fault)i;
}

/* Whether changes are kept so that they can be undone. */
static int remembers(void) {
    return fault == CUT || fault == FAIL;
}

static int is_below_root(const char *path) {
    size_t length = strlen(root);
    return length && !strncmp(path, root, length) && (path[length] == '/' || !path[length]);
}

/* Whether an open file is below the directory, still has a name and is no shared memory. */
static int is_ours(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = SYS(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    if (length <= 0 || path[0] != '/') return 0;
    path[length] = 0;
    if (length > 4 && !strcmp(path + length - 4, "-shm")) return 0;
    if (length > 10 && !strcmp(path + length - 10, " (deleted)")) return 0;
    return is_below_root(path);
}

static struct node *node_of(int fd) {
    struct stat st;
    if (fstat(fd, &st)) return NULL;
    for (struct node *node = nodes; node; node = node->next)
        if (node->dev == st.st_dev && node->ino == st.st_ino) return node;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    /* A second descriptor is never closed: that would release the locks that SQLite has. */
    int flags = S_ISDIR(st.st_mode) ? O_RDONLY | O_DIRECTORY : O_RDWR;
    struct node *node = calloc(1, sizeof *node);
    node->dev = st.st_dev;
    node->ino = st.st_ino;
    node->fd = sys_openat(AT_FDCWD, link, flags | O_CLOEXEC, 0);
    node->next = nodes;
    nodes = node;
    return node;
}

static struct change *remember(enum kind kind, struct node *node) {
    struct change *change = calloc(1, sizeof *change);
    change->kind = kind;
    change->node = node;
    change->stashed = -1;
    if (changes_count == changes_room) {
        changes_room = changes_room ? changes_room * 2 : 256;
        changes = realloc(changes, changes_room * sizeof *changes);
    }
    return changes[changes_count++] = change;
}

/* ---- The power cut ---- */

/* What a cut takes of the changes that are not durable. */
enum loss { ALL, NOTHING, LATEST, SOME, SECTORS, DATA_ONLY, NAMES_ONLY, LOSSES };

static void write_back(struct change *change, size_t from, size_t to) {
    static const unsigned char zeros[SECTOR];
    if (from < change->kept) {
        size_t end = to < change->kept ? to : change->kept;
        sys_pwrite(change->node->fd, change->before + from, end - from, change->at + from);
        from = end;
    }
    for (; from < to; from += SECTOR) {
        size_t bytes = to - from < SECTOR ? to - from : SECTOR;
        sys_pwrite(change->node->fd, zeros, bytes, change->at + from);
    }
}

static void undo_data(struct change *change, int by_sectors) {
    int whole = 1;
    for (size_t from = 0, to; from < change->bytes; from = to) {
        to = from + SECTOR - (change->at + from) % SECTOR;
        if (to > change->bytes) to = change->bytes;
        if (by_sectors && coin()) whole = 0;
        else write_back(change, from, to);
    }
    struct stat st;
    off_t end = change->at + (off_t)change->bytes;
    if (whole && end > change->old_size && !fstat(change->node->fd, &st) && st.st_size == end
        && (!by_sectors || coin()))
        SYS(SYS_ftruncate, change->node->fd, change->old_size);
}

static void undo_truncate(struct change *change) {
    struct stat st;
    if (change->kept) sys_pwrite(change->node->fd, change->before, change->kept, change->at);
    if (!fstat(change->node->fd, &st) && st.st_size == change->at && st.st_size > change->old_size)
        SYS(SYS_ftruncate, change->node->fd, change->old_size);
}

static void remove_all(int dir, const char *name) {
    if (!SYS(SYS_unlinkat, dir, name, 0)) return;
    int fd = sys_openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) return;
    DIR *entries = fdopendir(fd);
    for (struct dirent *entry; (entry = readdir(entries));)
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            remove_all(fd, entry->d_name);
    closedir(entries);
    SYS(SYS_unlinkat, dir, name, AT_REMOVEDIR);
}

static void restore_stashed(struct change *change, struct node *dir, const char *name) {
    char path[PATH_MAX + 32];
    if (change->stashed < 0) return;
    snprintf(path, sizeof path, "%s/%d", stash, change->stashed);
    SYS(SYS_linkat, AT_FDCWD, path, dir->fd, name, 0);
}

static void undo(struct change *change, int by_sectors) {
    switch (change->kind) {
    case DATA: undo_data(change, by_sectors); break;
    case TRUNCATE: undo_truncate(change); break;
    case CREATE:
    case MAKE_DIR: remove_all(change->node->fd, change->name); break;
    case REMOVE: restore_stashed(change, change->node, change->name); break;
    case REMOVE_DIR: SYS(SYS_mkdirat, change->node->fd, change->name, 0755); break;
    case RENAME:
        if (!faccessat(change->node->fd, change->name, F_OK, AT_SYMLINK_NOFOLLOW)) break;
        SYS(SYS_renameat2, change->to->fd, change->to_name, change->node->fd, change->name, 0);
        restore_stashed(change, change->to, change->to_name);
    }
}

static int is_lost(struct change *change, enum loss loss, size_t number, size_t kept) {
    int is_data = change->kind == DATA || change->kind == TRUNCATE;
    if (change->doomed) return 1;
    switch (loss) {
    case ALL: return 1;
    case LATEST: return number >= kept;
    case SOME: return coin();
    case SECTORS: return change->kind == DATA || coin();
    case DATA_ONLY: return is_data;
    case NAMES_ONLY: return !is_data;
    default: return 0;
    }
}

/* The mutex is held for ever, so that nothing else changes. */
static void cut(void) {
    enum loss loss = random_u64() % LOSSES;
    size_t kept = changes_count ? random_u64() % (changes_count + 1) : 0;
    is_over = 1;
    for (size_t i = changes_count; i-- > 0;) {
        struct change *change = changes[i];
        if (!change->durable && is_lost(change, loss, i, kept)) undo(change, loss == SECTORS);
    }
    SYS(SYS_exit_group, EXIT_CUT);
}

__attribute__((destructor)) static void end(void) {
    if (cut_at_exit && getpid() == own) {
        pthread_mutex_lock(&mutex);
        cut();
    }
}

/* ---- Numbering the calls ---- */

static void note(long number, const char *what, const char *path) {
    if (log_fd < 0) return;
    char line[PATH_MAX + 64];
    int bytes = snprintf(line, sizeof line, "%ld %s %s\n", number, what, path);
    SYS(SYS_write, log_fd, line, bytes);
}

/* Whether the fault happens at this call. Called with the mutex held. */
static int strikes(const char *what, const char *path) {
    size_t length = strlen(what);
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    name += strspn(name, "0123456789");
    if (wanted[0] && (strncmp(wanted, what, length) || wanted[length] != ' '
                      || strcmp(wanted + length + 1, name)))
        return 0;
    return ++hits == strikes_at;
}

/* Counts a call and returns the fault that strikes it. Called with the mutex held. */
static enum fault count(const char *what, const char *path) {
    calls++;
    if (fault != READ_FAIL) note(calls, what, path);
    if (fault == NONE || fault == READ_FAIL || !strikes(what, path)) return NONE;
    if (fault == CUT && coin()) cut();
    return fault;
}

/* After the call at which the power is to be cut. */
static void after(enum fault struck) {
    if (struck == CUT) cut();
}

static int refuse(int error) {
    pthread_mutex_unlock(&mutex);
    errno = error;
    return -1;
}

static int exists(const char *path) {
    return path[0] && !SYS(SYS_faccessat, AT_FDCWD, path, F_OK);
}

static int is_full(void) {
    return exists(full_flag);
}

/* ---- Data ---- */

static ssize_t write_at(int fd, const void *data, size_t bytes, off_t at, int moves, char *path) {
    pthread_mutex_lock(&mutex);
    struct stat st = {0};
    fstat(fd, &st);
    enum fault struck = count("write", path);
    if (struck == FAIL) return refuse(EIO);
    if (struck == FULL || (is_full() && at + (off_t)bytes > st.st_size)) return refuse(ENOSPC);
    if (bytes > 1 && (struck == SHORT || struck == CUT)) bytes = struck == SHORT ? bytes / 2
        : 1 + random_u64() % bytes;
    if (remembers()) {
        struct change *change = remember(DATA, node_of(fd));
        change->at = at;
        change->old_size = st.st_size;
        change->bytes = bytes;
        if (at < st.st_size) {
            change->before = malloc(bytes);
            ssize_t read = SYS(SYS_pread64, change->node->fd, change->before, bytes, at);
            change->kept = read > 0 ? read : 0;
        }
    }
    ssize_t written = moves ? SYS(SYS_write, fd, data, bytes) : sys_pwrite(fd, data, bytes, at);
    after(struck);
    pthread_mutex_unlock(&mutex);
    return written;
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t at) {
    char path[PATH_MAX];
    if (is_over || !is_ours(fd, path)) return sys_pwrite(fd, data, bytes, at);
    return write_at(fd, data, bytes, at, 0, path);
}
ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at) {
    return pwrite64(fd, data, bytes, at);
}

ssize_t write(int fd, const void *data, size_t bytes) {
    char path[PATH_MAX];
    if (is_over || !root[0] || !is_ours(fd, path)) return SYS(SYS_write, fd, data, bytes);
    off_t at = lseek(fd, 0, SEEK_CUR);
    if (fcntl(fd, F_GETFL) & O_APPEND) at = lseek(fd, 0, SEEK_END);
    return write_at(fd, data, bytes, at, 1, path);
}

/* One part at a time, as the system may do as well. */
ssize_t writev(int fd, const struct iovec *parts, int count) {
    char path[PATH_MAX];
    if (is_over || !root[0] || !is_ours(fd, path)) return SYS(SYS_writev, fd, parts, count);
    for (int i = 0; i < count; i++)
        if (parts[i].iov_len) return write(fd, parts[i].iov_base, parts[i].iov_len);
    return 0;
}

int ftruncate64(int fd, off64_t size) {
    char path[PATH_MAX];
    if (is_over || !is_ours(fd, path)) return (int)SYS(SYS_ftruncate, fd, size);
    pthread_mutex_lock(&mutex);
    struct stat st = {0};
    fstat(fd, &st);
    enum fault struck = count("truncate", path);
    if (struck == FAIL) return refuse(EIO);
    if (struck == FULL || (is_full() && size > st.st_size)) return refuse(ENOSPC);
    if (remembers()) {
        struct change *change = remember(TRUNCATE, node_of(fd));
        change->at = size;
        change->old_size = st.st_size;
        if (size < st.st_size) {
            change->before = malloc(st.st_size - size);
            ssize_t read =
                SYS(SYS_pread64, change->node->fd, change->before, st.st_size - size, size);
            change->kept = read > 0 ? read : 0;
        }
    }
    int done = (int)SYS(SYS_ftruncate, fd, size);
    after(struck);
    pthread_mutex_unlock(&mutex);
    return done;
}
int ftruncate(int fd, off_t size) {
    return ftruncate64(fd, size);
}

/* Nothing needs to reach the disk of the test, so no sync is made. */
static int sync_of(int fd, int is_data_only) {
    char path[PATH_MAX];
    if (is_over || !is_ours(fd, path))
        return (int)SYS(is_data_only ? SYS_fdatasync : SYS_fsync, fd);
    pthread_mutex_lock(&mutex);
    enum fault struck = count("sync", path);
    if (struck == FULL) return refuse(ENOSPC);
    if (remembers()) {
        struct node *node = node_of(fd);
        for (size_t i = 0; i < changes_count; i++) {
            struct change *change = changes[i];
            /* A file that moves to another directory is there once that one is synced. */
            struct node *of = change->kind == RENAME ? change->to : change->node;
            if (of != node || change->durable || change->doomed) continue;
            if (struck == FAIL) change->doomed = 1;
            else change->durable = 1;
        }
    }
    if (struck == FAIL) {
        cut_at_exit = 1;
        return refuse(EIO);
    }
    after(struck);
    pthread_mutex_unlock(&mutex);
    return 0;
}
int fsync(int fd) {
    return sync_of(fd, 0);
}
int fdatasync(int fd) {
    return sync_of(fd, 1);
}

/* ---- Names ---- */

/* The directory and the last part of a path; NULL if it is not below the root. */
static struct node *place_of(int dir, const char *path, char *name, char *whole) {
    char parent[PATH_MAX], found[PATH_MAX];
    if (!root[0]) return NULL;
    snprintf(parent, sizeof parent, "%s", path);
    size_t length = strlen(parent);
    while (length > 1 && parent[length - 1] == '/') parent[--length] = 0;
    char *slash = strrchr(parent, '/');
    const char *last = slash ? slash + 1 : parent;
    if (strlen(last) > NAME_MAX) return NULL;
    strcpy(name, last);
    if (slash) slash[slash == parent] = 0;
    int fd = sys_openat(dir, slash ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) return NULL;
    struct node *node = is_ours(fd, found) ? node_of(fd) : NULL;
    SYS(SYS_close, fd);
    size_t end = strlen(name);
    if (end > 4 && !strcmp(name + end - 4, "-shm")) return NULL;
    if (node) snprintf(whole, PATH_MAX + NAME_MAX + 2, "%s/%s", found, name);
    return node;
}

static int stashed(struct node *dir, const char *name) {
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/%ld", stash, stashes);
    return SYS(SYS_linkat, dir->fd, name, AT_FDCWD, path, 0) ? -1 : (int)stashes++;
}

static int open_at(int dir, const char *path, int flags, mode_t mode) {
    char name[NAME_MAX + 1], whole[PATH_MAX + NAME_MAX + 2];
    if (is_over || !(flags & (O_CREAT | O_TRUNC)) || (flags & O_TMPFILE) == O_TMPFILE)
        return sys_openat(dir, path, flags, mode);
    pthread_mutex_lock(&mutex);
    struct node *node = place_of(dir, path, name, whole);
    struct stat st;
    int is_new = node && fstatat(node->fd, name, &st, 0);
    /* A file that exists and is not truncated is only opened. */
    if (!node || (!is_new && !(flags & O_TRUNC && st.st_size))) {
        pthread_mutex_unlock(&mutex);
        return sys_openat(dir, path, flags, mode);
    }
    if (!is_new) {
        pthread_mutex_unlock(&mutex);
        int fd = sys_openat(dir, path, flags & ~O_TRUNC, mode);
        return fd < 0 || !ftruncate64(fd, 0) ? fd : -1;
    }
    enum fault struck = count("create", whole);
    if (struck == FAIL) return refuse(EIO);
    if (struck == FULL || is_full()) return refuse(ENOSPC);
    int fd = sys_openat(dir, path, flags, mode);
    if (fd >= 0 && remembers()) strcpy(remember(CREATE, node)->name, name);
    after(struck);
    pthread_mutex_unlock(&mutex);
    return fd;
}

#define MODE_OF(flags)                                                                            \
    mode_t mode = 0;                                                                              \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                        \
        va_list rest;                                                                             \
        va_start(rest, flags);                                                                    \
        mode = va_arg(rest, mode_t);                                                              \
        va_end(rest);                                                                             \
    }

int open(const char *path, int flags, ...) {
    MODE_OF(flags)
    return open_at(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    MODE_OF(flags)
    return open_at(AT_FDCWD, path, flags, mode);
}
int openat(int dir, const char *path, int flags, ...) {
    MODE_OF(flags)
    return open_at(dir, path, flags, mode);
}
int openat64(int dir, const char *path, int flags, ...) {
    MODE_OF(flags)
    return open_at(dir, path, flags, mode);
}

int unlinkat(int dir, const char *path, int flags) {
    char name[NAME_MAX + 1], whole[PATH_MAX + NAME_MAX + 2];
    struct stat st;
    pthread_mutex_lock(&mutex);
    struct node *node = is_over ? NULL : place_of(dir, path, name, whole);
    if (!node || fstatat(node->fd, name, &st, AT_SYMLINK_NOFOLLOW)
        || !S_ISDIR(st.st_mode) != !(flags & AT_REMOVEDIR)) {
        pthread_mutex_unlock(&mutex);
        return (int)SYS(SYS_unlinkat, dir, path, flags);
    }
    enum fault struck = count("remove", whole);
    if (struck == FAIL) return refuse(EIO);
    int number = remembers() && !S_ISDIR(st.st_mode) ? stashed(node, name) : -1;
    int done = (int)SYS(SYS_unlinkat, dir, path, flags), error = errno;
    if (!done && remembers()) {
        struct change *change = remember(flags & AT_REMOVEDIR ? REMOVE_DIR : REMOVE, node);
        strcpy(change->name, name);
        change->stashed = number;
    }
    after(struck);
    pthread_mutex_unlock(&mutex);
    errno = error;
    return done;
}
int unlink(const char *path) {
    return unlinkat(AT_FDCWD, path, 0);
}
int rmdir(const char *path) {
    return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

int mkdirat(int dir, const char *path, mode_t mode) {
    char name[NAME_MAX + 1], whole[PATH_MAX + NAME_MAX + 2];
    pthread_mutex_lock(&mutex);
    struct node *node = is_over ? NULL : place_of(dir, path, name, whole);
    if (!node || !faccessat(node->fd, name, F_OK, AT_SYMLINK_NOFOLLOW)) {
        pthread_mutex_unlock(&mutex);
        return (int)SYS(SYS_mkdirat, dir, path, mode);
    }
    enum fault struck = count("mkdir", whole);
    if (struck == FAIL) return refuse(EIO);
    if (struck == FULL || is_full()) return refuse(ENOSPC);
    int done = (int)SYS(SYS_mkdirat, dir, path, mode), error = errno;
    if (!done && remembers()) strcpy(remember(MAKE_DIR, node)->name, name);
    after(struck);
    pthread_mutex_unlock(&mutex);
    errno = error;
    return done;
}
int mkdir(const char *path, mode_t mode) {
    return mkdirat(AT_FDCWD, path, mode);
}

int renameat2(int dir, const char *from, int to_dir, const char *to, unsigned flags) {
    char name[NAME_MAX + 1], to_name[NAME_MAX + 1];
    char whole[PATH_MAX + NAME_MAX + 2], to_whole[PATH_MAX + NAME_MAX + 2];
    pthread_mutex_lock(&mutex);
    struct node *node = is_over ? NULL : place_of(dir, from, name, whole);
    struct node *to_node = node ? place_of(to_dir, to, to_name, to_whole) : NULL;
    if (!to_node) {
        pthread_mutex_unlock(&mutex);
        return (int)SYS(SYS_renameat2, dir, from, to_dir, to, flags);
    }
    enum fault struck = count("rename", to_whole);
    if (struck == FAIL) return refuse(EIO);
    if (struck == FULL) return refuse(ENOSPC);
    int number = remembers() ? stashed(to_node, to_name) : -1;
    int done = (int)SYS(SYS_renameat2, dir, from, to_dir, to, flags), error = errno;
    if (!done && remembers()) {
        struct change *change = remember(RENAME, node);
        change->to = to_node;
        strcpy(change->name, name);
        strcpy(change->to_name, to_name);
        change->stashed = number;
    }
    after(struck);
    pthread_mutex_unlock(&mutex);
    errno = error;
    return done;
}
int renameat(int dir, const char *from, int to_dir, const char *to) {
    return renameat2(dir, from, to_dir, to, 0);
}
int rename(const char *from, const char *to) {
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* ---- Reads ---- */

static int read_fails(int fd) {
    char path[PATH_MAX];
    if (fault != READ_FAIL || is_over || !is_ours(fd, path)) return 0;
    pthread_mutex_lock(&mutex);
    int fails = strikes("read", path);
    note(++reads, "read", path);
    pthread_mutex_unlock(&mutex);
    if (fails) errno = EIO;
    return fails;
}
ssize_t pread64(int fd, void *data, size_t bytes, off64_t at) {
    return read_fails(fd) ? -1 : SYS(SYS_pread64, fd, data, bytes, at);
}
ssize_t pread(int fd, void *data, size_t bytes, off_t at) {
    return pread64(fd, data, bytes, at);
}
ssize_t read(int fd, void *data, size_t bytes) {
    return read_fails(fd) ? -1 : SYS(SYS_read, fd, data, bytes);
}

/* ---- Threads ---- */

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument) {
    static int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!create) *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    return exists(threads_flag) ? EAGAIN : create(thread, attributes, start, argument);
}
