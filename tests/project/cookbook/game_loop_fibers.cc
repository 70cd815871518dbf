#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>

#include "tests/project/cookbook/background_sale.h"
#include "tests/project/cookbook/frame_meter.h"
#include <rushgate/client.h>
#include <rushgate/fiber_wait.h>
#include <rushgate/flash_sale.h>

namespace {

using namespace rushgate;

/// Four purchases that a fiber makes together. poll() must run on the fiber's thread.
class Purchases {
 public:
  /// Buys for four users, and suspends the calling fiber until poll() has run the last completion.
  void make(FlashSale& sale, VoucherId voucher, const std::array<std::int64_t, 4>& users) {
    fiber_wait().wait([&](WaitMethod::Event& all_decided) {
      all_decided_ = &all_decided;
      for (std::size_t i = 0; i < users.size(); ++i) {
        // A pointer and an index fit into the completion. A larger one would allocate memory.
        const auto complete = [this, i](const BuyResult& result) { add(i, result.outcome); };
        if (!sale.submit_buy({.voucher = voucher, .user = users[i]}, complete)) {
          add(i, Outcome::kOverloaded);  // the queue is full
        }
      }
    });
  }

  [[nodiscard]] const std::array<Outcome, 4>& outcomes() const { return outcomes_; }

 private:
  void add(std::size_t index, Outcome outcome) {
    outcomes_[index] = outcome;
    if (--undecided_ == 0) all_decided_->happen();
  }

  // The stack of a fiber that waits is seldom in the cache, so only the outcomes are kept.
  std::array<Outcome, 4> outcomes_ = {};
  std::size_t undecided_ = outcomes_.size();
  WaitMethod::Event* all_decided_ = nullptr;
};

}  // namespace

/// Arguments: frames, and the place of the sale.
int main(int argc, char** argv) {
  constexpr int kPlayers = 500;
  const int frames = argc > 1 ? std::atoi(argv[1]) : 10;
  const auto sale = open_in_background(argc > 2 ? argv[2] : "memory:");
  const Voucher sword = {.id = 7, .title = "Sword", .stock = std::int64_t{1'500} * frames};
  if (!sale->publish_if_new(sword).ok()) return 1;

  std::int64_t decided = 0;  // no locks: all fibers are on this thread
  std::int64_t accepted = 0;
  std::int64_t user = 0;
  std::vector<boost::fibers::fiber> players;
  FrameMeter meter;
  for (int player = 0; player < kPlayers; ++player) {
    players.emplace_back([&] {
      for (int round = 0; round < frames; ++round) {
        const std::array<std::int64_t, 4> users = {user + 1, user + 2, user + 3, user + 4};
        user += 4;
        Purchases purchases;
        purchases.make(*sale, sword.id, users);
        for (const Outcome outcome : purchases.outcomes()) {
          ++decided;
          accepted += outcome == Outcome::kAccepted ? 1 : 0;
        }
      }
    });
  }
  for (int frame = 0; decided < std::int64_t{frames} * kPlayers * 4; ++frame) {
    boost::this_fiber::sleep_until(meter.begin_of(frame));  // the players buy meanwhile
    meter.begin(frame);
    sale->poll();
  }
  meter.print(decided);

  for (boost::fibers::fiber& player : players) player.join();
  if (!sale->drain().ok()) return 1;  // may block: the loop is over
  std::printf("decided: %lld, accepted: %lld, stored: %zu, audit %s\n",
              static_cast<long long>(decided), static_cast<long long>(accepted), sale->stored(),
              sale->audit()->passed() ? "passed" : "failed");
}
