#include "engine/core/base/file_size_signal.h"

#include <sys/resource.h>

#include <cerrno>
#include <ctime>

namespace rushgate {
namespace {

sigset_t file_size_signal() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGXFSZ);
  return signals;
}

}  // namespace

FileSizeSignalBlock::FileSizeSignalBlock(bool is_needed) : is_needed_(is_needed) {
  if (!is_needed_) return;
  const sigset_t signal = file_size_signal();
  pthread_sigmask(SIG_BLOCK, &signal, &before_);
}

// A failed write left the signal pending on this thread. It is consumed before the mask is
// restored. errno is preserved for the caller.
FileSizeSignalBlock::~FileSizeSignalBlock() {
  if (!is_needed_ || sigismember(&before_, SIGXFSZ) == 1) return;
  const int error = errno;
  const sigset_t signal = file_size_signal();
  constexpr timespec kNoWait{};
  sigtimedwait(&signal, nullptr, &kNoWait);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

bool has_file_size_limit() {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

}  // namespace rushgate
