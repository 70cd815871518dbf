#include "tests/crash/losses/victim.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string_view>

#include "tests/crash/losses/shop.h"
#include "tests/support/faults/noted_syncs/noted_syncs.h"

extern char** environ;

namespace rushgate::losses {
namespace {

constexpr std::string_view kFlag = "--victim";
constexpr int kReportFd = 3;

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

void report(OrderId order) {
  if (::write(kReportFd, &order, sizeof(order)) != sizeof(order)) ::_exit(1);
}

}  // namespace

void Victim::be_one_if_told(int argc, char** argv) {
  constexpr int kArguments = 6;  // program, flag, directory, durability, stock, orders until killed
  if (argc != kArguments || argv[1] != kFlag) return;
  try {
    Shop shop(argv[2], static_cast<Durability>(std::atoi(argv[3])), std::atoll(argv[4]));
    shop.sell(report);
    // A victim that awaits its kill continues to store orders.
    if (std::atoll(argv[5]) > 0) ::pause();
    shop.drain();
    const std::string problems = shop.audit();
    if (problems.empty()) std::_Exit(0);
    std::fprintf(stderr, "%s", problems.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "victim: %s\n", error.what());
  }
  std::_Exit(1);
}

std::vector<OrderId> Victim::run() const {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], kReportFd);
  std::vector<std::string> words = {
      "loss_table",          std::string(kFlag),
      dir.string(),          std::to_string(static_cast<int>(durability)),
      std::to_string(stock), std::to_string(orders_until_killed)};
  std::vector<std::string> variables;
  if (!notes.empty()) variables = testing::noting_environment(notes);
  for (char** variable = environ; *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);  // of two with one name, the first is read
  }
  pid_t child = -1;
  const int spawned = ::posix_spawn(&child, "/proc/self/exe", &actions, nullptr,
                                    pointers_to(words).data(), pointers_to(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (spawned != 0) throw std::runtime_error("cannot start myself");

  std::vector<OrderId> accepted;
  bool is_killed = false;
  OrderId order = 0;
  while (::read(ends[0], &order, sizeof(order)) == sizeof(order)) {
    accepted.push_back(order);
    const auto count = static_cast<std::int64_t>(accepted.size());
    if (orders_until_killed == 0 || is_killed || count < orders_until_killed) continue;
    ::kill(child, SIGKILL);
    is_killed = true;
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  const bool is_as_told = is_killed ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
                                    : WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!is_as_told) throw std::runtime_error("the victim failed");
  return accepted;
}

}  // namespace rushgate::losses
