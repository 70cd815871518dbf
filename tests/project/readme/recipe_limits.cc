#include <cstdio>

#include <rushgate/limits.h>
#include <rushgate/open_backend.h>

int main(int argc, char** argv) {
  using namespace rushgate;
  auto backend = open_backend(argc > 1 ? argv[1] : "memory:").value();  // or a directory, redis://…
  CouponLimits coupons(*backend);
  const Coupon coupon = {.id = 7, .per_user_and_day = 1, .per_user = 2, .total = 1'000};
  const auto first = coupons.take(coupon, /*user=*/42).value();
  const auto second = coupons.take(coupon, /*user=*/42).value();
  std::printf("coupon: %d, then %d\n", static_cast<int>(first), static_cast<int>(second));

  // At most two at once, and two an hour on average.
  const auto attempts =
      TokenBucket::create(*backend, {.capacity = 2, .refill_ms = 3'600'000}).value();
  for (int i = 1; i <= 3; ++i) {
    const Permission permission = attempts->take("login:42").value();
    std::printf("attempt %d: %s\n", i, permission.granted ? "granted" : "refused");
  }
}
