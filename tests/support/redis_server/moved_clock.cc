// A library that is preloaded into redis-server before libc. Its time of day stands still, and the
// test moves it through a file. Its monotonic clock runs, so timers fire as usual. Its random numbers are
// the same in each process, and so is the order of its hash tables, unless RUSHGATE_RANDOM is set: nodes of a
// cluster must have different ids.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

constexpr std::int64_t kMsPerSecond = 1'000;
constexpr std::int64_t kUsPerMs = 1'000;

/// Maps the file named by RUSHGATE_CLOCK: milliseconds since 1970 UTC.
const volatile std::int64_t* map_clock() {
  const int fd = ::open(std::getenv("RUSHGATE_CLOCK"), O_RDONLY | O_CLOEXEC);
  void* const mapped = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) std::abort();
  ::close(fd);
  return static_cast<const volatile std::int64_t*>(mapped);
}

std::int64_t now_ms() {
  static const volatile std::int64_t* const kNow = map_clock();
  return *kNow;
}

using Open = std::FILE*(const char* path, const char* mode);

std::FILE* open_by(const char* function, const char* path, const char* mode) {
  auto* const open = reinterpret_cast<Open*>(::dlsym(RTLD_NEXT, function));
  const bool is_replaced =
      std::strcmp(path, "/dev/urandom") == 0 && std::getenv("RUSHGATE_RANDOM") == nullptr;
  return open(is_replaced ? "/dev/zero" : path, mode);
}

}  // namespace

extern "C" std::FILE* fopen(const char* path, const char* mode) {
  return open_by("fopen", path, mode);
}

extern "C" std::FILE* fopen64(const char* path, const char* mode) {
  return open_by("fopen64", path, mode);
}

extern "C" int gettimeofday(timeval* now, void* /*zone*/) noexcept {
  now->tv_sec = now_ms() / kMsPerSecond;
  now->tv_usec = now_ms() % kMsPerSecond * kUsPerMs;
  return 0;
}

extern "C" std::time_t time(std::time_t* now) noexcept {
  const std::time_t seconds = now_ms() / kMsPerSecond;
  if (now != nullptr) *now = seconds;
  return seconds;
}
