#include <cstdint>
#include <cstdio>
#include <string>

#include <rushgate/limits.h>
#include <rushgate/open_backend.h>

int main(int argc, char** argv) {
  using namespace rushgate;
  constexpr std::int64_t kVoucher = 7;
  auto backend = open_backend(argc > 1 ? argv[1] : "memory:").value();  // or a directory, redis://…
  const auto room = WaitingRoom::create(*backend, {.per_second = 1, .burst = 1}).value();
  const auto tokens = PurchaseTokens::create(*backend).value();
  for (std::int64_t user = 1; user <= 3; ++user) {
    const WaitingRoom::Place place = room->visit("voucher 7", user).value();
    if (!place.has_entered) {
      std::printf("user %d waits at position %d\n", static_cast<int>(user),
                  static_cast<int>(place.position));
      continue;
    }
    const std::string token = tokens->issue(user, kVoucher).value();      // goes to the user …
    const auto redeemed = tokens->redeem(user, kVoucher, token).value();  // … and comes with buy()
    std::printf("user %d: %s\n", static_cast<int>(user),
                redeemed == PurchaseTokens::Redeemed::kInvalid ? "no token" : "may buy");
  }
}
