// An admission script of the user's own, which a Sale runs in place of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "engine/sale/admission/outcome.h"

namespace rushgate {

/// A Lua script that decides on one user, with its keys, arguments and codes. Existing scripts fit
/// as they are if their keys are those of SaleKeys.
///
/// The script keeps the stock and the limit per user. If it accepts, it must in the same run
/// - take one from the stock (`<stock>`),
/// - add the user to the buyers (`<buyers>`), a set of users,
/// - append one entry to the order stream (`<stream>`), with the fields `userId`, `voucherId` and
///   `id`, and without MAXLEN or MINID. A field `limit` is the limit per user. The fields
///   `admitted`, `entry` and `no_stock` are the worker's.
/// If it refuses, it must leave all three as they are. It may keep other keys, with rules of its
/// own. A rebuild restores none of them, and the audit knows none of their rules.
///
/// The sale keeps the window, the request keys and a rebuild's closing of the voucher around the
/// script, in the same atomic run, and calls it only if the voucher has a stock key. After it has
/// returned, the sale compares the three keys with the code. Where they contradict each other, the
/// result is kOutcomeUnknown, and its detail names the fault. On Redis the writes of such a run
/// stay. So test the script first: check_admission() in adapters/testing/check_admission.h.
///
/// Vouchers with a limit in total or per day cannot be published with a custom script, and those
/// with another limit per user than 1 only with `counts_buyers`.
struct CustomAdmission {
  /// What a code of the script means.
  struct Code {
    std::int64_t code = 0;
    /// kAccepted; or a refusal: kSoldOut, kLimitReached, kDayLimitReached, kNotStarted, kEnded,
    /// kUnknownVoucher, kOverloaded or kRefused.
    Outcome outcome = Outcome::kAccepted;
    std::string detail = {};  // becomes BuyResult::detail
  };

  static constexpr std::size_t kTextBytesMax = 64 * 1024;
  static constexpr std::size_t kWordsMax = 64;  // keys, arguments and codes, of each

  /// Returns one of the codes, as an integer. Its first line is no `#!`.
  std::string text = {};

  /// KEYS and ARGV, with the placeholders `<voucher>`, `<user>` and `<order>` for ids, and `<terms>`,
  /// `<stock>`, `<buyers>` and `<stream>` for keys of the sale: "coupon:user:<user>". All keys that
  /// the script writes, except the sale's, must be named. On a Redis Cluster all must share a slot.
  std::vector<std::string> keys = {};
  std::vector<std::string> arguments = {};

  std::vector<Code> codes = {};

  /// The script keeps any limit per user. The field `counted` of `<terms>` says what the buyers are:
  /// a set ("0"), or a hash of counts ("1"). The field `per_user` has the limit; 0: none. The
  /// script also writes that limit into the entry, as the field `limit`.
  bool counts_buyers = false;

  /// Returns kInvalidArgument, naming the fault, if the declaration makes no sense. The script's text
  /// is not read.
  [[nodiscard]] absl::Status check() const;
};

}  // namespace rushgate
