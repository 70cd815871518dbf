#include "engine/sale/audit/audit_snapshot.h"

#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/numbers.h"
#include "engine/client/reply_status.h"
#include "engine/sale/vouchers/voucher_buyers.h"
#include "engine/sale/vouchers/voucher_terms.h"

namespace rushgate {
namespace {

// KEYS voucher, stock, order stream, refunds. ARGV fields of the voucher.
// Returns {version, published, given_back, admitted, stock, last id of the stream, TIME, values of
// the fields, withheld, refunds}, nil for a missing value. Without fields, refunds is empty.
const Script& counters_script() {
  static const Script* const kScript = new Script(R"lua(
local terms = redis.call('HMGET', KEYS[1], 'version', 'published', 'given_back', 'admitted', 'withheld')
local last = '0-0'
if redis.call('EXISTS', KEYS[3]) == 1 then
  local info = redis.call('XINFO', 'STREAM', KEYS[3])
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then last = info[i + 1] end
  end
end
local fields = #ARGV > 0 and redis.call('HMGET', KEYS[1], unpack(ARGV)) or {}
return {terms[1], terms[2], terms[3], terms[4], redis.call('GET', KEYS[2]), last, redis.call('TIME'), fields,
        terms[5], #ARGV > 0 and redis.call('HGETALL', KEYS[4]) or {}}
)lua");
  return *kScript;
}

std::optional<std::int64_t> number_in(const Reply& reply) {
  return reply.is_text() ? parse_int64(reply.text()) : std::nullopt;
}

/// Returns TIME's reply, seconds and microseconds, in ms.
std::optional<std::int64_t> time_ms_in(const Reply& reply) {
  if (!reply.is_aggregate() || reply.elements().size() != 2) return std::nullopt;
  const auto seconds = number_in(reply.elements()[0]);
  const auto microseconds = number_in(reply.elements()[1]);
  if (!seconds || !microseconds) return std::nullopt;
  return *seconds * 1'000 + *microseconds / 1'000;
}

/// Reads the counters, and in the same request these fields of the voucher's hash.
absl::StatusOr<VoucherCounters> read_counters(Client& client, const SaleKeys& keys,
                                              VoucherId voucher,
                                              std::span<const std::string_view> fields,
                                              std::vector<std::optional<std::int64_t>>& values) {
  const std::string names[] = {keys.voucher(voucher), keys.stock(voucher), keys.order_stream,
                               keys.refunds(voucher)};
  const std::vector<std::string_view> views(std::begin(names), std::end(names));
  const Reply reply = client.run(counters_script(), views, fields);
  constexpr std::size_t kParts = 10;
  const std::string doing = "reading the counters of voucher " + std::to_string(voucher);
  if (reply.kind() != Reply::Kind::kArray || reply.elements().size() != kParts)
    return to_status(reply, doing);

  const std::vector<Reply>& parts = reply.elements();
  const auto last = parts[5].is_text() ? StreamId::parse(parts[5].text()) : std::nullopt;
  if (!last) return to_status(parts[5], doing);
  const auto time_ms = time_ms_in(parts[6]);
  if (!time_ms) return to_status(parts[6], doing);
  if (!parts[7].is_aggregate()) return to_status(parts[7], doing);
  values.clear();
  for (const Reply& value : parts[7].elements()) values.push_back(number_in(value));
  if (!parts[9].is_aggregate()) return to_status(parts[9], doing);
  VoucherCounters counters{.version = number_in(parts[0]),
                           .published = number_in(parts[1]),
                           .stock = number_in(parts[4]),
                           .admitted = number_in(parts[3]),
                           .given_back = number_in(parts[2]).value_or(0),
                           .withheld = number_in(parts[8]).value_or(0),
                           .taken_at = {.last = *last, .time_ms = *time_ms}};
  const std::vector<Reply>& refunds = parts[9].elements();
  for (std::size_t i = 0; i + 1 < refunds.size(); i += 2) {
    const auto order = number_in(refunds[i]);
    if (order) counters.refunds.emplace(*order, number_in(refunds[i + 1]).value_or(0));
  }
  return counters;
}

}  // namespace

absl::StatusOr<VoucherCounters> read_voucher_counters(Client& client, const SaleKeys& keys,
                                                      VoucherId voucher) {
  std::vector<std::optional<std::int64_t>> none;
  return read_counters(client, keys, voucher, {}, none);
}

absl::StatusOr<VoucherSnapshot> take_voucher_snapshot(Client& client, const SaleKeys& keys,
                                                      VoucherId voucher) {
  constexpr int kLooksMax = 5;
  std::vector<std::string_view> fields;
  for (const TermField& term : term_fields({})) fields.push_back(term.field);
  for (int look = 1;; ++look) {
    VoucherSnapshot snapshot;
    auto counters = read_counters(client, keys, voucher, fields, snapshot.terms);
    if (!counters.ok()) return counters.status();
    snapshot.counters = *std::move(counters);
    // A buyer may be met twice. The second count is the newer one.
    const absl::Status read =
        for_each_buyer(client, keys, voucher, [&](const UserId& user, std::int64_t count) {
          snapshot.buyers.insert_or_assign(user, count);
        });
    const bool is_changed = absl::IsAborted(read);
    if (!read.ok() && !(is_changed && look < kLooksMax)) return read;
    const auto after = read_voucher_counters(client, keys, voucher);
    if (!after.ok()) return after.status();
    snapshot.buyers_read_at = after->taken_at;
    const bool is_same = !is_changed && snapshot.counters.is_same_sale(*after);
    if (is_same || look == kLooksMax) return snapshot;
  }
}

}  // namespace rushgate
