#include "tests/crash/granting_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "tests/project/orders/item_grants.h"
#include <rushgate/flash_sale.h>

extern char** environ;

namespace rushgate {
namespace {

using GrantingPoint = GrantingProcess::Point;

constexpr const char* kGrantingFlag = "--granting-process";
constexpr int kLifeFd = 3;  // closed by the end of the process
constexpr int kHungMs = 60'000;
constexpr std::int64_t kPrice = 499;

[[noreturn]] void fail_granting(const std::string& reason) {
  std::fprintf(stderr, "granting process: %s\n", reason.c_str());
  _exit(1);
}

/// Kills this process when the point occurs for the nth time.
class SelfKill {
 public:
  SelfKill(GrantingPoint point, int nth) : point_(point), left_(nth) {}

  void at(GrantingPoint point) {
    if (point == point_ && left_.fetch_sub(1) == 1) (void)raise(SIGKILL);
  }

 private:
  const GrantingPoint point_;
  std::atomic<int> left_;
};

/// The game: each call of sell() has the same effects, so it continues the process before.
class Game {
 public:
  Game(const GrantingProcess& process, SelfKill& self_kill)
      : seed_(process.seed), kill_(self_kill), items_((process.dir / "items.db").string()) {
    FlashSaleOptions options;
    options.workers = 2;
    options.start_workers = false;
    options.on_state = [this](const OrderChange& change) { grant(change); };
    options.on_state_after = items_.position();
    auto sale = FlashSale::open((process.dir / "sale").string(), options);
    if (!sale.ok()) fail_granting(sale.status().ToString());
    sale_ = *std::move(sale);
    if (!sale_->start_workers().ok()) fail_granting("the workers do not start");
  }

  void sell() {
    const Voucher sword = {.id = 7,
                           .title = "Sword",
                           .stock = kGrantingRows,
                           .price_cents = kPrice,
                           .payment_ms = std::int64_t{24} * 60 * 60'000};
    if (const absl::Status published = sale_->publish(sword); !published.ok()) {
      fail_granting(published.ToString());
    }
    for (std::size_t row = 0; row < kGrantingRows; ++row) sell_row(row);
    if (const absl::Status drained = sale_->drain(); !drained.ok())
      fail_granting(drained.ToString());
  }

 private:
  void sell_row(std::size_t row) {
    const std::string name = std::to_string(row);
    const BuyResult bought = sale_->buy(7, 1 + static_cast<std::int64_t>(row), "row " + name);
    if (bought.outcome != Outcome::kAccepted)
      fail_granting(std::string(outcome_name(bought.outcome)));
    kill_.at(GrantingPoint::kAfterPurchase);
    ChangeResult changed{.outcome = ChangeOutcome::kDone};
    switch (granting_fate(seed_, row)) {
      case GrantingFate::kPays:
        changed =
            sale_->pay({.order = bought.order, .payment = "p" + name, .amount_cents = kPrice});
        kill_.at(GrantingPoint::kAfterPayment);
        break;
      case GrantingFate::kCancels:
        changed = sale_->cancel(bought.order, "changed my mind");
        break;
      case GrantingFate::kStaysUnpaid:
        break;
    }
    if (changed.outcome != ChangeOutcome::kDone) fail_granting(changed.detail);
  }

  void grant(const OrderChange& change) {
    kill_.at(GrantingPoint::kBeforeGrant);
    items_.apply(change, sale_->orders().find(change.order).value()->user);
    kill_.at(GrantingPoint::kAfterGrant);
  }

  const std::uint64_t seed_;
  SelfKill& kill_;
  ItemGrants items_;
  std::unique_ptr<FlashSale> sale_;
};

/// Starts this program as the process. Returns the read end of a pipe that its end closes.
int start(const std::vector<std::string>& arguments, pid_t& child) {
  int life[2];
  if (pipe2(life, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // Moved above kLifeFd first: dup2() of a number to itself would keep O_CLOEXEC.
  constexpr int kAbove = 100;
  posix_spawn_file_actions_adddup2(&actions, life[1], kAbove);
  posix_spawn_file_actions_adddup2(&actions, kAbove, kLifeFd);
  posix_spawn_file_actions_addclose(&actions, kAbove);
  std::vector<std::string> words = arguments;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int spawned =
      posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(life[1]);
  if (spawned != 0) throw std::runtime_error("cannot start this program");
  return life[0];
}

/// Returns false if the process still runs after this time.
bool wait_for_end(int life, int timeout_ms) {
  pollfd end{.fd = life, .events = POLLIN, .revents = 0};
  return poll(&end, 1, timeout_ms) == 1;
}

}  // namespace

GrantingFate granting_fate(std::uint64_t seed, std::size_t row) {
  std::mt19937_64 random(seed + row);
  constexpr std::uint64_t kOfTen = 10;
  constexpr std::uint64_t kPaying = 7;
  const std::uint64_t drawn = random() % kOfTen;
  if (drawn < kPaying) return GrantingFate::kPays;
  return drawn == kPaying ? GrantingFate::kStaysUnpaid : GrantingFate::kCancels;
}

GrantingProcess::End GrantingProcess::run() const {
  pid_t child = -1;
  const int life = start({"recovery_test", kGrantingFlag, dir.string(), std::to_string(seed),
                          std::to_string(static_cast<int>(point)), std::to_string(nth)},
                         child);
  bool is_hung = false;
  if (point == GrantingPoint::kMoment) {
    if (!wait_for_end(life, moment_ms)) kill(child, SIGKILL);
  } else if (!wait_for_end(life, kHungMs)) {
    is_hung = true;
    kill(child, SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  close(life);
  if (is_hung) return End::kFailed;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return End::kKilled;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? End::kFinished : End::kFailed;
}

void GrantingProcess::be_one_if_told(int argc, char** argv) {
  constexpr int kArguments = 6;  // program, flag, directory, seed, point, nth
  if (argc != kArguments || std::string_view(argv[1]) != kGrantingFlag) return;
  GrantingProcess process;
  process.dir = argv[2];
  process.seed = std::strtoull(argv[3], nullptr, 10);
  process.point = static_cast<GrantingPoint>(std::atoi(argv[4]));
  SelfKill self_kill(process.point, std::atoi(argv[5]));
  Game(process, self_kill).sell();
  std::exit(0);
}

std::string GrantingProcess::describe() const {
  constexpr std::string_view kNames[] = {"none",           "after a purchase", "after a payment",
                                         "before a grant", "after a grant",    "at any moment"};
  return "to be killed " + std::string(kNames[static_cast<std::size_t>(point)]) + ", number " +
         std::to_string(nth) + ", at " + std::to_string(moment_ms) + " ms";
}

}  // namespace rushgate
