// Checks the promises of a fuzz target in every build, so that a replay without assertions checks them too.
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
