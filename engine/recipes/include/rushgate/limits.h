// Limits by count, by rate and by concurrency, and the entrance to a sale: purchase tokens, a
// waiting room. Each class works without the others. Read CouponLimits for counts, TokenBucket for
// rates.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/clock.h>
#include <rushgate/request.h>
#include <rushgate/script.h>

namespace rushgate {

/// A count in a field of a hash, and its maximum.
struct CountedLimit {
  std::string key;               // of the hash
  std::string field = {};        // of the count in the hash
  std::int64_t maximum = 0;      // 0: nothing is granted
  std::int64_t code = 0;         // the result of take() when this limit is reached; not 0
  std::int64_t lifetime_ms = 0;  // of the hash, from its first count on; 0: for ever
};

/// Checks a list of limits in order, and counts on all of them if none is reached. The list is one
/// script, so no two callers are granted the same last piece. Thread-safe. Does not own the
/// backend, which must outlive it.
///
/// The limits of one call may share a hash. On a Redis Cluster their keys must share a slot: give
/// them a hash tag.
class CountedLimits {
 public:
  /// The greatest count that a script reads exactly.
  static constexpr std::int64_t kCountMax = (std::int64_t{1} << 53) - 1;

  explicit CountedLimits(Backend& backend, const ClientOptions& client = {});

  /// Returns 0 if `amount` was counted on each of `limits`. Otherwise returns the code of the first
  /// limit that it would exceed, and counts nothing. Errors:
  /// - kInvalidArgument: a limit is named twice, has the code 0, or is out of range.
  /// - kUnavailable with OUTCOMEUNKNOWN: it may have been counted.
  absl::StatusOr<std::int64_t> take(std::span<const CountedLimit> limits, std::int64_t amount = 1);

  /// Undoes one take() of the same limits and amount. A count never falls below 0. Does not restore
  /// a count whose hash has expired.
  absl::Status give_back(std::span<const CountedLimit> limits, std::int64_t amount = 1);

 private:
  absl::StatusOr<std::int64_t> run(const Script& script, std::span<const CountedLimit> limits,
                                   std::int64_t amount);

  const std::unique_ptr<Client> client_;
};

/// A coupon and its limits.
struct Coupon {
  std::int64_t id = 0;
  std::int64_t per_user_and_day = 0;
  std::int64_t per_user = 0;
  std::int64_t total = 0;
};

/// A value type.
struct CouponLimitsOptions {
  std::string key_prefix = "coupon:";
  std::int64_t utc_offset_minutes = 0;  // of the place whose days count; -720 to 840
  ClientOptions client = {};
};

/// Gives out coupons within three limits: per user and day, per user, and in total. The codes are
/// those of the classic coupon script. Thread-safe. Does not own the backend, which must outlive
/// it.
///
/// Keys, all hashes of counts:
///
///     <prefix>day:<coupon>:<yyyyMMdd>   field <user>, for two days
///     <prefix>user:<user>               field <coupon>
///     <prefix>total                     field <coupon>
///
/// In the classic script the caller names the hashes. A caller that names one hash for all users
/// makes them share one limit. Here the name contains the user.
class CouponLimits {
 public:
  enum Code : std::int64_t {
    kGranted = 0,
    kReachedPerDay = 1,   // the user has the most that one day allows
    kReachedPerUser = 2,  // the user has the most that is allowed in all
    kSoldOut = 3,
  };

  explicit CouponLimits(Backend& backend, CouponLimitsOptions options = {});

  /// Counts one coupon for the user, unless a limit is reached. kInvalidArgument: a limit is
  /// negative, or no place has the UTC offset.
  absl::StatusOr<Code> take(const Coupon& coupon, std::int64_t user);

  /// Undoes one take() of the time `taken_at_ms` (ms since 1970 UTC), on all three counts.
  absl::Status give_back(const Coupon& coupon, std::int64_t user, std::int64_t taken_at_ms);

 private:
  const Clock& clock_;
  const CouponLimitsOptions options_;
  CountedLimits limits_;
};

/// The reply of TokenBucket and SlidingWindow. A value type.
struct Permission {
  bool granted = false;
  std::int64_t remaining = 0;       // the number that would still be granted now
  std::int64_t retry_after_ms = 0;  // 0 if granted; otherwise an earlier retry is refused
};

/// A value type.
struct TokenBucketOptions {
  std::string key_prefix = "token-bucket:";
  std::int64_t capacity = 1;       // tokens of a full bucket: the largest burst
  std::int64_t refill_ms = 1'000;  // the time to fill an empty bucket
  ClientOptions client = {};
};

/// Limits a rate: an average per second, and a burst. Keeps a bucket per name, which refills
/// steadily. A bucket is one key, which exists only while the bucket is not full. Time is the
/// server's. If that clock goes back, no token is granted for at most refill_ms. Thread-safe. Does
/// not own the backend, which must outlive it.
class TokenBucket {
 public:
  static constexpr std::int64_t kCapacityMax = 1'000'000'000;
  static constexpr std::int64_t kRefillMsMax = 366LL * 24 * 60 * 60 * 1'000;

