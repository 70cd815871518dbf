#include "engine/sale/orders/dead_letters.h"

#include <string_view>
#include <utility>

#include "engine/sale/reply_status.h"

namespace rushgate {
namespace {

// bury() adds this field and kEntryField in front of the order's own.
constexpr std::string_view kReasonField = "reason";

// KEYS order stream, dead letters, faults. ARGV group, entry, reason, field, value, …
const Script& bury_script() {
  static const Script* const kScript = new Script(R"lua(
-- The copy first: a script that fails half-way keeps what it did.
if #redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[2], ARGV[2], 1) == 0 then return 0 end
local add = {'XADD', KEYS[2], '*', 'entry', ARGV[2], 'reason', ARGV[3]}
for i = 4, #ARGV do add[#add + 1] = ARGV[i] end
redis.call(unpack(add))
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
redis.call('HDEL', KEYS[3], ARGV[2])
return 1
)lua");
  return *kScript;
}

// KEYS dead letters, order stream. ARGV id
const Script& retry_script() {
  static const Script* const kScript = new Script(R"lua(
local found = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not found or #found[2] <= 4 then return 0 end
local fields, admitted = found[2], false
for i = 5, #fields, 2 do admitted = admitted or fields[i] == 'admitted' end
local add = {'XADD', KEYS[2], '*', unpack(fields, 5)}
if not admitted then add[#add + 1] = 'admitted'; add[#add + 1] = fields[2] end
redis.call(unpack(add))
redis.call('XDEL', KEYS[1], ARGV[1])
return 1
)lua");
  return *kScript;
}

// KEYS dead letters, discarded letters. ARGV id, why
const Script& discard_script() {
  static const Script* const kScript = new Script(R"lua(
local found = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not found then return 0 end
redis.call('XADD', KEYS[2], '*', 'dead', ARGV[1], 'why', ARGV[2], unpack(found[2]))
redis.call('XDEL', KEYS[1], ARGV[1])
return 1
)lua");
  return *kScript;
}

DeadLetter read_letter(const OrderEntry& found) {
  DeadLetter letter;
  letter.id = found.id;
  letter.order.id = found.id;
  for (const auto& [name, value] : found.fields) {
    if (name == kEntryField && letter.entry.empty()) {
      letter.entry = value;
    } else if (name == kReasonField && letter.reason.empty()) {
      letter.reason = value;
    } else {
      letter.order.fields.emplace_back(name, value);
    }
  }
  return letter;
}

/// The discard script adds two fields in front of the letter's own.
DiscardedLetter read_discarded(const OrderEntry& found) {
  constexpr std::size_t kAdded = 2;
  DiscardedLetter discarded;
  discarded.id = found.id;
  if (const auto id = StreamId::parse(found.id)) {
    discarded.discarded_at_ms = static_cast<std::int64_t>(id->ms);
  }
  if (found.fields.size() < kAdded) return discarded;
  discarded.why = found.fields[1].second;
  OrderEntry letter;
  letter.id = found.fields[0].second;
  letter.fields.assign(found.fields.begin() + kAdded, found.fields.end());
  discarded.letter = read_letter(letter);
  return discarded;
}

}  // namespace

absl::Status bury(Client& client, const SaleKeys& keys, const OrderEntry& entry,
                  const std::string& reason) {
  const std::string dead = keys.dead_letters();
  const std::string faults = keys.faults();
  const std::string_view names[] = {keys.order_stream, dead, faults};
  std::vector<std::string_view> arguments = {keys.group, entry.id, reason};
  for (const auto& [name, value] : entry.fields) {
    arguments.push_back(name);
    arguments.push_back(value);
  }
  const Reply buried = client.run(bury_script(), names, arguments);
  return buried.is_integer() ? absl::OkStatus() : to_status(buried, "burying an order");
}

absl::StatusOr<std::vector<DeadLetter>> list_dead_letters(Client& client, const SaleKeys& keys) {
  std::vector<DeadLetter> letters;
  const absl::Status read = for_each_entry(client, keys.dead_letters(), StreamId::min(),
                                           StreamId::max(), [&](const OrderEntry& found) {
                                             letters.push_back(read_letter(found));
                                             return true;
                                           });
  if (!read.ok()) return read;
  return letters;
}

absl::StatusOr<std::optional<DeadLetter>> find_dead_letter(Client& client, const SaleKeys& keys,
                                                           OrderId order) {
  const std::string id = std::to_string(order);
  std::optional<DeadLetter> letter;
  absl::Status read = for_each_entry(client, keys.dead_letters(), StreamId::min(), StreamId::max(),
                                     [&](const OrderEntry& found) {
                                       if (found.field("id") == id) letter = read_letter(found);
                                       return !letter.has_value();
                                     });
  if (read.ok() && !letter) {
    read = for_each_entry(client, keys.discarded_letters(), StreamId::min(), StreamId::max(),
                          [&](const OrderEntry& found) {
                            if (found.field("id") != id) return true;
                            const DiscardedLetter discarded = read_discarded(found);
                            letter = discarded.letter;
                            letter->reason = discarded.reason();
                            return false;
                          });
  }
  if (!read.ok()) return read;
  return letter;
}

absl::StatusOr<std::vector<DiscardedLetter>> list_discarded_letters(Client& client,
                                                                    const SaleKeys& keys) {
  std::vector<DiscardedLetter> letters;
  const absl::Status read = for_each_entry(client, keys.discarded_letters(), StreamId::min(),
                                           StreamId::max(), [&](const OrderEntry& found) {
                                             letters.push_back(read_discarded(found));
                                             return true;
                                           });
  if (!read.ok()) return read;
  return letters;
}

absl::StatusOr<DeadLettersMark> mark_dead_letters(Client& client, const SaleKeys& keys) {
  constexpr std::string_view kDoing = "looking at the dead letters";
  const Reply exists = client("EXISTS", keys.dead_letters());
  if (!exists.is_integer()) return to_status(exists, kDoing);
  if (exists.integer() == 0) return DeadLettersMark{};
  const Reply info = client("XINFO", "STREAM", keys.dead_letters());
  if (!info.is_aggregate()) return to_status(info, kDoing);
  DeadLettersMark mark;
  const std::vector<Reply>& parts = info.elements();
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
    const Reply& value = parts[i + 1];
    if (parts[i].text() == "length" && value.is_integer()) mark.length = value.integer();
    if (parts[i].text() == "last-generated-id" && value.is_text()) mark.last_id = value.text();
  }
  return mark;
}

absl::StatusOr<bool> retry_dead_letter(Client& client, const SaleKeys& keys,
                                       const std::string& id) {
  const std::string dead = keys.dead_letters();
  const std::string_view names[] = {dead, keys.order_stream};
  const std::string_view arguments[] = {id};
  const Reply retried = client.run(retry_script(), names, arguments);
  if (!retried.is_integer()) return to_status(retried, "retrying a dead letter");
  return retried.integer() == 1;
}

absl::StatusOr<bool> discard_dead_letter(Client& client, const SaleKeys& keys,
                                         const std::string& id, const std::string& why) {
  const std::string dead = keys.dead_letters();
  const std::string discarded = keys.discarded_letters();
  const std::string_view names[] = {dead, discarded};
  const std::string_view arguments[] = {id, why};
  const Reply moved = client.run(discard_script(), names, arguments);
  if (!moved.is_integer()) return to_status(moved, "discarding a dead letter");
  return moved.integer() == 1;
}

}  // namespace rushgate
