// Names of threads, as `top -H`, /proc/<pid>/task/*/comm and debuggers show them.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace rushgate {

/// A string literal. All threads of the library begin with "rg-".
class ThreadName {
 public:
  template <std::size_t kBytes>
  constexpr ThreadName(const char (&name)[kBytes])  // NOLINT(google-explicit-constructor)
      : name_(name) {
    static_assert(kBytes <= 16, "Linux keeps 15 bytes of a name");
  }

  [[nodiscard]] const char* c_str() const { return name_; }

 private:
  const char* name_;
};

/// Names the calling thread.
inline void name_this_thread(ThreadName name) { pthread_setname_np(pthread_self(), name.c_str()); }

}  // namespace rushgate
