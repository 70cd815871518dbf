// A voucher's counters, its buyers, the last id of the order stream and the time, taken together;
// in Lua and in C++.
#include "engine/sale/audit/audit_snapshot.h"

#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/numbers.h"
#include "engine/sale/audit/audit.h"
#include "engine/sale/reply_status.h"

namespace rushgate {

// KEYS voucher, stock, buyers, order stream.
// {version, published, given_back, counted, stock, buyers: users, or users and counts; last id of
// the stream, TIME}, nil for what is not there.
const Script& audit_snapshot_script() {
  static const Script* const kScript = new Script(R"lua(
local terms = redis.call('HMGET', KEYS[1], 'version', 'published', 'given_back', 'counted')
local buyers
if terms[4] == '1' then buyers = redis.call('HGETALL', KEYS[3]) else buyers = redis.call('SMEMBERS', KEYS[3]) end
local last = '0-0'
if redis.call('EXISTS', KEYS[4]) == 1 then
  local info = redis.call('XINFO', 'STREAM', KEYS[4])
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then last = info[i + 1] end
  end
end
return {terms[1], terms[2], terms[3], terms[4], redis.call('GET', KEYS[2]), buyers, last, redis.call('TIME')}
)lua",
                                                  std::string(kNativeAuditSnapshot));
  return *kScript;
}

namespace {

Reply call_or_throw(NativeCall& call, const Request& request) {
  Reply reply = call.call(request);
  if (reply.is_error()) throw ScriptError(reply.text());
  return to_resp2(std::move(reply));
}

Reply last_id_of(NativeCall& call, std::string_view stream) {
  if (call_or_throw(call, Request::of("EXISTS", stream)).integer() == 0) return Reply::bulk("0-0");
  const Reply info = call_or_throw(call, Request::of("XINFO", "STREAM", stream));
  for (std::size_t i = 0; i + 1 < info.elements().size(); i += 2) {
    if (info.elements()[i].text() == "last-generated-id") return info.elements()[i + 1];
  }
  return Reply::bulk("0-0");
}

}  // namespace

NativeScript native_audit_snapshot() {
  return [](NativeCall& call) {
    Reply snapshot = call_or_throw(
        call, Request::of("HMGET", call.key(0), "version", "published", "given_back", "counted"));
    const Reply& counted = snapshot.elements()[3];
    const bool is_hash = counted.is_text() && counted.text() == "1";
    Reply stock = call_or_throw(call, Request::of("GET", call.key(1)));
    Reply buyers = call_or_throw(call, Request::of(is_hash ? "HGETALL" : "SMEMBERS", call.key(2)));
    snapshot.elements().push_back(std::move(stock));
    snapshot.elements().push_back(std::move(buyers));
    snapshot.elements().push_back(last_id_of(call, call.key(3)));
    snapshot.elements().push_back(call_or_throw(call, Request::of("TIME")));
    return snapshot;
  };
}

// ---- Reading it ----

namespace {

std::optional<std::int64_t> number_in(const Reply& reply) {
  if (reply.is_integer()) return reply.integer();
  return reply.is_text() ? parse_int64(reply.text()) : std::nullopt;
}

/// TIME's answer, seconds and microseconds, in ms.
std::optional<std::int64_t> time_ms_in(const Reply& reply) {
  if (!reply.is_aggregate() || reply.elements().size() != 2) return std::nullopt;
  const auto seconds = number_in(reply.elements()[0]);
  const auto microseconds = number_in(reply.elements()[1]);
  if (!seconds || !microseconds) return std::nullopt;
  return *seconds * 1'000 + *microseconds / 1'000;
}

/// Adds the buyers of a set of users, or of a hash of counts; false if they are neither.
bool read_buyers(const Reply& buyers, bool is_counted, AuditSnapshot& snapshot) {
  if (!buyers.is_aggregate()) return false;
  const std::size_t step = is_counted ? 2 : 1;
  for (std::size_t i = 0; i + step <= buyers.elements().size(); i += step) {
    const auto user = number_in(buyers.elements()[i]);
    const auto count = is_counted ? number_in(buyers.elements()[i + 1]) : 1;
    if (!user || !count) return false;
    snapshot.buyers[*user] += *count;
  }
  return true;
}

}  // namespace

absl::StatusOr<AuditSnapshot> take_audit_snapshot(Client& client, const SaleKeys& keys,
                                                  VoucherId voucher) {
  const std::string names[] = {keys.voucher(voucher), keys.stock(voucher), keys.buyers(voucher),
                               keys.order_stream};
  const std::vector<std::string_view> views(std::begin(names), std::end(names));
  const Reply reply = client.run(audit_snapshot_script(), views, {});
  constexpr std::size_t kParts = 8;
  const std::string doing = "taking stock of voucher " + std::to_string(voucher);
  if (reply.kind() != Reply::Kind::kArray || reply.elements().size() != kParts)
    return to_status(reply, doing);

  const std::vector<Reply>& parts = reply.elements();
  AuditSnapshot snapshot;
  snapshot.version = number_in(parts[0]);
  snapshot.published = number_in(parts[1]);
  snapshot.given_back = number_in(parts[2]).value_or(0);
  snapshot.stock = number_in(parts[4]);
  if (!read_buyers(parts[5], number_in(parts[3]) == 1, snapshot)) return to_status(parts[5], doing);
  const auto last = parts[6].is_text() ? StreamId::parse(parts[6].text()) : std::nullopt;
  if (!last) return to_status(parts[6], doing);
  snapshot.last = *last;
  const auto time_ms = time_ms_in(parts[7]);
  if (!time_ms) return to_status(parts[7], doing);
  snapshot.time_ms = *time_ms;
  return snapshot;
}

}  // namespace rushgate
