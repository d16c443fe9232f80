// A wall clock that a test can set while a server runs. Preloaded, it adds the microseconds in the file named by WALL_CLOCK_FILE
// to the time of day. It does not change the steady clock. It calls the kernel directly and looks up no symbol, so it also works
// with the sanitizers, where libfaketime does not.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int64_t offset(void) {
  static int64_t* shared;
  int64_t* found = __atomic_load_n(&shared, __ATOMIC_ACQUIRE);
  if (!found) {
    const char* path = getenv("WALL_CLOCK_FILE");
    const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return 0;
    found = mmap(NULL, sizeof *found, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (found == MAP_FAILED) return 0;
    __atomic_store_n(&shared, found, __ATOMIC_RELEASE);
  }
  return __atomic_load_n(found, __ATOMIC_RELAXED);
}

int clock_gettime(clockid_t clock, struct timespec* out) {
  const long result = syscall(SYS_clock_gettime, clock, out);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    const int64_t nanoseconds = out->tv_sec * 1000000000LL + out->tv_nsec + offset() * 1000;
    out->tv_sec = nanoseconds / 1000000000;
    out->tv_nsec = nanoseconds % 1000000000;
  }
  return (int)result;
}

int gettimeofday(struct timeval* restrict out, void* restrict zone) {
  (void)zone;
  struct timespec now;
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return result;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
