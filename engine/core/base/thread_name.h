// Names of threads, as `top -H`, /proc/<pid>/task/*/comm and debuggers show them.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace rushgate {

/// Names the calling thread. All threads of the library begin with "rg-".
template <std::size_t kBytes>
void name_this_thread(const char (&name)[kBytes]) {
  static_assert(kBytes <= 16, "Linux keeps 15 bytes of a name");
  pthread_setname_np(pthread_self(), name);
}

}  // namespace rushgate
