// The terms of a voucher: one table, from which packing, the voucher's hash, vouchers.json, the
// table of versions, differences and checks are derived. The days of a limit per user and day.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/core/base/time_units.h"
#include <rushgate/sale_keys.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Returns the number of the day since 1970-01-01 at a fixed UTC offset; negative before it. Rounds
/// down, as the admission script does.
constexpr std::int64_t sale_day(std::int64_t ms_since_1970, std::int64_t utc_offset_minutes) {
  const std::int64_t local_ms = ms_since_1970 + utc_offset_minutes * kMinuteMs;
  return local_ms / kDayMs - (local_ms % kDayMs < 0 ? 1 : 0);
}

/// The most pieces in a term. Lua computes integers exactly below 2^53: with this bound, also sums of
/// several terms.
inline constexpr std::int64_t kPiecesMax = 1'000'000'000'000;

/// A number that is part of a voucher's terms. Its default is the member's (rushgate/voucher.h).
struct VoucherTerm {
  std::string_view name;     // in lists
  std::string_view subject;  // in sentences
  std::string_view json;     // the field of vouchers.json, inside `limits` for a limit
  std::string_view column;   // of the table voucher_versions
  std::string_view field;    // of the voucher's hash; empty: admission needs no such field
  std::string_view fault = "must be from 0 to 1000000000000";  // follows the subject
  std::int64_t min = 0;
  std::int64_t max = kPiecesMax;
  bool is_time = false;      // ms since 1970 UTC; vouchers.json may have it in ISO 8601
  bool is_flag = false;      // 0 or 1; false or true in vouchers.json
  bool is_required = false;  // in vouchers.json
  /// The value that admission takes if the voucher's hash has no such field: it was published before
  /// the term existed.
  std::int64_t absent = 0;
  /// Such a voucher may have another value in the database, which had the term before.
  bool is_newer = false;

  // Set by make_term():
  bool is_limit = false;
  std::int64_t (*get)(const Voucher& voucher) = nullptr;
  /// Truncates a value that the member cannot hold.
  void (*set)(Voucher& voucher, std::int64_t value) = nullptr;

  /// Returns the fault of a value, without the subject; empty if it has none.
  [[nodiscard]] std::string find_fault(std::int64_t value) const {
    if (value >= min && value <= max) return {};
    return std::string(fault) + ", not " + std::to_string(value);
  }
};

template <auto kMember>
constexpr bool kIsLimit = !requires(Voucher voucher) {
  voucher.*kMember;
};

template <auto kMember>
constexpr auto& member_in(auto& voucher) {
  if constexpr (kIsLimit<kMember>) {
    return voucher.limits.*kMember;
  } else {
    return voucher.*kMember;
  }
}

/// Returns `rest` as the term in this member of Voucher or Limits.
template <auto kMember>
constexpr VoucherTerm make_term(VoucherTerm rest) {
  rest.is_limit = kIsLimit<kMember>;
  rest.get = [](const Voucher& voucher) -> std::int64_t { return member_in<kMember>(voucher); };
  rest.set = [](Voucher& voucher, std::int64_t value) {
    auto& member = member_in<kMember>(voucher);
    member = static_cast<std::remove_reference_t<decltype(member)>>(value);
  };
  return rest;
}

/// A price times a quantity stays below 2^53, the greatest integer that Lua computes exactly.
inline constexpr std::int64_t kPriceCentsMax = 100'000'000'000;

