// What a fuzz target promises is checked in every build, so that a replay without assertions still means something.
#pragma once
#include <cstdio>
#include <cstdlib>

#define ORACLE(condition)                                                                  \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      std::fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                        \
    }                                                                                      \
  } while (false)
