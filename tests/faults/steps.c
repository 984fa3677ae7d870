/*
 * Stands between a process, with all that it starts, and the file system: counts every step that changes a file under
 * one folder, and kills at one of them, or lets it fail. For tests; loaded with LD_PRELOAD.
 *
 *   STEPS        the record, shared by all processes: counter, flags, process ids; STEPS.log names each step
 *   STEPS_ROOT   only what lies under this folder counts
 *   STEPS_AT     the step that is hit; 0 only counts
 *   STEPS_FAULT  kill (every process), alone (only the first process), the errno that the step gives, or a signal for
 *                the process group of the first process, as -2
 *   STEPS_LASTS  1: from that step on every step fails, as on a disk that stays full
 *   STEPS_READS  1: opening for reading and reading are the steps, instead of what changes
 *   STEPS_OURS   1: only steps of our own processes, and of the gits that they start
 *   STEPS_ASK    a socket; whoever listens there is told of each step, which waits for his answer
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define PIDS 4096
struct record { unsigned count, dead, pids; int pid[PIDS]; };

static struct record *record;
static char root[PATH_MAX], log_path[PATH_MAX];
static struct sockaddr_un asked = { .sun_family = AF_UNIX };
static unsigned at, lasts, reads, alone;
static int failing;

static const char *variable(const char *name) { const char *value = getenv(name); return value ? value : ""; }

__attribute__((constructor)) static void begin(void)
{
	const char *path = variable("STEPS");
	int fd;
	if (!*path || (fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0)) < 0)
		return;
	snprintf(root, sizeof root, "%s", variable("STEPS_ROOT"));
	snprintf(log_path, sizeof log_path, "%s.log", path);
	snprintf(asked.sun_path, sizeof asked.sun_path, "%s", variable("STEPS_ASK"));
	at = atoi(variable("STEPS_AT"));
	lasts = atoi(variable("STEPS_LASTS"));
	reads = atoi(variable("STEPS_READS"));
	/* the gits that we start are told so, and those that start us are not */
	if (atoi(variable("STEPS_OURS")) && !strstr(program_invocation_short_name, "python") && !*variable("GIT_NO_LAZY_FETCH"))
		return;
	alone = !strcmp(variable("STEPS_FAULT"), "alone");
	failing = atoi(variable("STEPS_FAULT"));
	record = mmap(NULL, sizeof *record, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	syscall(SYS_close, fd);
	if (record == MAP_FAILED) { record = NULL; return; }
	unsigned mine = __sync_fetch_and_add(&record->pids, 1);
	if (mine < PIDS)
		record->pid[mine] = getpid();
	if (record->dead)
		raise(SIGKILL);
}

__attribute__((destructor)) static void end(void)
{
	for (unsigned i = 0; record && i < record->pids && i < PIDS; i++)
		if (record->pid[i] == getpid())
			record->pid[i] = 0; /* nobody else who gets this number is killed */
}

static void kill_all(void)
{
	if (alone) {
		if (record->pid[0])
			kill(record->pid[0], SIGKILL);
		return;
	}
	record->dead = 1;
	for (unsigned i = 0; i < record->pids && i < PIDS; i++)
		if (record->pid[i] && record->pid[i] != getpid())
			kill(record->pid[i], SIGKILL);
	raise(SIGKILL);
}

static void note(const char *name, const char *path, const char *outcome)
{
	char line[PATH_MAX + 64];
	int length = snprintf(line, sizeof line, "%s %s%s\n", name, path + strlen(root), outcome);
	int fd = syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd >= 0) {
		syscall(SYS_write, fd, line, length);
		syscall(SYS_close, fd);
	}
}

/* Tell whoever listens of a step, and wait until he has seen how things stand before it. */
static void ask(const char *name, const char *path)
{
	char line[PATH_MAX + 64];
	int length = snprintf(line, sizeof line, "%s %s", name, path + strlen(root));
	int fd = *asked.sun_path ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
	if (fd < 0)
		return;
	if (!connect(fd, (struct sockaddr *)&asked, sizeof asked)) {
		syscall(SYS_write, fd, line, length);
		syscall(SYS_read, fd, line, 1);
	}
	syscall(SYS_close, fd);
}

/* Count a step at a path that is known whole; true where it must fail. `room` tells whether it needs room on disk. */
static int is_hit(const char *name, const char *path, int room)
{
	size_t length = strlen(root);
	if (strncmp(path, root, length) || (path[length] != '/' && path[length]))
		return 0;
	if (record->dead)
		raise(SIGKILL);
	int saved = errno;
	ask(name, path);
	errno = saved;
	unsigned number = __sync_add_and_fetch(&record->count, 1);
	int due = at && (number == at || (lasts && number > at));
	int fails = due && failing > 0 && (room || failing == EIO || failing == EACCES || failing == EROFS);
	if (!due || failing || !alone)
		note(name, path, due ? fails ? " FAILS" : " DUE" : "");
	if (due && failing < 0)
		kill(-record->pid[0], -failing);
	if (due && !failing)
		kill_all();
	if (fails)
		errno = failing;
	return fails;
}

