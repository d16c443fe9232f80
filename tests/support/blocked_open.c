// An open() that a test holds up while a server runs. Preloaded, openat() of a path that contains the text in the file named by
// BLOCKED_OPEN_FILE waits until that file is empty. It calls the kernel directly and looks up no symbol, as wall_clock.c.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static int is_blocked(const char* path) {
  const char* control = getenv("BLOCKED_OPEN_FILE");
  const int fd = control ? (int)syscall(SYS_openat, AT_FDCWD, control, O_RDONLY | O_CLOEXEC, 0) : -1;
  if (fd < 0) return 0;
  char name[256];
  const ssize_t size = read(fd, name, sizeof name - 1);
  close(fd);
  if (size <= 0) return 0;
  name[size] = 0;
  return strstr(path, name) != NULL;
}

int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  const struct timespec pause = {0, 1000000};
  while (is_blocked(path)) nanosleep(&pause, NULL);
  return (int)syscall(SYS_openat, folder, path, flags, mode);
}
