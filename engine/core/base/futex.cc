#include "engine/core/base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace rushgate {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t timeout_ms) {
  timespec timeout{};
  if (timeout_ms >= 0) {
    timeout.tv_sec = timeout_ms / 1'000;
    timeout.tv_nsec = timeout_ms % 1'000 * 1'000'000;
  }
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, timeout_ms < 0 ? nullptr : &timeout,
          nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace rushgate
