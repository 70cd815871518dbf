// What buyers ask of a sale and what they are told: requests and results of purchases, of waiting,
// of payments and other changes. CustomAdmission replaces the rules of admission.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include <rushgate/order.h>
#include <rushgate/order_status.h>
#include <rushgate/voucher.h>

namespace rushgate {

// ---- Buying ----

/// The outcome of an admission.
enum class Outcome : std::uint8_t {
  kAccepted,         // there is an order; it will be stored
  kSoldOut,          // fewer pieces are left than were wanted
  kLimitReached,     // this user's, over the whole sale
  kDayLimitReached,  // this user's, today
  kTokenRefused,     // the voucher needs a purchase token; this one is missing, wrong or spent
  kNotStarted,
  kEnded,
  kUnknownVoucher,
  kOverloaded,      // nothing was done; trying again may help
  kUnavailable,     // the keyspace is closed or unreachable; nothing was done
  kOutcomeUnknown,  // it may have been accepted: repeat it with the same idempotency key, or query
                    // the order's status
  kKeyReused,       // the idempotency key was used with another user, voucher or quantity
  kRefused,         // by a rule of a custom admission script
  kFailed,          // the keyspace refused, and detail gives the reason; nothing was done
};

/// Returns "accepted", "sold out", …
std::string_view outcome_name(Outcome outcome);

struct BuyRequest {
  VoucherId voucher = 0;
  UserId user = {};  // a number, or UserId("name")
  /// The idempotency key, if not empty; at most Order::kIdempotencyKeyBytesMax bytes. Within
  /// SaleOptions::request_ttl_ms, the same user, voucher and key get the order that was accepted
  /// first, also after the keyspace was lost, and after the voucher was archived. A request that
  /// was refused is decided from scratch. With another user, voucher or quantity the key gets
  /// kKeyReused, so it must be unique in the whole sale. Lanes do not know each other's keys: with
  /// a voucher of another lane, the same key is another request.
  std::string idempotency_key = {};
  std::int64_t quantity = 1;  // pieces, 1 to kQuantityMax; all or none are sold
  /// Kept with the order, for the caller; at most Order::kReferenceBytesMax bytes. The reference of
  /// a repeated request is ignored.
  std::string reference = {};
  /// The user's purchase token of the voucher, if the voucher needs one (Voucher::needs_token):
  /// issued by PurchaseTokens with the prefix SaleKeys::purchase_tokens(). An accepted purchase
  /// spends it, in the same script. A repetition by its idempotency key needs none.
  std::string purchase_token = {};

  static constexpr std::int64_t kQuantityMax = Order::kQuantityMax;
  static constexpr std::size_t kPurchaseTokenBytesMax = 64;
};

struct BuyResult {
  Outcome outcome = Outcome::kOverloaded;
  /// The accepted order. With kOutcomeUnknown: the order's id if it was accepted. With
  /// kLimitReached and kDayLimitReached: an order that the user has
  /// (SaleOptions::names_order_at_limit), or 0.
  OrderId order = 0;
  /// True if `order` was accepted before, with the same idempotency key.
  bool is_repeated = false;
  /// If `is_repeated`: the order's present status, since it may have been paid, cancelled or
  /// refunded meanwhile. A queued order counts as the database will store it. Empty if the order is
  /// a dead letter or was deleted, and if the order database or the keyspace cannot be read.
  std::optional<OrderStatus> status = {};
  /// Set for kOverloaded, kUnavailable, kOutcomeUnknown and kFailed, and for the codes of a custom
  /// admission script.
  std::string detail = {};
  /// From decide_all(): the order database has more, which complete() reads.
  bool is_partial = false;
};

/// A Lua script of your own that decides on one user in place of the sale's, with its keys,
/// arguments and codes. Existing scripts fit unchanged if their keys are those of SaleKeys.
///
/// The script keeps the stock and the limit per user. If it accepts, it must in the same run
/// - take one from the stock (`<stock>`),
/// - add the user to the buyers (`<buyers>`), a set of users,
/// - append one entry to the order stream (`<stream>`), with the fields `userId`, `voucherId` and
///   `id`, and without MAXLEN or MINID. A field `limit` is the limit per user. The fields
///   `admitted`, `entry` and `no_stock` are the worker's.
/// If it refuses, it must leave all three as they are. It may keep other keys, with rules of its
/// own. A rebuild does not restore them, and the audit does not know their rules.
///
/// The sale runs its own part around the script, in the same atomic run. That part checks the
/// window and the idempotency key, and refuses while a rebuild has closed the voucher. It calls the
/// script only if the voucher has a stock key.
///
/// After the script has returned, the sale compares the three keys with the code. If they
/// contradict each other, the result is kOutcomeUnknown, and its detail names the fault. On Redis
/// the writes of such a run stay. So test the script first: check_admission() in
/// <rushgate/testing_rush.h>.
///
/// With a custom script, vouchers with a limit in total or per day cannot be published. A limit per
/// user other than 1 needs `counts_buyers`.
struct CustomAdmission {
  /// The meaning of a code that the script returns.
  struct Code {
    std::int64_t code = 0;
    /// kAccepted, or a refusal: kSoldOut, kLimitReached, kDayLimitReached, kNotStarted, kEnded,
    /// kUnknownVoucher, kOverloaded or kRefused.
    Outcome outcome = Outcome::kAccepted;
    std::string detail = {};  // becomes BuyResult::detail
  };

