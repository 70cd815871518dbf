// A voucher's counters, its buyers and the last id of the order stream, taken together; in Lua and
// in C++.
#include <utility>

#include "engine/sale/audit/audit.h"

namespace rushgate {

// KEYS voucher, stock, buyers, order stream.
// {version, published, given_back, counted, stock, buyers: users, or users and counts; last id of
// the stream}, nil for what is not there.
const Script& audit_snapshot_script() {
  static const Script* const script = new Script(R"lua(
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
return {terms[1], terms[2], terms[3], terms[4], redis.call('GET', KEYS[2]), buyers, last}
)lua",
                                                 std::string(kNativeAuditSnapshot));
  return *script;
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
    return snapshot;
  };
}

}  // namespace rushgate