/// In the order in which all formats have them. A voucher's id and title are no terms.
inline constexpr std::array kVoucherTerms = {
    make_term<&Voucher::stock>({.name = "stock",
                                .subject = "stock",
                                .json = "stock",
                                .column = "stock",
                                .field = "published",
                                .is_required = true}),
    make_term<&Voucher::begin_ms>({.name = "begin (ms)",
                                   .subject = "begin",
                                   .json = "begin_ms",
                                   .column = "begin_ms",
                                   .field = "begin",
                                   .fault = "must lie between 1970 and 9999",
                                   .max = kNeverEndsMs,
                                   .is_time = true,
                                   .is_required = true}),
    make_term<&Voucher::end_ms>({.name = "end (ms)",
                                 .subject = "end",
                                 .json = "end_ms",
                                 .column = "end_ms",
                                 .field = "end",
                                 .fault = "must lie between 1970 and 9999",
                                 .max = kNeverEndsMs,
                                 .is_time = true,
                                 .is_required = true}),
    make_term<&Voucher::price_cents>({.name = "price (cents)",
                                      .subject = "price",
                                      .json = "price_cents",
                                      .column = "price_cents",
                                      .field = "price",
                                      .fault = "must be from 0 to 100000000000 (cents)",
                                      .max = kPriceCentsMax,
                                      .is_newer = true}),
    make_term<&Limits::total>({.name = "total limit",
                               .subject = "the total limit",
                               .json = "total",
                               .column = "limit_total",
                               .field = "total"}),
    make_term<&Limits::per_user>({.name = "limit per user",
                                  .subject = "the limit per user",
                                  .json = "per_user",
                                  .column = "limit_per_user",
                                  .field = "per_user"}),
    make_term<&Limits::per_user_day>({.name = "limit per day",
                                      .subject = "the limit per user and day",
                                      .json = "per_user_day",
                                      .column = "limit_per_user_day",
                                      .field = "per_day"}),
    make_term<&Limits::utc_offset_minutes>({.name = "UTC offset (minutes)",
                                            .subject = "the UTC offset",
                                            .json = "utc_offset_minutes",
                                            .column = "utc_offset_minutes",
                                            .field = "offset",
                                            .fault = kUtcOffsetFault,
                                            .min = kUtcOffsetMinutesMin,
                                            .max = kUtcOffsetMinutesMax}),
    make_term<&Voucher::payment_ms>({.name = "time to pay (ms)",
                                     .subject = "the time to pay",
                                     .json = "payment_ms",
                                     .column = "payment_ms",
                                     .field = "pay_ms",
                                     .fault = "must be from 0 to 31622400000 (ms, a year)",
                                     .max = std::int64_t{366} * 24 * 60 * 60 * 1'000}),
    make_term<&Voucher::restock>({.name = "restock",
                                  .subject = "restock",
                                  .json = "restock",
                                  .column = "restock",
                                  .field = "restock",
                                  .fault = "must be 0 or 1",
                                  .max = 1,
                                  .is_flag = true,
                                  .absent = 1}),
    make_term<&Voucher::restore_allowance>({.name = "restore allowance",
                                            .subject = "restore_allowance",
                                            .json = "restore_allowance",
                                            .column = "restore_allowance",
                                            .field = "allowance",
                                            .fault = "must be 0 or 1",
                                            .max = 1,
                                            .is_flag = true,
                                            .absent = 1}),
    make_term<&Voucher::waiting_max>({.name = "waiting users",
                                      .subject = "the number of waiting users",
                                      .json = "waiting_max",
                                      .column = "waiting_max",
                                      .field = "waiting",
                                      .fault = "must be from 0 to 1000000",
                                      .max = 1'000'000}),
    make_term<&Voucher::needs_token>({.name = "needs token",
                                      .subject = "needs_token",
                                      .json = "needs_token",
                                      .column = "needs_token",
                                      .field = "token",
                                      .fault = "must be 0 or 1",
                                      .max = 1,
                                      .is_flag = true}),
    make_term<&Voucher::lanes>({.name = "lanes",
                                .subject = "the number of lanes",
                                .json = "lanes",
                                .column = "lanes",
                                .field = "",
                                .fault = "must be from 1 to 64",
                                .min = 1,
                                .max = kLanesMax}),
};

/// A field of the voucher's hash that comes from its terms.
struct TermField {
  std::string_view name;   // in lists
  std::string_view field;  // of the hash
  std::int64_t value = 0;
  std::int64_t absent = 0;  // VoucherTerm::absent
  bool is_newer = false;    // VoucherTerm::is_newer
};

/// Returns the fields of a version: its number, then the terms that admission needs.
std::vector<TermField> term_fields(const VoucherVersion& version);

/// Appends the fields of a version and their values to a script's arguments, in pairs: as a lane has it
/// (on_lane()). With several lanes, their number and what a lane has only a share of follow.
void append_terms(const VoucherVersion& version, const VoucherVersion& here,
                  std::vector<std::string>& arguments);

/// Returns the version that append_terms() wrote, as names and values in any order. Empty if its number is
/// missing.
std::optional<VoucherVersion> read_terms(
    std::span<const std::pair<std::string, std::string>> fields);

/// Describes the terms in which a voucher in the keyspace differs from `version`: "stock 5 there,
/// 10 here; …". `there` has the values of term_fields(), in their order. A missing one counts as the
/// value of an absent field, or as equal if the term is newer. Returns an empty string if there are
/// no differences.
std::string find_differences(const VoucherVersion& version,
                             std::span<const std::optional<std::int64_t>> there);

}  // namespace rushgate
