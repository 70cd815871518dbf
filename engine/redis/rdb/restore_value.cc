#include "engine/redis/rdb/restore_value.h"

#include <cstddef>
#include <cstdint>
#include <variant>

#include "engine/core/base/status_macros.h"
#include "engine/redis/keyspace/hashes.h"
#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/lists.h"
#include "engine/redis/keyspace/sets.h"
#include "engine/redis/keyspace/streams.h"
#include "engine/redis/rdb/stream_node.h"

namespace rushgate::rdb {
namespace {

/// Creates a value of one type. The object is new, so a rollback removes it as a whole.
class Restorer {
 public:
  Restorer(Database& db, std::string_view key) : db_(db), key_(key) {}

  absl::Status operator()(const ParsedString& string) const {
    db_.create(key_, StringValue(string.bytes));
    return absl::OkStatus();
  }

  absl::Status operator()(const ParsedList& list) const {
    Object& object = lists::create(db_, key_);
    for (const std::string& element : list.elements) {
      lists::push(db_, object, lists::End::kTail, element);
    }
    return absl::OkStatus();
  }

  absl::Status operator()(const ParsedSet& set) const {
    Object& object = sets::create(db_, key_);
    for (const std::string& member : set.members) sets::add(db_, object, member);
    return absl::OkStatus();
  }

  absl::Status operator()(const ParsedHash& hash) const {
    Object& object = hashes::create(db_, key_);
    // The number of fields is the only limit of a compact one.
    const std::size_t size = hash.fields_and_values.size() / 2;
    const bool keeps_form =
        hash.is_compact && static_cast<std::int64_t>(size) <= limits().hash_entries;
    for (std::size_t i = 0; i < hash.fields_and_values.size(); i += 2) {
      const std::string& field = hash.fields_and_values[i];
      const std::string& value = hash.fields_and_values[i + 1];
      if (keeps_form) {
        hashes::set_keeping_form(db_, object, field, value);
      } else {
        hashes::set(db_, object, field, value);
      }
    }
    return absl::OkStatus();
  }

  absl::Status operator()(const ParsedSortedSet& set) const {
    const auto size = static_cast<std::int64_t>(set.members.size());
    const bool is_small = set.is_compact ? size <= limits().zset_entries
                                         : sorted_sets::is_small(limits(), set.members);
    Object& object = sorted_sets::create(db_, key_);
    if (!is_small) sorted_sets::grow(db_, object);
    for (const sorted_sets::ScoredMember& element : set.members) {
      sorted_sets::set_keeping_form(db_, object, element.member, element.score);
    }
    return absl::OkStatus();
  }

  absl::Status operator()(const ParsedStream& stream) const {
    Object& object = streams::create(db_, key_);
    for (const ParsedStream::Node& node : stream.nodes) {
      RETURN_IF_ERROR(append(object, node));
    }
    RETURN_IF_ERROR(streams::set_history(db_, object, stream.last_id, stream.entries_added,
                                         stream.max_deleted_id));
    for (const ParsedStream::Group& group : stream.groups) create_group(object, group);
    return absl::OkStatus();
  }

 private:
  [[nodiscard]] const EncodingLimits& limits() const { return db_.keyspace().limits(); }

  absl::Status append(Object& object, const ParsedStream::Node& node) const {
    StreamNodeReader entries(node.first, node.listpack);
    while (entries.next()) {
      if (entries.is_deleted()) continue;
      RETURN_IF_ERROR(streams::append(db_, object, entries.id(), entries.fields()));
    }
    return absl::OkStatus();
  }

  void create_group(Object& object, const ParsedStream::Group& group) const {
    const std::int64_t entries_read =
        group.entries_read.value_or(object.stream().entries_up_to(group.last_delivered));
    StreamGroup& made =
        streams::create_group(db_, object, group.name, group.last_delivered, entries_read);
    std::vector<StreamConsumer*> consumers;
    for (const ParsedStream::Consumer& consumer : group.consumers) {
      consumers.push_back(&streams::create_consumer(db_, object, made, consumer.name));
      consumers.back()->seen_ms = consumer.seen_ms;
    }
    for (const auto& [id, pending] : group.pending) {
      streams::assign_pending(db_, object, made, id,
                              {.consumer = consumers[*pending.consumer],
                               .delivered_ms = pending.delivered_ms,
                               .deliveries = pending.deliveries});
    }
  }

  Database& db_;
  const std::string_view key_;
};

}  // namespace

absl::Status restore(Database& db, std::string_view key, const ParsedValue& value) {
  return std::visit(Restorer(db, key), value);
}

}  // namespace rushgate::rdb
