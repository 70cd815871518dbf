#include "engine/sale/worker/hold_timeouts.h"

#include "engine/core/base/status_macros.h"
#include "engine/sale/holds/holds.h"
#include "engine/sale/holds/received_payments.h"

namespace rushgate {
namespace {

/// Scripts that end holds in one call.
constexpr int kExpiringScriptsMax = 16;
/// How often holds are looked for while there are any, and while there are none.
constexpr std::int64_t kExpireEveryMs = 1'000;
constexpr std::int64_t kLookForHoldsEveryMs = 10'000;

}  // namespace

HoldTimeouts::HoldTimeouts(Client& client, const Clock& clock, const SaleKeys& keys,
                           VoucherBook& vouchers)
    : client_(client), clock_(clock), keys_(keys), vouchers_(vouchers) {}

void HoldTimeouts::expect_in(std::int64_t ms) {
  next_ms_ = std::min(next_ms_, clock_.monotonic_ms() + ms);
}

absl::Status HoldTimeouts::expire(std::size_t& expired) {
  const std::int64_t now_ms = clock_.monotonic_ms();
  absl::Status done = look_for_lost(now_ms);
  if (done.ok()) done = forget_payments();
  if (done.ok()) done = end_due(now_ms, expired);
  if (!done.ok()) next_ms_ = clock_.monotonic_ms() + kExpireEveryMs;
  return done;
}

absl::Status HoldTimeouts::look_for_lost(std::int64_t now_ms) {
  if (now_ms < look_for_lost_at_ms_) return absl::OkStatus();
  RETURN_IF_ERROR(vouchers_.rebuild_lost_holds());
  ASSIGN_OR_RETURN(const auto opening_in_ms, vouchers_.serve_opened_lists());
  look_for_lost_at_ms_ = now_ms + std::min(kLookForHoldsEveryMs, opening_in_ms);
  return absl::OkStatus();
}

/// Forgets stored payments that are old, in bounded portions.
absl::Status HoldTimeouts::forget_payments() {
  for (int i = 0; i < kExpiringScriptsMax; ++i) {
    const auto all = note_stored_payments(client_, keys_, {});
    if (!all.ok()) return all.status();
    if (*all) break;
  }
  return absl::OkStatus();
}

absl::Status HoldTimeouts::end_due(std::int64_t now_ms, std::size_t& expired) {
  std::size_t skip = 0;  // deadlines of closed vouchers
  std::size_t ended = 0;
  std::vector<VoucherId> closed;
  for (int i = 0; i < kExpiringScriptsMax; ++i) {
    ASSIGN_OR_RETURN(const auto portion, expire_holds(client_, keys_, skip));
    ended += portion.ended;
    expired += portion.ended;
    skip += portion.left;
    closed.insert(closed.end(), portion.closed.begin(), portion.closed.end());
    const std::int64_t next_ms = portion.next_ms.value_or(portion.now_ms + kLookForHoldsEveryMs);
    if (next_ms <= portion.now_ms) continue;
    const std::int64_t pause_ms = std::min(next_ms - portion.now_ms, kLookForHoldsEveryMs);
    next_ms_ = now_ms + (ended + skip > 0 ? std::min(pause_ms, kExpireEveryMs) : pause_ms);
    break;
  }
  if (ended == 0 && skip > 0) next_ms_ = now_ms + kExpireEveryMs;
  next_ms_ = std::min(next_ms_, look_for_lost_at_ms_);
  return rebuild(closed);
}

/// A voucher that was lost stays so until a process rebuilds it. Another process may do so now.
absl::Status HoldTimeouts::rebuild(const std::vector<VoucherId>& closed) {
  for (const VoucherId voucher : closed) {
    const absl::Status rebuilt = vouchers_.rebuild(voucher);
    const bool may_wait = absl::IsAborted(rebuilt) || absl::IsNotFound(rebuilt);
    if (!rebuilt.ok() && !may_wait) return rebuilt;
  }
  return absl::OkStatus();
}

}  // namespace rushgate
