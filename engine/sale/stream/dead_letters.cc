#include "engine/sale/stream/dead_letters.h"

#include <string_view>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/stream/stream_entries.h"

namespace rushgate {
namespace {

// bury() adds this field and kEntryField in front of the order's own.
constexpr std::string_view kReasonField = "reason";

constexpr std::string_view kDeadKind = "dead";
constexpr std::string_view kDiscardedKind = "discarded";

// The index: order -> "dead <letter>" or "discarded <letter>", and for each stream the id up to
// which it is indexed. An earlier version appends letters without indexing them. So a newly
// appended letter may follow a missing one: then it does not move that id.
//
// A letter with an event of an order is not the order's: it has none here.
constexpr const char* kIndex = R"lua(
local function order_of(fields)
  for i = 1, #fields, 2 do
    if fields[i] == 'event' then return nil end
    if fields[i] == 'id' then return string.match(fields[i + 1], '^[1-9]%d*$') end
  end
end
local function indexed_to(index, kind) return redis.call('HGET', index, kind .. '_to') or '0-0' end
local function is_whole(stream, index, kind)
  return #redis.call('XRANGE', stream, '(' .. indexed_to(index, kind), '+', 'COUNT', 1) == 0
end
local function note(index, kind, letter, fields, was_whole)
  local order = order_of(fields)
  if order then redis.call('HSET', index, order, kind .. ' ' .. letter) end
  if was_whole then redis.call('HSET', index, kind .. '_to', letter) end
end
)lua";

Script with_index(const char* text) { return Script(concat(kIndex, text)); }

// KEYS order stream, dead letters, faults, index.
// ARGV group, entry, reason, voucher and id of SeenEnds or "", field, value, …
const Script& bury_script() {
  static const Script* const kScript = new Script(with_index(R"lua(
-- Returns true if an order of the voucher was cancelled after the entry `seen`, or may have been.
local function may_have_ended(voucher, seen)
  local later = redis.call('XRANGE', KEYS[1], '(' .. seen, '+', 'COUNT', 1000)
  for _, entry in ipairs(later) do
    local event, its_voucher
    for i = 1, #entry[2], 2 do
      if entry[2][i] == 'event' then event = entry[2][i + 1] end
      if entry[2][i] == 'voucherId' then its_voucher = entry[2][i + 1] end
    end
    if event == 'cancelled' and its_voucher == voucher then return true end
  end
  return #later == 1000
end

-- The copy first: a script that fails half-way keeps what it did.
if #redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[2], ARGV[2], 1) == 0 then return 0 end
if ARGV[4] ~= '' and may_have_ended(ARGV[4], ARGV[5]) then return 0 end
local was_whole = is_whole(KEYS[2], KEYS[4], 'dead')
local fields = {unpack(ARGV, 6)}
local letter = redis.call('XADD', KEYS[2], '*', 'entry', ARGV[2], 'reason', ARGV[3], unpack(fields))
note(KEYS[4], 'dead', letter, fields, was_whole)
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
redis.call('HDEL', KEYS[3], ARGV[2])
return 1
)lua"));
  return *kScript;
}

// KEYS dead letters, index. ARGV entry, reason, field, value, …
const Script& bury_without_stock_script() {
  static const Script* const kScript = new Script(with_index(R"lua(
local was_whole = is_whole(KEYS[1], KEYS[2], 'dead')
local fields = {unpack(ARGV, 3)}
local letter = redis.call('XADD', KEYS[1], '*', 'entry', ARGV[1], 'reason', ARGV[2], 'no_stock', 1,
                          unpack(fields))
note(KEYS[2], 'dead', letter, fields, was_whole)
return 1
)lua"));
  return *kScript;
}

// KEYS dead letters, order stream, index. ARGV id
const Script& retry_script() {
  static const Script* const kScript = new Script(with_index(R"lua(
local found = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not found or #found[2] <= 4 then return 0 end
if found[2][5] == 'no_stock' then return 2 end
local fields, admitted = found[2], false
for i = 5, #fields, 2 do admitted = admitted or fields[i] == 'admitted' end
local order = order_of(fields)
local is_noted = order and redis.call('HGET', KEYS[3], order) == 'dead ' .. ARGV[1]
local add = {'XADD', KEYS[2], '*', unpack(fields, 5)}
if not admitted then add[#add + 1] = 'admitted'; add[#add + 1] = fields[2] end
redis.call(unpack(add))
redis.call('XDEL', KEYS[1], ARGV[1])
if is_noted then redis.call('HDEL', KEYS[3], order) end
return 1
)lua"));
  return *kScript;
}

// KEYS dead letters, discarded letters, index. ARGV id, why
const Script& discard_script() {
  static const Script* const kScript = new Script(with_index(R"lua(
local found = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not found then return 0 end
local was_whole = is_whole(KEYS[2], KEYS[3], 'discarded')
local letter = redis.call('XADD', KEYS[2], '*', 'dead', ARGV[1], 'why', ARGV[2], unpack(found[2]))
note(KEYS[3], 'discarded', letter, found[2], was_whole)
redis.call('XDEL', KEYS[1], ARGV[1])
return 1
)lua"));
  return *kScript;
}

// KEYS discarded letters, index. ARGV letter, its order or ''
const Script& delete_discarded_script() {
  static const Script* const kScript = new Script(R"lua(
if redis.call('HGET', KEYS[2], ARGV[2]) == 'discarded ' .. ARGV[1] then
  redis.call('HDEL', KEYS[2], ARGV[2])
end
return redis.call('XDEL', KEYS[1], ARGV[1])
)lua");
  return *kScript;
}

// KEYS dead letters, discarded letters, index. ARGV order
//
// Returns the kind of letter and the letter; 0 if there is none; 1 if some are not indexed.
const Script& find_script() {
  static const Script* const kScript = new Script(with_index(R"lua(
local place = redis.call('HGET', KEYS[3], ARGV[1])
if place then
  local kind, letter = string.match(place, '^(%a+) (%d+%-%d+)$')
  local found = letter and redis.call('XRANGE', kind == 'dead' and KEYS[1] or KEYS[2], letter, letter)[1]
  if found and order_of(found[2]) == ARGV[1] then return {kind, found} end
  redis.call('HDEL', KEYS[3], ARGV[1])
end
local has_all = is_whole(KEYS[1], KEYS[3], 'dead') and is_whole(KEYS[2], KEYS[3], 'discarded')
return has_all and 0 or 1
)lua"));
  return *kScript;
}

// KEYS dead or discarded letters, index. ARGV kind, portion
//
// Returns the number of letters that it read.
const Script& index_script() {
  static const Script* const kScript = new Script(with_index(R"lua(
local from = '(' .. indexed_to(KEYS[2], ARGV[1])
local letters = redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', ARGV[2])
for _, letter in ipairs(letters) do note(KEYS[2], ARGV[1], letter[1], letter[2], true) end
return #letters
)lua"));
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
    } else if (name == kNoStockField) {
      letter.is_without_stock = true;
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

void append_fields(std::vector<std::string_view>& arguments, const OrderEntry& entry) {
  for (const auto& [name, value] : entry.fields) {
    arguments.push_back(name);
    arguments.push_back(value);
  }
}

/// Reads the reply of the find script: the kind of letter, and the letter.
absl::StatusOr<std::optional<DeadLetter>> read_found(const Reply& reply) {
  const bool is_pair =
      reply.is_aggregate() && reply.elements().size() == 2 && reply.elements()[0].is_text();
  const auto entry = is_pair ? read_entry(reply.elements()[1]) : std::nullopt;
  if (!entry) return to_status(reply, "looking for a dead letter");
  if (reply.elements()[0].text() == kDeadKind) return read_letter(*entry);
  DiscardedLetter discarded = read_discarded(*entry);
  discarded.letter.reason = discarded.reason();
  return std::move(discarded.letter);
}

/// Visits the entries of a voucher in a stream of letters.
absl::Status for_each_letter_of(Client& client, const std::string& stream, VoucherId voucher,
                                absl::FunctionRef<void(const OrderEntry&)> visit) {
  const std::string voucher_text = std::to_string(voucher);
  return for_each_entry(client, stream, StreamId::min(), StreamId::max(),
                        [&](const OrderEntry& found) {
                          if (found.field("voucherId") == voucher_text) visit(found);
                          return true;
                        });
}

}  // namespace

absl::StatusOr<bool> bury(Client& client, const SaleKeys& keys, const OrderEntry& entry,
                          const std::string& reason, const std::optional<SeenEnds>& seen) {
  const std::string dead = keys.dead_letters();
  const std::string faults = keys.faults();
  const std::string index = keys.dead_letter_orders();
  const std::string_view names[] = {keys.order_stream, dead, faults, index};
  const std::string voucher = seen ? std::to_string(seen->voucher) : "";
  const std::string seen_to = seen ? seen->to.to_string() : "";
  std::vector<std::string_view> arguments = {keys.group, entry.id, reason, voucher, seen_to};
  append_fields(arguments, entry);
  const Reply buried = client.run(bury_script(), names, arguments);
  if (!buried.is_integer()) return to_status(buried, "burying an order");
  return buried.integer() == 1;
}

absl::Status bury_without_stock(Client& client, const SaleKeys& keys, const OrderEntry& entry,
                                const std::string& reason) {
  const std::string dead = keys.dead_letters();
  const std::string index = keys.dead_letter_orders();
  const std::string_view names[] = {dead, index};
  std::vector<std::string_view> arguments = {entry.id, reason};
  append_fields(arguments, entry);
  const Reply buried = client.run(bury_without_stock_script(), names, arguments);
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
  const std::string dead = keys.dead_letters();
  const std::string discarded = keys.discarded_letters();
  const std::string index = keys.dead_letter_orders();
  const std::string id = std::to_string(order);
  const std::string_view names[] = {dead, discarded, index};
  const std::string_view arguments[] = {id};
  constexpr int kLooksMax = 10;
  for (int look = 0; look < kLooksMax; ++look) {
    const Reply found = client.run(find_script(), names, arguments);
    if (found == Reply::integer(0)) return std::nullopt;
    if (found != Reply::integer(1)) return read_found(found);
    if (const absl::Status indexed = index_dead_letters(client, keys); !indexed.ok()) {
      return indexed;
    }
  }
  return absl::UnavailableError("looking for a dead letter: ever more appeared");
}

absl::Status index_dead_letters(Client& client, const SaleKeys& keys) {
  constexpr std::int64_t kPortion = 1'000;
  const std::string portion = std::to_string(kPortion);
  const std::string index = keys.dead_letter_orders();
  const std::pair<std::string, std::string_view> streams[] = {
      {keys.dead_letters(), kDeadKind}, {keys.discarded_letters(), kDiscardedKind}};
  for (const auto& [stream, kind] : streams) {
    const std::string_view names[] = {stream, index};
    const std::string_view arguments[] = {kind, portion};
    Reply read;
    do {
      read = client.run(index_script(), names, arguments);
      if (!read.is_integer()) return to_status(read, "indexing the dead letters");
    } while (read.integer() == kPortion);
  }
  return absl::OkStatus();
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

absl::StatusOr<DeadLettersPosition> dead_letters_position(Client& client, const SaleKeys& keys) {
  constexpr std::string_view kDoing = "looking at the dead letters";
  const Reply exists = client("EXISTS", keys.dead_letters());
  if (!exists.is_integer()) return to_status(exists, kDoing);
  if (exists.integer() == 0) return DeadLettersPosition{};
  const Reply info = client("XINFO", "STREAM", keys.dead_letters());
  if (!info.is_aggregate()) return to_status(info, kDoing);
  DeadLettersPosition position;
  const std::vector<Reply>& parts = info.elements();
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
    const Reply& value = parts[i + 1];
    if (parts[i].text() == "length" && value.is_integer()) position.length = value.integer();
    if (parts[i].text() == "last-generated-id" && value.is_text()) position.last_id = value.text();
  }
  return position;
}

absl::StatusOr<Retry> retry_dead_letter(Client& client, const SaleKeys& keys,
                                        const std::string& id) {
  const std::string dead = keys.dead_letters();
  const std::string index = keys.dead_letter_orders();
  const std::string_view names[] = {dead, keys.order_stream, index};
  const std::string_view arguments[] = {id};
  const Reply retried = client.run(retry_script(), names, arguments);
  if (!retried.is_integer()) return to_status(retried, "retrying a dead letter");
  return static_cast<Retry>(retried.integer());
}

absl::StatusOr<std::optional<DeadLetter>> read_dead_letter(Client& client, const SaleKeys& keys,
                                                           const std::string& id) {
  const Reply found = client("XRANGE", keys.dead_letters(), id, id);
  if (!found.is_aggregate()) return to_status(found, "reading a dead letter");
  if (found.elements().empty()) return std::nullopt;
  const auto entry = read_entry(found.elements()[0]);
  if (!entry) return to_status(found, "reading a dead letter");
  return read_letter(*entry);
}

absl::StatusOr<bool> discard_dead_letter(Client& client, const SaleKeys& keys,
                                         const std::string& id, const std::string& why) {
  const std::string dead = keys.dead_letters();
  const std::string discarded = keys.discarded_letters();
  const std::string index = keys.dead_letter_orders();
  const std::string_view names[] = {dead, discarded, index};
  const std::string_view arguments[] = {id, why};
  const Reply moved = client.run(discard_script(), names, arguments);
  if (!moved.is_integer()) return to_status(moved, "discarding a dead letter");
  return moved.integer() == 1;
}

absl::StatusOr<std::vector<std::string>> find_dead_letters_of(Client& client, const SaleKeys& keys,
                                                              VoucherId voucher) {
  std::vector<std::string> letters;
  const absl::Status read =
      for_each_letter_of(client, keys.dead_letters(), voucher,
                         [&](const OrderEntry& found) { letters.push_back(found.id); });
  if (!read.ok()) return read;
  return letters;
}

absl::Status discard_dead_letters_of(Client& client, const SaleKeys& keys, VoucherId voucher,
                                     const std::string& why) {
  const auto letters = find_dead_letters_of(client, keys, voucher);
  if (!letters.ok()) return letters.status();
  for (const std::string& letter : *letters) {
    const auto discarded = discard_dead_letter(client, keys, letter, why);
    if (!discarded.ok()) return discarded.status();
  }
  return absl::OkStatus();
}

absl::Status delete_discarded_letters(Client& client, const SaleKeys& keys, VoucherId voucher) {
  std::vector<std::pair<std::string, std::string>> letters;  // with their orders
  const absl::Status read =
      for_each_letter_of(client, keys.discarded_letters(), voucher, [&](const OrderEntry& found) {
        letters.emplace_back(found.id, std::string(found.field("id").value_or("")));
      });
  if (!read.ok()) return read;
  const std::string discarded = keys.discarded_letters();
  const std::string index = keys.dead_letter_orders();
  const std::string_view names[] = {discarded, index};
  for (const auto& [letter, order] : letters) {
    const std::string_view arguments[] = {letter, order};
    const Reply deleted = client.run(delete_discarded_script(), names, arguments);
    if (!deleted.is_integer()) return to_status(deleted, "deleting a discarded letter");
  }
  return absl::OkStatus();
}

std::string_view retry_name(Retry retry) {
  switch (retry) {
    case Retry::kNone:
      return "none";
    case Retry::kDone:
      return "done";
    case Retry::kNeedsRestore:
      return "needs restore";
  }
  return "?";
}

}  // namespace rushgate
