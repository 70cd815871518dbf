// A user's own admission script, which a Sale runs in place of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "engine/sale/admission/outcome.h"

namespace rushgate {

/// A Lua script that decides on one user, with its keys, arguments and codes. Existing scripts fit
/// unchanged if their keys are those of SaleKeys.
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
/// adapters/testing/check_admission.h.
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

  /// The script's KEYS and ARGV. `<voucher>`, `<user>` and `<order>` stand for ids, as in
  /// "coupon:user:<user>". `<terms>`, `<stock>`, `<buyers>` and `<stream>` stand for keys of the
  /// sale. All other keys that the script writes must be named. On a Redis Cluster all must share a
  /// slot.
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

}  // namespace rushgate
