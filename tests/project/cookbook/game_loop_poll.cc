#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/project/cookbook/background_sale.h"
#include "tests/project/cookbook/frame_meter.h"
#include <rushgate/flash_sale.h>

/// Arguments: frames, and the place of the sale.
int main(int argc, char** argv) {
  using namespace rushgate;
  constexpr int kBuysPerFrame = 2'000;
  constexpr std::size_t kCompletionsPerFrame = 4'000;
  const int frames = argc > 1 ? std::atoi(argv[1]) : 10;
  const auto sale = open_in_background(argc > 2 ? argv[2] : "memory:");
  const Voucher sword = {.id = 7, .title = "Sword", .stock = std::int64_t{1'500} * frames};
  if (!sale->publish_if_new(sword).ok()) return 1;

  std::int64_t decided = 0;  // no lock: completions run in poll(), on this thread
  std::int64_t accepted = 0;
  std::int64_t refused = 0;
  std::int64_t user = 0;
  FrameMeter meter;
  for (int frame = 0; frame < frames; ++frame) {
    std::this_thread::sleep_until(meter.begin_of(frame));
    meter.begin(frame);
    for (int i = 0; i < kBuysPerFrame; ++i) {
      const bool is_submitted =
          sale->submit_buy({.voucher = sword.id, .user = ++user}, [&](const BuyResult& result) {
            ++decided;
            accepted += result.outcome == Outcome::kAccepted ? 1 : 0;
          });
      if (!is_submitted) ++refused;  // the queue is full: a game would ask the player to try again
    }
    sale->poll(kCompletionsPerFrame);
  }
  meter.print(decided);

  if (!sale->drain().ok()) return 1;  // may block: the loop is over
  sale->poll();
  const std::int64_t answered = decided + refused;
  std::printf("answered: %lld, accepted: %lld, stored: %zu, audit %s\n",
              static_cast<long long>(answered), static_cast<long long>(accepted), sale->stored(),
              sale->audit()->passed() ? "passed" : "failed");
}
