// Returns the contents of a keyspace as lines that can be compared.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/redis/keyspace/encodings.h"
#include "engine/redis/keyspace/keyspace.h"

namespace rushgate {

inline std::size_t measured_bytes(Keyspace& keyspace) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < Keyspace::kDatabases; ++i) bytes += keyspace.db(i).measured_bytes();
  return bytes;
}

/// Whether the lines of a small hash have its order. A large hash has none. It may be small after
/// an opening, if it has fewer fields or shorter ones by then.
enum class FieldOrder : std::uint8_t { kShown, kHidden };

/// Appends the lines of an object. Each begins with `name`.
class ObjectDump {
 public:
  ObjectDump(std::string name, FieldOrder field_order, std::vector<std::string>& lines)
      : name_(std::move(name)), shows_order_(field_order == FieldOrder::kShown), lines_(lines) {}

  void add(Object& object) {
    line("type ", type_name(object.type()), " expires at ", object.expire_at_ms());
    switch (object.type()) {
      case ValueType::kString:
        return line(object.string().bytes());
      case ValueType::kHash:
        return add_hash(object.hash());
      case ValueType::kSet:
        return object.set().for_each([this](std::string_view member) { line(member); });
      case ValueType::kSortedSet:
        return add_sorted_set(object.sorted_set());
      case ValueType::kList: {
        std::size_t index = 0;
        return object.list().for_each(
            0, object.list().size(),
            [&](ListPosition, const std::string& element) { line(index++, ": ", element); });
      }
      case ValueType::kStream:
        return add_stream(object.stream());
    }
  }

 private:
  template <class... Parts>
  void line(const Parts&... parts) {
    std::ostringstream text;
    text << name_ << ' ';
    (text << ... << parts);
    lines_.push_back(std::move(text).str());
  }

  void add_hash(const HashValue& hash) {
    std::size_t index = 0;
    hash.for_each([&](std::string_view field, std::string_view value) {
      if (shows_order_ && !hash.is_large()) {
        line(index++, ": ", field, "=", value);
      } else {
        line(field, "=", value);
      }
    });
    if (!hash.has_expiries()) return;
    hash.expiries()->for_each([&](std::string_view field, std::int64_t expire_at_ms) {
      line(hash.contains(field) ? "" : "missing ", field, " expires at ", expire_at_ms);
    });
  }

  void add_sorted_set(const SortedSetValue& set) {
    std::size_t rank = 0;
    set.for_each(0, set.size(), [&](const ScoredElement& element) {
      const bool is_found =
          set.score(element.member) == element.score && set.rank(element.member) == rank;
      line(rank++, ": ", element.member, " ", element.score, is_found ? "" : " not found");
    });
    line("size ", set.size());
  }

  void add_stream(Stream& stream) {
    const StreamLog& log = stream.log();
    line("length ", log.length(), " added ", log.entries_added(), " first ",
         log.first_id().to_string(), " last ", log.last_id().to_string(), " deleted ",
         log.max_deleted_id().to_string(), " node ", log.counters().position.entries);
    const absl::Status read =
        log.read(StreamId::min(), StreamId::max(), [&](const StreamEntry& entry) {
          std::string text = entry.id().to_string();
          for (std::size_t i = 0; i < entry.size(); ++i) {
            text.append(" ").append(entry.name(i)).append("=").append(entry.value(i));
          }
          line(text);
          return true;
        });
    if (!read.ok()) line(read.ToString());
    for (const auto& [name, group] : stream.groups()) add_group(*group);
  }

  void add_group(const StreamGroup& group) {
    line("group ", group.name, " at ", group.last_delivered.to_string(), " read ",
         group.entries_read);
    for (const auto& [name, consumer] : group.consumers) {
      line("group ", group.name, " consumer ", name, " seen ", consumer->seen_ms, " pending ",
           consumer->pending.size());
    }
    for (const auto& [id, entry] : group.pending) {
      line("group ", group.name, " pending ", id.to_string(), " of ", entry.consumer->name, " at ",
           entry.delivered_ms, " times ", entry.deliveries,
           entry.consumer->pending.contains(id) ? "" : " which lacks it");
    }
  }

  const std::string name_;
  const bool shows_order_;
  std::vector<std::string>& lines_;
};

/// Returns the lines in a canonical order.
inline std::vector<std::string> dump(Keyspace& keyspace,
                                     FieldOrder field_order = FieldOrder::kShown) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < Keyspace::kDatabases; ++i) {
    keyspace.db(i).for_each([&](Object& object) {
      ObjectDump(std::to_string(i) + " " + std::string(object.key()), field_order, lines)
          .add(object);
    });
  }
  std::ranges::sort(lines);
  return lines;
}

}  // namespace rushgate