static int at_path(const char *name, int folder, const char *path, int room)
{
	char whole[2 * PATH_MAX], place[64];
	int saved = errno;
	if (!record || !path)
		return 0;
	if (path[0] == '/')
		snprintf(whole, sizeof whole, "%s", path);
	else {
		ssize_t length;
		if (folder == AT_FDCWD)
			snprintf(place, sizeof place, "/proc/self/cwd");
		else
			snprintf(place, sizeof place, "/proc/self/fd/%d", folder);
		length = syscall(SYS_readlinkat, AT_FDCWD, place, whole, PATH_MAX);
		if (length < 0) { errno = saved; return 0; }
		snprintf(whole + length, sizeof whole - length, "/%s", path);
	}
	errno = saved;
	return is_hit(name, whole, room);
}

static int at_fd(const char *name, int fd, int room)
{
	struct stat found;
	char place[64], whole[PATH_MAX];
	int saved = errno;
	if (!record)
		return 0;
	snprintf(place, sizeof place, "/proc/self/fd/%d", fd);
	if (fstat(fd, &found) || !(S_ISREG(found.st_mode) || S_ISDIR(found.st_mode))) { errno = saved; return 0; }
	ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, place, whole, sizeof whole - 1);
	errno = saved;
	if (length < 0)
		return 0;
	whole[length] = 0;
	return is_hit(name, whole, room);
}

#define REAL(name) ({ static typeof(name) *real; if (!real) real = dlsym(RTLD_NEXT, #name); real; })
#define PATH_STEP(type, name, parameters, arguments, folder, path, room) \
	type name parameters { if (!reads && at_path(#name, folder, path, room)) return -1; return REAL(name) arguments; }
#define FD_STEP(type, name, parameters, arguments, fd, room) \
	type name parameters { if (!reads && at_fd(#name, fd, room)) return -1; return REAL(name) arguments; }
#define READ_STEP(type, name, parameters, arguments, fd) \
	type name parameters { if (reads && at_fd(#name, fd, 1)) return -1; return REAL(name) arguments; }
#define OPEN(name, parameters, arguments, folder) \
	int name parameters { \
		va_list rest; va_start(rest, flags); int mode = va_arg(rest, int); va_end(rest); \
		int changes = (flags & (O_CREAT | O_TRUNC)) != 0; \
		if (changes != (int)reads && at_path(#name, folder, path, 1)) return -1; \
		return REAL(name) arguments; }

OPEN(open, (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD)
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD)
OPEN(openat, (int folder, const char *path, int flags, ...), (folder, path, flags, mode), folder)
OPEN(openat64, (int folder, const char *path, int flags, ...), (folder, path, flags, mode), folder)
PATH_STEP(int, rename, (const char *a, const char *b), (a, b), AT_FDCWD, b, 1)
PATH_STEP(int, renameat, (int f, const char *a, int g, const char *b), (f, a, g, b), g, b, 1)
PATH_STEP(int, link, (const char *a, const char *b), (a, b), AT_FDCWD, b, 1)
PATH_STEP(int, linkat, (int f, const char *a, int g, const char *b, int h), (f, a, g, b, h), g, b, 1)
PATH_STEP(int, symlink, (const char *a, const char *b), (a, b), AT_FDCWD, b, 1)
PATH_STEP(int, unlink, (const char *path), (path), AT_FDCWD, path, 0)
PATH_STEP(int, unlinkat, (int folder, const char *path, int flags), (folder, path, flags), folder, path, 0)
PATH_STEP(int, mkdir, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path, 1)
PATH_STEP(int, mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode), folder, path, 1)
PATH_STEP(int, rmdir, (const char *path), (path), AT_FDCWD, path, 0)
PATH_STEP(int, truncate, (const char *path, off_t size), (path, size), AT_FDCWD, path, 1)
PATH_STEP(int, chmod, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path, 0)
PATH_STEP(int, utimes, (const char *path, const struct timeval times[2]), (path, times), AT_FDCWD, path, 0)
FD_STEP(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size), fd, 1)
FD_STEP(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t o), (fd, data, size, o), fd, 1)
FD_STEP(ssize_t, writev, (int fd, const struct iovec *data, int count), (fd, data, count), fd, 1)
FD_STEP(int, fsync, (int fd), (fd), fd, 1)
FD_STEP(int, fdatasync, (int fd), (fd), fd, 1)
FD_STEP(int, ftruncate64, (int fd, off64_t size), (fd, size), fd, 1)
FD_STEP(int, fchmod, (int fd, mode_t mode), (fd, mode), fd, 0)
READ_STEP(ssize_t, read, (int fd, void *data, size_t size), (fd, data, size), fd)
READ_STEP(ssize_t, pread64, (int fd, void *data, size_t size, off64_t o), (fd, data, size, o), fd)

int utimensat(int folder, const char *path, const struct timespec times[2], int flags)
{
	if (!reads && at_path("utimensat", folder, path, 0))
		return -1;
	return REAL(utimensat)(folder, path, times, flags);
}
