#include "engine/sale/audit/audit_snapshot.h"

#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/hash_scan.h"
#include "engine/core/client/reply_number.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/model/voucher_terms.h"
#include "engine/sale/scripts/audit_counters.lua.h"
#include "engine/sale/vouchers/voucher_book.h"
#include "engine/sale/vouchers/voucher_buyers.h"

namespace rushgate {
namespace {

const Script& counters_script() {
  static const Script* const kScript = new Script(lua::kAuditCounters);
  return *kScript;
}

// The places of the counters in the script's reply.
enum CounterPlace : std::uint8_t {
  kAtVersion,
  kAtPublished,
  kAtGivenBack,
  kAtAdmitted,
  kAtWithheld,
  kAtEpoch,
  kAtCounted,
  kAtClosed,
  kAtClosedAt,
  kAtMoved,
  kCounterFields  // their number
};

/// Returns TIME's reply, seconds and microseconds, in ms.
std::optional<std::int64_t> time_ms_in(const Reply& reply) {
  if (!reply.is_aggregate() || reply.elements().size() != 2) return std::nullopt;
  const auto seconds = number_in(reply.elements()[0]);
  const auto microseconds = number_in(reply.elements()[1]);
  if (!seconds || !microseconds) return std::nullopt;
  return *seconds * 1'000 + *microseconds / 1'000;
}

/// Reads the counters, and in the same request these fields of the voucher's hash and these refunds.
absl::StatusOr<VoucherCounters> read_counters(Client& client, const SaleKeys& keys,
                                              VoucherId voucher,
                                              std::span<const std::string_view> fields,
                                              std::span<const OrderId> refunding,
                                              std::vector<std::optional<std::int64_t>>& values) {
  const std::string names[] = {keys.voucher(voucher), keys.stock(voucher),  keys.order_stream,
                               keys.refunds(voucher), keys.buyers(voucher), keys.vouchers()};
  const std::vector<std::string_view> views(std::begin(names), std::end(names));
  std::vector<std::string> arguments = {std::to_string(voucher), std::to_string(fields.size())};
  arguments.insert(arguments.end(), fields.begin(), fields.end());
  for (const OrderId order : refunding) arguments.push_back(std::to_string(order));
  const std::vector<std::string_view> texts(arguments.begin(), arguments.end());
  const Reply reply = client.run(counters_script(), views, texts);
  constexpr std::size_t kParts = 8;
  const std::string doing = concat("reading the counters of voucher ", voucher);
  if (reply.kind() != Reply::Kind::kArray || reply.elements().size() != kParts)
    return to_status(reply, doing);

  const std::vector<Reply>& parts = reply.elements();
  if (!parts[0].is_aggregate() || parts[0].elements().size() != kCounterFields)
    return to_status(parts[0], doing);
  const std::vector<Reply>& terms = parts[0].elements();
  const auto last = parts[2].is_text() ? StreamId::parse(parts[2].text()) : std::nullopt;
  if (!last) return to_status(parts[2], doing);
  const auto time_ms = time_ms_in(parts[3]);
  if (!time_ms) return to_status(parts[3], doing);
  for (const std::size_t list : {std::size_t{4}, std::size_t{6}}) {
    if (!parts[list].is_aggregate()) return to_status(parts[list], doing);
  }
  if (!parts[5].is_text()) return to_status(parts[5], doing);
  if (!parts[7].is_integer()) return to_status(parts[7], doing);
  values.clear();
  for (const Reply& value : parts[4].elements()) values.push_back(number_in(value));
  VoucherCounters counters{.version = number_in(terms[kAtVersion]),
                           .published = number_in(terms[kAtPublished]),
                           .stock = number_in(parts[1]),
                           .admitted = number_in(terms[kAtAdmitted]),
                           .given_back = number_in(terms[kAtGivenBack]).value_or(0),
                           .withheld = number_in(terms[kAtWithheld]).value_or(0),
                           .moved = number_in(terms[kAtMoved]).value_or(0),
                           .epoch = number_in(terms[kAtEpoch]).value_or(0),
                           .is_unlisted = !terms[kAtVersion].is_nil() && parts[7].integer() == 0,
                           .is_counted = number_in(terms[kAtCounted]) == 1,
                           .buyers_type = parts[5].text(),
                           .taken_at = {.last = *last, .time_ms = *time_ms}};
  if (!terms[kAtClosed].is_nil()) counters.closed_at_ms = number_in(terms[kAtClosedAt]).value_or(0);
  const std::vector<Reply>& refunds = parts[6].elements();
  for (std::size_t i = 0; i < refunds.size() && i < refunding.size(); ++i) {
    if (const auto keeps = number_in(refunds[i])) counters.refunds.emplace(refunding[i], *keeps);
  }
  return counters;
}

/// Reads "<day>:<pieces>".
std::optional<DayRecord> read_day(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return std::nullopt;
  const auto day = parse_int64(text.substr(0, colon));
  const auto count = parse_int64(text.substr(colon + 1));
  if (!day || !count) return std::nullopt;
  return DayRecord{.day = *day, .count = *count};
}

/// Reads the records of admission and refunds other than the buyers.
absl::Status read_records(Client& client, const SaleKeys& keys, VoucherId voucher,
                          VoucherSnapshot& snapshot) {
  constexpr int kFieldsPerScan = 1'000;
  const std::string days = keys.days(voucher);
  const absl::Status read = for_each_field(
      client, days, kFieldsPerScan, "reading " + days,
      [&](std::string_view user, std::string_view text) {
        const auto day = read_day(text);
        if (day) snapshot.days.insert_or_assign(UserId(user), *day);
        if (!day) snapshot.faults.push_back("user " + std::string(user) + " has no day in " + days);
      });
  if (!read.ok()) return read;
  const std::string refunds = keys.refunds(voucher);
  return for_each_field(client, refunds, kFieldsPerScan, "reading " + refunds,
                        [&](std::string_view order, std::string_view) {
                          snapshot.refunds.push_back(parse_int64(order).value_or(0));
                        });
}

}  // namespace

absl::StatusOr<VoucherCounters> read_voucher_counters(Client& client, const SaleKeys& keys,
                                                      VoucherId voucher) {
  std::vector<std::optional<std::int64_t>> none;
  return read_counters(client, keys, voucher, {}, {}, none);
}

bool VoucherCounters::is_being_rebuilt() const {
  return closed_at_ms && taken_at.time_ms - *closed_at_ms < VoucherRebuilder::kAbandonedMs;
}

absl::StatusOr<VoucherSnapshot> take_voucher_snapshot(Client& client, const SaleKeys& keys,
                                                      VoucherId voucher,
                                                      std::span<const OrderId> refunding) {
  constexpr int kLooksMax = 5;
  std::vector<std::string_view> fields;
  for (const TermField& term : term_fields({})) fields.push_back(term.field);
  for (int look = 1;; ++look) {
    VoucherSnapshot snapshot;
    ASSIGN_OR_RETURN(snapshot.counters,
                     read_counters(client, keys, voucher, fields, refunding, snapshot.terms));
    // A buyer may be met twice. The second count is the newer one.
    const absl::Status read =
        for_each_buyer(client, keys, voucher, [&](const UserId& user, std::int64_t count) {
          snapshot.buyers.insert_or_assign(user, count);
        });
    const bool is_changed = absl::IsAborted(read);
    if (!read.ok() && !(is_changed && look < kLooksMax)) return read;
    ASSIGN_OR_RETURN(const auto after, read_voucher_counters(client, keys, voucher));
    snapshot.buyers_read_at = after.taken_at;
    const bool is_same = !is_changed && snapshot.counters.is_same_sale(after);
    if (!is_same && look < kLooksMax) continue;
    RETURN_IF_ERROR(read_records(client, keys, voucher, snapshot));
    return snapshot;
  }
}

}  // namespace rushgate