  static constexpr std::size_t kTextBytesMax = 64 * 1024;
  static constexpr std::size_t kWordsMax = 64;  // the most keys, arguments and codes, of each

  /// The Lua source. The script returns one of the codes, as an integer. The first line is no `#!`.
  std::string text = {};

  /// The script's KEYS and ARGV. `<voucher>`, `<user>` (a number or a name) and `<order>` stand for
  /// ids, as in "coupon:user:<user>". `<terms>`, `<stock>`, `<buyers>` and `<stream>` stand for
  /// keys of the sale. All other keys that the script writes must be named. On a Redis Cluster all
  /// must share a slot.
  std::vector<std::string> keys = {};
  std::vector<std::string> arguments = {};

  std::vector<Code> codes = {};

  /// The script keeps any limit per user. The field `counted` of `<terms>` gives the type of the
  /// buyers: a set ("0"), or a hash of counts ("1"). The field `per_user` has the limit; 0: none.
  /// The script also writes that limit into the entry, as the field `limit`.
  bool counts_buyers = false;

  /// Returns kInvalidArgument, naming the fault, if the declaration is invalid. Does not read the
  /// Lua source.
  [[nodiscard]] absl::Status check() const;
};

// ---- Waiting ----

/// The outcome of a request to wait for a sold-out voucher.
enum class WaitOutcome : std::uint8_t {
  kWaiting,        // the user waits, perhaps since an earlier call
  kFree,           // nothing was done: pieces are free, so buy one
  kFull,           // Voucher::waiting_max users are waiting
  kLimitReached,   // the user may not buy any more
  kNotOnSale,      // not started, or ended
  kNoWaitingList,  // Voucher::waiting_max is 0
  kUnknownVoucher,
  kOverloaded,      // nothing was done; trying again may help
  kUnavailable,     // the keyspace is closed or unreachable; nothing was done
  kOutcomeUnknown,  // the user may be waiting: repeat it
  kFailed,          // the keyspace refused, and detail gives the reason; nothing was done
};
/// Returns "waiting", "free", …
std::string_view wait_outcome_name(WaitOutcome outcome);

struct WaitResult {
  WaitOutcome outcome = WaitOutcome::kOverloaded;
  /// The order that the user will get. Until then its state is unknown.
  OrderId order = 0;
  std::int64_t place = 0;  // among the waiting users, from 1
  std::string detail = {};
};

/// A user on a waiting list.
struct WaitingUser {
  UserId user = {};
  std::int64_t arrival = 0;  // ascending; the first arrival of a list is 1
};

// ---- Paying, cancelling, refunding ----

/// The outcome of a change of an order.
enum class ChangeOutcome : std::uint8_t {
  kDone,            // the order is changed, by this call or by the same call before
  kTooLate,         // another change came first; see ChangeResult::status
  kRefused,         // by the rule that detail gives; nothing was done
  kUnknownOrder,    // no such order was accepted
  kOverloaded,      // nothing was done; trying again may help
  kUnavailable,     // the keyspace is closed or unreachable; nothing was done
  kOutcomeUnknown,  // it may have been done: repeat it
  kFailed,          // a store refused, and detail gives the reason; nothing was done
};
/// Returns "done", "too late", …
std::string_view change_outcome_name(ChangeOutcome outcome);

struct ChangeResult {
  ChangeOutcome outcome = ChangeOutcome::kOverloaded;
  bool is_repeated = false;  // kDone or kTooLate: the same call had this outcome before
  /// The order's state after kDone and kTooLate.
  OrderStatus status = OrderStatus::kUnpaid;
  std::string detail = {};  // the reason, or the change that came first
};

struct PayRequest {
  OrderId order = 0;
  std::string payment = {};       // its id: 1 to Payment::kIdBytesMax bytes, without spaces
  std::int64_t amount_cents = 0;  // price × quantity of the order
};

}  // namespace rushgate
