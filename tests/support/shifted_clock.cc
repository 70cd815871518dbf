// A library that is preloaded before libc (other_clock.h). The time of day is RUSHGATE_CLOCK_AHEAD_S seconds
// ahead. Monotonic clocks are not changed.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace {

std::time_t seconds_ahead() {
  static const std::time_t kAhead = std::atoll(std::getenv("RUSHGATE_CLOCK_AHEAD_S"));
  return kAhead;
}

}  // namespace

/// Waits until a time of day as this library gives it. The kernel's is another one. Other clocks are far from it.
extern "C" int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                      const timespec* until) {
  using Wait = int(pthread_cond_t*, pthread_mutex_t*, const timespec*);
  static auto* const kWait = reinterpret_cast<Wait*>(::dlsym(RTLD_NEXT, "pthread_cond_timedwait"));
  constexpr std::time_t kYear2001 = 1'000'000'000;
  timespec shifted = *until;
  if (shifted.tv_sec > kYear2001) shifted.tv_sec -= seconds_ahead();
  return kWait(condition, mutex, &shifted);
}

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const auto result = static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
  const bool is_time_of_day = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  if (result == 0 && is_time_of_day) now->tv_sec += seconds_ahead();
  return result;
}

extern "C" int gettimeofday(timeval* now, void* /*zone*/) noexcept {
  timespec time{};
  const int result = ::clock_gettime(CLOCK_REALTIME, &time);
  now->tv_sec = time.tv_sec;
  now->tv_usec = time.tv_nsec / 1'000;
  return result;
}

extern "C" std::time_t time(std::time_t* now) noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  if (now != nullptr) *now = time.tv_sec;
  return time.tv_sec;
}
