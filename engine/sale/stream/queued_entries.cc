#include "engine/sale/stream/queued_entries.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <variant>

#include "absl/hash/hash.h"
#include "engine/core/base/numbers.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/model/order_entry.h"

namespace rushgate {
namespace {

constexpr std::string_view kDoing = "reading the queued orders";
constexpr std::string_view kIdField = "id";
constexpr std::string_view kUserField = "userId";

static_assert(std::has_unique_object_representations_v<QueuedEntry>);

std::optional<QueuedEntry> read_queued(const Reply& reply) {
  const bool is_entry = reply.is_aggregate() && reply.elements().size() == 2 &&
                        reply.elements()[0].is_text() && reply.elements()[1].is_aggregate();
  const auto id = is_entry ? StreamId::parse(reply.elements()[0].text()) : std::nullopt;
  if (!id) return std::nullopt;
  QueuedEntry entry{.id = *id};
  const std::vector<Reply>& fields = reply.elements()[1].elements();
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    if (!fields[i].is_text() || !fields[i + 1].is_text()) return QueuedEntry{.id = *id};
    const std::string_view name = fields[i].text();
    const std::string_view value = fields[i + 1].text();
    if (name == kEventField) return QueuedEntry{.id = *id};
    if (name == kIdField) entry.order = std::max<OrderId>(parse_int64(value).value_or(0), 0);
    if (name == kUserField) entry.user = hash_of(UserId(value));
  }
  return entry;
}

OrderId order_in(const NativeCall::StreamValue& value) {
  const auto* const text = std::get_if<std::string_view>(&value);
  const auto* const integer = std::get_if<std::int64_t>(&value);
  const OrderId order = integer != nullptr ? *integer
                        : text != nullptr  ? parse_int64(*text).value_or(0)
                                           : 0;
  return std::max<OrderId>(order, 0);
}

std::uint32_t user_in(const NativeCall::StreamValue& value) {
  if (const auto* const integer = std::get_if<std::int64_t>(&value)) return hash_of(*integer);
  const auto* const text = std::get_if<std::string_view>(&value);
  return text != nullptr ? hash_of(UserId(*text)) : 0;
}

Reply run(NativeCall& call) {
  constexpr std::size_t kArguments = 2;
  if (call.key_count() != 1 || call.argument_count() != kArguments) {
    throw ScriptError("ERR the queued entries need a stream, an id and a number");
  }
  const auto after = StreamId::parse(call.argument(0));
  const auto count_max = parse_int64(call.argument(1));
  if (!after || !count_max || *count_max < 0) throw ScriptError("ERR no id, or no number");
  constexpr std::array<std::string_view, 3> kNames = {kEventField, kIdField, kUserField};
  std::int64_t count = 0;
  std::string bytes;
  const auto visit = [&](StreamId id, std::span<const NativeCall::StreamValue> values) {
    QueuedEntry entry{.id = id};
    if (std::holds_alternative<std::monostate>(values[0])) {
      entry.order = order_in(values[1]);
      entry.user = user_in(values[2]);
    }
    bytes.append(reinterpret_cast<const char*>(&entry), sizeof(entry));
    ++count;
  };
  call.stream_for_each(call.key(0), *after, static_cast<std::size_t>(*count_max), kNames, visit);
  return Reply::array({Reply::integer(count), Reply::bulk(std::move(bytes))});
}

}  // namespace

std::uint32_t hash_of(const UserId& user) {
  return static_cast<std::uint32_t>(absl::HashOf(user)) | 1U;
}

absl::StatusOr<std::vector<QueuedEntry>> read_queued_entries(const Reply& range) {
  if (range.kind() != Reply::Kind::kArray) return to_status(range, kDoing);
  std::vector<QueuedEntry> entries;
  entries.reserve(range.elements().size());
  for (const Reply& element : range.elements()) {
    auto entry = read_queued(element);
    if (!entry) return to_status(element, kDoing);
    entries.push_back(*entry);
  }
  return entries;
}

NativeScript native_queued_entries() { return run; }

Request make_queued_entries_request(std::string_view stream, StreamId after,
                                    std::size_t count_max) {
  return Request::of("FCALL", kNativeQueuedEntries, 1, stream, after.to_string(), count_max);
}

absl::StatusOr<std::vector<QueuedEntry>> read_native_queued_entries(const Reply& reply) {
  const bool is_list = reply.is_aggregate() && reply.elements().size() == 2 &&
                       reply.elements()[0].is_integer() && reply.elements()[1].is_text();
  if (!is_list) return to_status(reply, kDoing);
  const std::string& bytes = reply.elements()[1].text();
  std::vector<QueuedEntry> entries(static_cast<std::size_t>(reply.elements()[0].integer()));
  if (bytes.size() != entries.size() * sizeof(QueuedEntry)) return to_status(reply, kDoing);
  if (!bytes.empty()) std::memcpy(entries.data(), bytes.data(), bytes.size());
  return entries;
}

}  // namespace rushgate