  /// Returns kInvalidArgument if an option is out of range.
  static absl::StatusOr<std::unique_ptr<TokenBucket>> create(Backend& backend,
                                                             TokenBucketOptions options);

  /// Takes `tokens` of the bucket called `name`, or none. kInvalidArgument: fewer than 1, or more
  /// than its capacity.
  absl::StatusOr<Permission> take(std::string_view name, std::int64_t tokens = 1);

  /// Works as take(), for one token of each of several buckets, in this order. Needs one round trip
  /// and one commit batch.
  std::vector<absl::StatusOr<Permission>> take_all(std::span<const std::string_view> names);

 private:
  TokenBucket(Backend& backend, TokenBucketOptions options);
  [[nodiscard]] Request request(std::string_view name, std::int64_t tokens) const;

  const TokenBucketOptions options_;
  const std::string capacity_;   // in decimal
  const std::string refill_us_;  // in decimal
  const std::unique_ptr<Client> client_;
};

/// A value type.
struct SlidingWindowOptions {
  enum class Kind : std::uint8_t {
    kExact,        // keeps each grant: memory and work grow with `maximum`
    kApproximate,  // keeps two counts, and treats the grants of the previous window as spread
                   // evenly
  };

  std::string key_prefix = "sliding-window:";
  Kind kind = Kind::kExact;
  std::int64_t maximum = 1;  // grants within any window
  std::int64_t window_ms = 1'000;
  ClientOptions client = {};
};

/// Limits the grants within any period of a given length. Keeps a window per name. Time is the
/// server's. If that clock goes back, grants that then lie in the future count as granted now. A
/// key expires one window after the last grant, with kApproximate two windows. Thread-safe. Does
/// not own the backend, which must outlive it.
class SlidingWindow {
 public:
  /// For kExact, since one call may remove that many grants.
  static constexpr std::int64_t kExactMaximumMax = 10'000;
  static constexpr std::int64_t kMaximumMax = 1'000'000'000;
  static constexpr std::int64_t kWindowMsMax = 366LL * 24 * 60 * 60 * 1'000;

  /// Returns kInvalidArgument if an option is out of range.
  static absl::StatusOr<std::unique_ptr<SlidingWindow>> create(Backend& backend,
                                                               SlidingWindowOptions options);

  /// Takes one grant of the window called `name`, if there is one.
  absl::StatusOr<Permission> take(std::string_view name);

 private:
  SlidingWindow(Backend& backend, SlidingWindowOptions options);

  const SlidingWindowOptions options_;
  const std::string maximum_;    // in decimal
  const std::string window_us_;  // in decimal
  const std::unique_ptr<Client> client_;
};

/// Returns "exact" or "approximate".
std::string_view sliding_window_kind_name(SlidingWindowOptions::Kind kind);

/// A value type.
struct ConcurrencyLimitOptions {
  std::string key_prefix = "concurrency:";
  std::int64_t maximum = 1;
  /// The life of a permit without renewal, by the server's clock. So a crashed holder blocks others
  /// for no longer.
  std::int64_t lease_ms = 30'000;
  ClientOptions client = {};
};

/// Limits the number of concurrent users of a resource. Keeps a set of permits per name.
/// Thread-safe. Does not own the backend, which must outlive it.
class ConcurrencyLimit {
 public:
  static constexpr std::int64_t kMaximumMax = 100'000;
  static constexpr std::int64_t kLeaseMsMax = 366LL * 24 * 60 * 60 * 1'000;

  struct Acquired {
    bool granted = false;
    std::string permit;               // for renew() and release(); empty if refused
    std::int64_t retry_after_ms = 0;  // when the next permit expires, if none is released before
  };

  /// Returns kInvalidArgument if an option is out of range.
  static absl::StatusOr<std::unique_ptr<ConcurrencyLimit>> create(Backend& backend,
                                                                  ConcurrencyLimitOptions options);

  /// Acquires a permit of the resource called `name`, if one is free.
  absl::StatusOr<Acquired> acquire(std::string_view name);
  /// Renews the permit for one lease from now. Returns false if it has expired.
  absl::StatusOr<bool> renew(std::string_view name, std::string_view permit);
  /// Releases the permit. Returns false if it had expired: another permit may have its place.
  absl::StatusOr<bool> release(std::string_view name, std::string_view permit);

 private:
  ConcurrencyLimit(Backend& backend, ConcurrencyLimitOptions options);
  absl::StatusOr<bool> change(std::string_view name, std::string_view permit,
                              std::string_view lease_ms, std::string_view doing);

