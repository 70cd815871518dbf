#include "engine/sale/stream/dead_letters.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/scripts/letter_bury.lua.h"
#include "engine/sale/scripts/letter_bury_without_stock.lua.h"
#include "engine/sale/scripts/letter_delete_discarded.lua.h"
#include "engine/sale/scripts/letter_discard.lua.h"
#include "engine/sale/scripts/letter_find.lua.h"
#include "engine/sale/scripts/letter_index.lua.h"
#include "engine/sale/scripts/letter_retry.lua.h"
#include "engine/sale/stream/stream_entries.h"

namespace rushgate {
namespace {

// bury() adds this field and kEntryField in front of the order's own.
constexpr std::string_view kReasonField = "reason";

constexpr std::string_view kDeadKind = "dead";
constexpr std::string_view kDiscardedKind = "discarded";

const Script& bury_script() {
  static const Script* const kScript = new Script(lua::kLetterBury);
  return *kScript;
}

const Script& bury_without_stock_script() {
  static const Script* const kScript = new Script(lua::kLetterBuryWithoutStock);
  return *kScript;
}

const Script& retry_script() {
  static const Script* const kScript = new Script(lua::kLetterRetry);
  return *kScript;
}

const Script& discard_script() {
  static const Script* const kScript = new Script(lua::kLetterDiscard);
  return *kScript;
}

const Script& delete_discarded_script() {
  static const Script* const kScript = new Script(lua::kLetterDeleteDiscarded);
  return *kScript;
}

const Script& find_script() {
  static const Script* const kScript = new Script(lua::kLetterFind);
  return *kScript;
}

const Script& index_script() {
  static const Script* const kScript = new Script(lua::kLetterIndex);
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

template <class Letter>
absl::StatusOr<std::vector<Letter>> list_letters(Client& client, const std::string& stream,
                                                 StreamId after, std::size_t count_max,
                                                 Letter (*read)(const OrderEntry&)) {
  std::vector<Letter> letters;
  if (count_max == 0) return letters;
  const absl::Status visited =
      for_each_entry(client, stream, after, StreamId::max(), [&](const OrderEntry& found) {
        letters.push_back(read(found));
        return letters.size() < count_max;
      });
  if (!visited.ok()) return visited;
  return letters;
}

absl::Status has_moved() {
  return absl::UnavailableError("the sale is being moved to another keyspace, or was moved there");
}

}  // namespace

absl::StatusOr<bool> bury(Client& client, const SaleKeys& keys, const OrderEntry& entry,
                          const std::string& reason, const std::optional<SeenEnds>& seen,
                          bool is_removed) {
  const std::string dead = keys.dead_letters();
  const std::string faults = keys.faults();
  const std::string index = keys.dead_letter_orders();
  const std::string_view names[] = {keys.order_stream, dead, faults, index};
  const std::string voucher = seen ? std::to_string(seen->voucher) : "";
  const std::string seen_to = seen ? seen->to.to_string() : "";
  std::vector<std::string_view> arguments = {keys.group, entry.id, reason,
                                             voucher,    seen_to,  is_removed ? "1" : "0"};
  append_fields(arguments, entry);
  const Reply buried = client.run(bury_script(), names, arguments);
  if (!buried.is_integer()) return to_status(buried, "burying an order");
  return buried.integer() == 1;
}

absl::StatusOr<bool> bury_without_stock(Client& client, const SaleKeys& keys, VoucherId voucher,
                                        const std::string& token, const OrderEntry& entry,
                                        const std::string& reason) {
  const std::string dead = keys.dead_letters();
  const std::string index = keys.dead_letter_orders();
  const std::string its_voucher = keys.voucher(voucher);
  const std::string_view names[] = {dead, index, its_voucher};
  std::vector<std::string_view> arguments = {token, entry.id, reason};
  append_fields(arguments, entry);
  const Reply buried = client.run(bury_without_stock_script(), names, arguments);
  if (!buried.is_integer()) return to_status(buried, "burying an order");
  return buried.integer() == 1;
}

absl::StatusOr<std::vector<DeadLetter>> list_dead_letters(Client& client, const SaleKeys& keys,
                                                          StreamId after, std::size_t count_max) {
  return list_letters(client, keys.dead_letters(), after, count_max, read_letter);
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
    if (found == Reply::integer(lua::letter_find::kNone)) return std::nullopt;
    if (found != Reply::integer(lua::letter_find::kNotIndexed)) return read_found(found);
    RETURN_IF_ERROR(index_dead_letters(client, keys));
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
                                                                    const SaleKeys& keys,
                                                                    StreamId after,
                                                                    std::size_t count_max) {
  return list_letters(client, keys.discarded_letters(), after, count_max, read_discarded);
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
  const auto letter = StreamId::parse(id);
  if (!letter) return Retry::kNone;
  const std::string dead = keys.dead_letters();
  const std::string index = keys.dead_letter_orders();
  const std::string owner = keys.stream_owner();
  const std::string_view names[] = {dead, keys.order_stream, index, owner};
  const std::string letter_id = letter->to_string();
  const std::string_view arguments[] = {letter_id};
  const Reply retried = client.run(retry_script(), names, arguments);
  if (retried == Reply::integer(lua::letter_retry::kMoved)) return has_moved();
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
  const auto letter = StreamId::parse(id);
  if (!letter) return false;
  const std::string dead = keys.dead_letters();
  const std::string discarded = keys.discarded_letters();
  const std::string index = keys.dead_letter_orders();
  const std::string owner = keys.stream_owner();
  const std::string_view names[] = {dead, discarded, index, owner};
  const std::string letter_id = letter->to_string();
  const std::string_view arguments[] = {letter_id, why};
  const Reply moved = client.run(discard_script(), names, arguments);
  if (moved == Reply::integer(lua::letter_discard::kMoved)) return has_moved();
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
  ASSIGN_OR_RETURN(const auto letters, find_dead_letters_of(client, keys, voucher));
  for (const std::string& letter : letters) {
    RETURN_IF_ERROR(discard_dead_letter(client, keys, letter, why).status());
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

// ---- Letters of all lanes ----

namespace {

void name_lane(std::string& id, int lane) {
  if (lane > 0) id += concat("@", lane);
}
void name_lane(DeadLetter& letter, int lane) { name_lane(letter.id, lane); }
void name_lane(DiscardedLetter& letter, int lane) {
  name_lane(letter.id, lane);
  name_lane(letter.letter, lane);
}

StreamId letter_time(const std::string& id) {
  return StreamId::parse(parse_letter_id(id).id).value_or(StreamId::min());
}

/// Puts the letters of several lanes in the order of their ids, and keeps the first `count_max`, and those
/// with the id of the last one.
template <class Letter>
void join_lanes(std::vector<Letter>& letters, std::size_t count_max) {
  const auto time_of = [](const Letter& letter) { return letter_time(letter.id); };
  std::ranges::stable_sort(letters, {}, time_of);
  if (count_max == 0 || letters.size() <= count_max) return;
  const StreamId last = time_of(letters[count_max - 1]);
  const auto end =
      std::ranges::find_if(letters, [&](const Letter& letter) { return last < time_of(letter); });
  letters.erase(end, letters.end());
}

/// Lists the letters of all lanes. `list_of` lists those below some keys.
template <class ListOf>
auto list_of_lanes(std::span<const SaleLane> lanes, std::size_t count_max, ListOf list_of)
    -> std::invoke_result_t<ListOf, const SaleKeys&> {
  typename std::invoke_result_t<ListOf, const SaleKeys&>::value_type letters;
  for (const SaleLane& lane : lanes) {
    ASSIGN_OR_RETURN(auto of_lane, list_of(lane.keys));
    for (auto& letter : of_lane) {
      name_lane(letter, lane.number);
      letters.push_back(std::move(letter));
    }
  }
  if (lanes.size() > 1) join_lanes(letters, count_max);
  return letters;
}

}  // namespace

absl::StatusOr<std::vector<DeadLetter>> list_dead_letters(Client& client,
                                                          std::span<const SaleLane> lanes,
                                                          StreamId after, std::size_t count_max) {
  return list_of_lanes(lanes, count_max, [&](const SaleKeys& keys) {
    return list_dead_letters(client, keys, after, count_max);
  });
}

absl::StatusOr<std::vector<DiscardedLetter>> list_discarded_letters(Client& client,
                                                                    std::span<const SaleLane> lanes,
                                                                    StreamId after,
                                                                    std::size_t count_max) {
  return list_of_lanes(lanes, count_max, [&](const SaleKeys& keys) {
    return list_discarded_letters(client, keys, after, count_max);
  });
}

LaneLetter parse_letter_id(const std::string& id) {
  const std::size_t mark = id.find('@');
  LaneLetter letter{.id = id.substr(0, mark)};
  if (mark == id.npos) return letter;
  const auto lane = parse_int64(std::string_view(id).substr(mark + 1));
  letter.lane = lane && *lane > 0 && *lane < kLanesMax ? static_cast<int>(*lane) : -1;
  return letter;
}

}  // namespace rushgate
