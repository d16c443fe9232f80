// Preloaded into PostgreSQL: its backends stay in the session, and with it in the scheduler's group, of the run.
// Without this each would begin a session of its own with the default share of the cores, and the peer would be
// measured with less of the machine than the others.
#include <unistd.h>

extern "C" pid_t setsid() noexcept { return getpid(); }