  const ConcurrencyLimitOptions options_;
  const std::string maximum_;   // in decimal
  const std::string lease_ms_;  // in decimal
  const std::unique_ptr<Client> client_;
};

/// A value type.
struct PurchaseTokensOptions {
  std::string key_prefix = "purchase-token:";
  std::int64_t ttl_ms = 5 * 60'000;  // from the issue of a token
  ClientOptions client = {};
};

/// Opens a sale only to users that passed an earlier step, such as a queue or a captcha. Issues and
/// redeems tokens that cannot be guessed (128 random bits), each for one user and one item. A user
/// has at most one token of an item. So an item has at most one key per user. Thread-safe. Does not
/// own the backend, which must outlive it.
///
/// A seller redeems the token, and then buys with the token as the idempotency key (Sale::buy()).
/// So a client that lost the reply sends the same token again, and gets the same order. See
/// docs/recipes.md.
class PurchaseTokens {
 public:
  static constexpr std::int64_t kTtlMsMax = 366LL * 24 * 60 * 60 * 1'000;

  enum class Redeemed : std::uint8_t {
    kNow,      // it was valid, and is now used
    kBefore,   // this user redeemed it before
    kInvalid,  // unknown, expired, or of another user or item
  };

  /// Returns kInvalidArgument if ttl_ms is out of range.
  static absl::StatusOr<std::unique_ptr<PurchaseTokens>> create(Backend& backend,
                                                                PurchaseTokensOptions options = {});

  /// Returns the key of a user's token of an item. String: "<token>", or "<token> used".
  static std::string key_of(std::string_view prefix, std::string_view user, std::int64_t item);

  /// Returns the user's token of this item. A token that was issued earlier and has not expired is
  /// returned again, redeemed or not. So a second call gives no second right to buy.
  absl::StatusOr<std::string> issue(std::int64_t user, std::int64_t item);
  /// The same for a user with a name.
  absl::StatusOr<std::string> issue(std::string_view user, std::int64_t item);

  /// Uses the token up if it is valid.
  absl::StatusOr<Redeemed> redeem(std::int64_t user, std::int64_t item, std::string_view token);

 private:
  PurchaseTokens(Backend& backend, PurchaseTokensOptions options);

  const PurchaseTokensOptions options_;
  const std::string ttl_ms_;  // in decimal
  const std::unique_ptr<Client> client_;
};

/// Returns "now", "before" or "invalid".
std::string_view redeemed_name(PurchaseTokens::Redeemed redeemed);

/// A value type.
struct WaitingRoomOptions {
  std::string key_prefix = "waiting-room:";
  std::int64_t per_second = 100;  // users admitted
  std::int64_t burst = 100;       // the most users admitted at once, after a time without visits
  std::int64_t size_max = 1'000'000;     // users in the queue
  std::int64_t entered_ms = 5 * 60'000;  // how long an admitted user stays admitted
  ClientOptions client = {};
};

/// Admits users at a given rate, in order of arrival. Keeps a queue of users per name. There is no
/// timer: each visit admits as many users as the time since the last visit allows, at most
/// kPortion. An admitted user that never comes back still counts. Time is the server's. If that
/// clock goes back, no user is admitted until it has caught up, for at most burst / per_second.
/// Thread-safe. Does not own the backend, which must outlive it.
///
/// Keys: <prefix>{<name>}:queue, :entered (sorted sets of users), :state (a hash).
class WaitingRoom {
 public:
  static constexpr std::int64_t kPortion = 128;
  static constexpr std::int64_t kPerSecondMax = 1'000'000;
  static constexpr std::int64_t kSizeMax = std::int64_t{1} << 53;
  static constexpr std::int64_t kEnteredMsMax = 366LL * 24 * 60 * 60 * 1'000;

  struct Place {
    bool has_entered = false;
    std::int64_t position = 0;  // 1: the next to be admitted; 0: has entered
    std::int64_t wait_ms = 0;   // until admission, as estimated from per_second
  };

  /// Returns kInvalidArgument if an option is out of range.
  static absl::StatusOr<std::unique_ptr<WaitingRoom>> create(Backend& backend,
                                                             WaitingRoomOptions options);

  /// Puts the user at the end of the queue, unless the user waits or has entered already. Returns
  /// the current place, so a later visit shows progress. kResourceExhausted: size_max users wait.
  absl::StatusOr<Place> visit(std::string_view name, std::int64_t user);
  /// The same for a user with a name.
  absl::StatusOr<Place> visit(std::string_view name, std::string_view user);

  /// Removes the user from the queue and from the admitted users.
  absl::Status leave(std::string_view name, std::int64_t user);

 private:
  WaitingRoom(Backend& backend, WaitingRoomOptions options);

  const WaitingRoomOptions options_;
  const std::unique_ptr<Client> client_;
};

}  // namespace rushgate
