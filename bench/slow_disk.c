/* Makes a disk slow: LD_PRELOAD this, and each process writes SLOW_DISK bytes a second to files.
 * The lock makes it one disk for all threads.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t disk = PTHREAD_MUTEX_INITIALIZER;

static void wait_for(int fd, size_t count)
{
	const char *rate = getenv("SLOW_DISK");
	struct stat s;

	if (!rate || fstat(fd, &s) || !S_ISREG(s.st_mode))
		return;
	pthread_mutex_lock(&disk);
	usleep(1e6 * count / atof(rate));
	pthread_mutex_unlock(&disk);
}

ssize_t write(int fd, const void *data, size_t count)
{
	ssize_t (*next)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");

	wait_for(fd, count);
	return next(fd, data, count);
}

ssize_t pwrite64(int fd, const void *data, size_t count, off64_t at)
{
	ssize_t (*next)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");

	wait_for(fd, count);
	return next(fd, data, count, at);
}
