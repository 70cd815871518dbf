#include "tests/support/test_program.h"

#include <dirent.h>
#include <execinfo.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <span>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/base/config.h"
#include "absl/debugging/failure_signal_handler.h"
#include "absl/debugging/symbolize.h"

namespace {

std::atomic<bool> is_printed;

void print(std::string_view text) {
  static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
}

void print_number(std::string_view before, long number, std::string_view after) {
  std::array<char, 24> digits{};
  const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  print(before);
  print({digits.data(), static_cast<std::size_t>(end - digits.data())});
  print(after);
}

/// Prints the stack of the calling thread. Async-signal-safe.
void print_stack(int /*signal*/) {
  constexpr int kFramesMax = 64;
  std::array<void*, kFramesMax> frames{};
  const int count = backtrace(frames.data(), kFramesMax);
  print_number("thread ", gettid(), ":\n");
  for (void* const frame : std::span(frames).first(static_cast<std::size_t>(count))) {
    std::array<char, 512> name{};
    const bool is_known = absl::Symbolize(frame, name.data(), name.size());
    print("  ");
    print(is_known ? name.data() : "?");
    print("\n");
  }
  is_printed = true;
}

int stack_signal() { return SIGRTMAX - 1; }

/// Makes a thread print its stack. Skips a thread that does not within a second.
void print_stack_of(pid_t thread) {
  is_printed = false;
  if (syscall(SYS_tgkill, getpid(), thread, stack_signal()) != 0) return;
  constexpr timespec kLookAgain = {.tv_sec = 0, .tv_nsec = 10'000'000};
  for (int looks = 0; looks < 100 && !is_printed; ++looks) nanosleep(&kLookAgain, nullptr);
}

/// Allocates nothing: the interrupted thread may be inside an allocator.
void report_hang(int /*signal*/) {
  print("\nThe time limit of this test program is near. Its threads stand here:\n");
  const int tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  alignas(dirent64) std::array<char, 16'384> entries{};
  while (true) {
    const long bytes = syscall(SYS_getdents64, tasks, entries.data(), entries.size());
    if (bytes <= 0) break;
    for (long at = 0; at < bytes;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(entries.data() + at);
      const std::string_view name = entry->d_name;
      pid_t thread = 0;
      std::from_chars(name.data(), name.data() + name.size(), thread);
      if (thread != 0) print_stack_of(thread);
      at += entry->d_reclen;
    }
  }
  std::abort();
}

/// Reports a hang before the time limit RUSHGATE_TEST_SECONDS.
void report_hang_before_time_limit() {
  constexpr int kMarginSeconds = 10;
  const char* const limit = std::getenv("RUSHGATE_TEST_SECONDS");
  const int seconds = limit != nullptr ? std::atoi(limit) - kMarginSeconds : 0;
  if (seconds <= 0) return;
  std::array<void*, 1> frame{};
  backtrace(frame.data(), 1);  // the first call loads a library
  struct sigaction action = {};
  action.sa_handler = print_stack;
  sigaction(stack_signal(), &action, nullptr);
  action.sa_handler = report_hang;
  sigaction(SIGALRM, &action, nullptr);
  alarm(static_cast<unsigned>(seconds));
}

}  // namespace

#if defined(ABSL_HAVE_THREAD_SANITIZER)
// Debian's Lua calls this for errors. The thread sanitizer knows longjmp() only: it would keep the frames
// of every error on its stack, which it copies at each allocation.
extern "C" [[noreturn]] void __longjmp_chk(__jmp_buf_tag* where, int value) {  // NOLINT
  longjmp(where, value);
}
#endif

int rushgate::run_tests(int argc, char** argv) {
  absl::InitializeSymbolizer(argv[0]);
#if !defined(ABSL_HAVE_ADDRESS_SANITIZER) && !defined(ABSL_HAVE_THREAD_SANITIZER)
  absl::InstallFailureSignalHandler({});  // sanitizers have their own
#endif
  ::testing::InitGoogleMock(&argc, argv);
  report_hang_before_time_limit();
  return RUN_ALL_TESTS();
}
