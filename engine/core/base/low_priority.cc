#include "engine/core/base/low_priority.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <future>
#include <system_error>

namespace rushgate {
namespace {

/// Lowers the priority of the calling thread for good: raising it again needs a privilege. A failure
/// leaves it as it is.
void lower_priority() {
  // 6 % of a processor beside one busy thread. The lowest priority, 19, has hardly any beside several.
  // The priority at the disk follows from it.
  constexpr int kNice = 12;
  const auto thread = static_cast<id_t>(::syscall(SYS_gettid));
  static_cast<void>(::setpriority(PRIO_PROCESS, thread, kNice));
}

}  // namespace

void run_at_low_priority(absl::FunctionRef<void()> work) {
  std::future<void> done;
  try {
    done = std::async(std::launch::async, [work] {
      lower_priority();
      work();
    });
  } catch (const std::system_error&) {  // no thread can be started
    return work();
  }
  done.get();
}

}  // namespace rushgate
