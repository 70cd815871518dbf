#include "engine/redis/keyspace/keyspace.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "engine/core/base/status_macros.h"
#include "engine/redis/keyspace/records.h"
#include "engine/redis/keyspace/removal_records.h"

namespace rushgate {
namespace {

/// Ids count up from 1 and never get here. Ids in a store must be far below, so that later ids do
/// not get here either.
constexpr std::uint64_t kObjectIdMax = std::uint64_t{1} << 62;
constexpr std::uint64_t kStoredIdMax = kObjectIdMax / 2;

}  // namespace

/// Converts the store's records to objects, in the order of their keys: every header comes before
/// every element.
class KeyspaceLoader {
 public:
  explicit KeyspaceLoader(Keyspace& keyspace) : keyspace_(keyspace) {}

  void visit(std::string_view key, std::string_view value) {
    if (!status_.ok()) return;
    if (!read(key, value)) {
      status_ = absl::DataLossError("the store holds a record that makes no sense: key \"" +
                                    shown(key) + "\", value \"" + shown(value) + '"');
    }
  }

  /// Must be called after the last record.
  absl::Status finish() {
    insert_integers();
    for (const auto& [object, member] : removed_) object->set().erase(member);
    for (const auto& [object, member] : added_meanwhile_) {
      object->set().insert(member, keyspace_.limits(), keyspace_.seed());
    }
    for (const auto& [id, object] : by_id_) {
      if (object->type() == ValueType::kList) object->list().shrink();
      if (object->type() == ValueType::kHash) object->hash().end_load();
      if (object->type() == ValueType::kSortedSet) object->sorted_set().shrink();
      if (object->type() == ValueType::kSet) object->set().pack(keyspace_.limits());
      keyspace_.changes().memory().recount(*object);
    }
    return status_;
  }

  [[nodiscard]] std::uint64_t largest_id() const { return largest_id_; }
  std::vector<StoredLibrary> take_libraries() { return std::move(libraries_); }

 private:
  static std::string shown(std::string_view bytes) {
    constexpr std::size_t kShownBytes = 64;
    return absl::CHexEscape(std::string(bytes.substr(0, kShownBytes)));
  }

  bool read(std::string_view key, std::string_view value) {
    RecordReader key_reader(key);
    const auto kind = static_cast<RecordKind>(key_reader.byte());
    if (kind == RecordKind::kHeader) return read_header(key_reader, value);
    if (kind == RecordKind::kLibrary) {
      libraries_.push_back({std::string(key_reader.rest()), std::string(value)});
      return true;
    }
    const std::uint64_t id = key_reader.fixed64();
    Object* object = object_of(id);
    if (object == nullptr || !key_reader.ok()) return false;
    switch (object->type()) {
      case ValueType::kStream:
        return object->stream().load_element(kind, key_reader, value);
      case ValueType::kSet:
        if (std::as_const(*object).set().records().is_being_rewritten() && id == object->id) {
          return read_rewritten(kind, *object, key_reader, value);
        }
        return kind == RecordKind::kElement
                   ? read_member(*object, key_reader, value)
                   : kind == RecordKind::kSetSegment && read_members(*object, key_reader, value);
      case ValueType::kHash: {
        const std::string field = key_reader.name();
        if (kind == RecordKind::kFieldExpiry)
          return key_reader.ok() && read_field_expiry(*object, field, value);
        return kind == RecordKind::kElement && key_reader.ok() &&
               read_field(object->hash(), field, value);
      }
      case ValueType::kList:
        return kind == RecordKind::kElement && read_list_element(*object, key_reader, value);
      case ValueType::kSortedSet:
        return kind == RecordKind::kElement &&
               read_scored_member(object->sorted_set(), key_reader, value);
      case ValueType::kString:
        break;
    }
    return false;
  }

  static bool read_list_element(Object& object, RecordReader& key, std::string_view value) {
    const ListPosition position = key.fixed64();
    if (!key.ok() || !key.at_end()) return false;
    ListValue& list = object.list();
    list.insert(list.end(), position, value);
    return true;
  }

  bool read_scored_member(SortedSetValue& set, RecordReader& key, std::string_view value) const {
    const std::string member = key.name();
    RecordReader reader(value);
    const double score = reader.real();
    if (!key.ok() || !reader.ok() || !reader.at_end() || std::isnan(score)) return false;
    if (!set.is_large() && set.outgrows(keyspace_.limits(), member)) {
      static_cast<void>(set.grow());
    }
    return !set.assign(member, score).old_score.has_value();
  }

  bool read_field(HashValue& hash, std::string_view field, std::string_view value) const {
    std::uint64_t position = hash.size();  // of an earlier version's record
    if (hash.has_positions()) {
      RecordReader reader(value);
      position = reader.varint();
      value = reader.rest();
      if (!reader.ok() || position > PackedPairs::kPositionMax) return false;
    }
    if (!hash.is_large() && hash.outgrows(keyspace_.limits(), field, value)) {
      static_cast<void>(hash.grow());
    }
    return hash.load(field, value, static_cast<std::uint32_t>(position));
  }

  bool read_field_expiry(Object& object, std::string_view field, std::string_view value) {
    RecordReader reader(value);
    const std::int64_t expire_at_ms = reader.signed_varint();
    if (!reader.ok() || !reader.at_end() || !object.hash().contains(field)) return false;
    static_cast<void>(object.hash().assign_expiry(field, expire_at_ms));
    keyspace_.db(object.db).field_expiries_changed(object);
    return true;
  }

  bool read_member(Object& object, RecordReader& key, std::string_view value) {
    if (value.empty()) {
      if (const auto integer = key.try_integer()) {
        add_integer(object.set(), *integer);
        return key.ok();
      }
    }
    std::string member = key.name();
    if (!key.ok()) return false;
    if (value.empty()) {
      insert_integers();  // the same member as a string is invalid
      return object.set().insert(member, keyspace_.limits(), keyspace_.seed());
    }
    if (value != SetRecords::kRemoved) return false;
    SetRecords& records = object.set().records();
    if (!records.is_being_rewritten()) records.loaded_removal(member);
    removed_.emplace_back(&object, std::move(member));
    return true;
  }

  /// Reads a record under the new id of a set in rewriting. The old id's records have all members
  /// of segments, without the ones with tombstones.
  bool read_rewritten(RecordKind kind, Object& object, RecordReader& key, std::string_view value) {
    SetRecords& records = object.set().records();
    std::string member = key.name();
    if (!key.ok()) return false;
    if (kind == RecordKind::kSetSegment) {
      records.loaded_segment();
      return visit_set_segment(
          value, [](std::int64_t) {}, [](std::string_view) {});
    }
    if (kind != RecordKind::kElement) return false;
    if (value.empty()) {
      added_meanwhile_.emplace_back(&object, std::move(member));
      return true;
    }
    records.loaded_removal(member);
    return value == SetRecords::kRemoved;
  }

  bool read_members(Object& object, RecordReader& key, std::string_view rest) {
    SetValue& set = object.set();
    if (!std::as_const(set).records().is_being_rewritten()) set.records().loaded_segment();
    const auto integer = [&](std::int64_t member) { add_integer(set, member); };
    const auto text = [&](std::string_view member) {
      set.insert(member, keyspace_.limits(), keyspace_.seed());
    };
    if (const auto first = key.try_integer()) {
      integer(*first);
    } else {
      text(key.name());
    }
    return key.ok() && visit_set_segment(rest, integer, text);
  }

  /// Buffered, because many insertions at once cost less.
  void add_integer(SetValue& set, std::int64_t member) {
    constexpr std::size_t kAtOnce = 256;
    if (set_ != &set || integers_.size() == kAtOnce) insert_integers();
    set_ = &set;
    integers_.push_back(member);
  }

  /// Some members may have tombstones: finish() packs the set again if there is space without them.
  void insert_integers() {
    if (set_ != nullptr) {
      if (!set_->has_space_for_integers(keyspace_.limits(), integers_.size())) {
        static_cast<void>(set_->make_tables(keyspace_.seed()));
      }
      set_->insert_integers(integers_, [](auto...) { return true; });
    }
    integers_.clear();
  }

  bool read_header(RecordReader& key, std::string_view value) {
    const std::uint8_t db = key.byte();
    const std::string_view name = key.rest();
    if (!key.ok() || db >= Keyspace::kDatabases) return false;

    RecordReader reader(value);
    const std::uint8_t type = reader.byte();
    const std::int64_t expire_at_ms = reader.signed_varint();
    std::uint64_t id = 0;
    std::optional<Value> read;
    if (type == static_cast<std::uint8_t>(ValueType::kString)) {
      read = StringValue(reader.maybe_integer());
      id = string_id_--;
    } else {
      id = reader.varint();
      if (id >= kObjectIdMax || by_id_.contains(id)) return false;
      largest_id_ = std::max(largest_id_, id);
      read = read_collection(type, id, reader);
    }
    if (!read || !reader.ok() || !reader.at_end()) return false;

    auto object = Object::make(name, *std::move(read));
    object->last_use = keyspace_.use_clock().now() & UseClock::kMax;
    object->id = id;
    Object& attached = keyspace_.db(db).attach({.object = std::move(object), .expiry = {}});
    if (expire_at_ms != kNoExpiry) keyspace_.db(db).assign_expiry(attached, expire_at_ms);
    if (attached.type() != ValueType::kString) by_id_.emplace(attached.id, &attached);
    if (attached.type() != ValueType::kSet) return true;
    const SetRecords& records = std::as_const(attached).set().records();
    if (!records.is_being_rewritten()) return true;
    return records.old_id() < attached.id && by_id_.emplace(records.old_id(), &attached).second;
  }

  /// Reads the rest of a header. Returns the empty value; or none if the bytes are invalid.
  std::optional<Value> read_collection(std::uint8_t type, std::uint64_t id, RecordReader& reader) {
    switch (static_cast<ValueType>(type)) {
      case ValueType::kHash: {
        HashValue hash(keyspace_.seed());
        hash.set_has_positions(!reader.at_end());
        if (!reader.at_end() && reader.byte() != kFieldsHavePositions) return std::nullopt;
        return hash;
      }
      case ValueType::kSet: {
        SetValue set;
        if (!reader.at_end()) set.records().loaded_rewrite(reader.varint());
        return set;
      }
      case ValueType::kStream: {
        auto stream = std::make_unique<Stream>(id, keyspace_.store(), keyspace_.stream_caches());
        if (!stream->read_header(reader)) return std::nullopt;
        return stream;
      }
      case ValueType::kList:
        return ListValue();
      case ValueType::kSortedSet:
        return SortedSetValue(keyspace_.seed());
      case ValueType::kString:
        break;
    }
    return std::nullopt;
  }

  Object* object_of(std::uint64_t id) {
    if (last_ == nullptr || last_id_ != id) {
      const auto found = by_id_.find(id);
      last_ = found == by_id_.end() ? nullptr : found->second;
      last_id_ = id;
    }
    return last_;
  }

  Keyspace& keyspace_;
  absl::Status status_;
  absl::flat_hash_map<std::uint64_t, Object*> by_id_;
  Object* last_ = nullptr;  // elements of an object are adjacent
  std::uint64_t last_id_ = 0;
  SetValue* set_ = nullptr;
  std::vector<std::int64_t> integers_;                    // of set_, not yet in it
  std::vector<std::pair<Object*, std::string>> removed_;  // removed, even if a segment holds them
  std::vector<std::pair<Object*, std::string>> added_meanwhile_;  // to sets in rewriting
  std::vector<StoredLibrary> libraries_;
  std::uint64_t largest_id_ = 0;
  std::uint64_t string_id_ =
      std::numeric_limits<std::uint64_t>::max();  // a string's id is not stored: any value will do
};

Keyspace::Keyspace(Store& store, std::uint64_t seed)
    : store_(store), seed_(seed), random_(seed), changes_(store.keeps_state()) {
  for (std::size_t i = 0; i < kDatabases; ++i) {
    databases_[i] = std::make_unique<Database>(*this, static_cast<std::uint8_t>(i));
  }
}

Keyspace::~Keyspace() { changes_.forget(); }

absl::Status Keyspace::load() {
  KeyspaceLoader loader(*this);
  const absl::Status read =
      store_.load([&](std::string_view key, std::string_view value) { loader.visit(key, value); });
  if (!read.ok()) return read;
  RETURN_IF_ERROR(loader.finish());
  libraries_ = loader.take_libraries();
  return find_next_object_id(loader.largest_id());
}

void Keyspace::forget_recent() {
  for (const auto& database : databases_) database->forget_recent();
}

void Keyspace::forget_recent(const Object& object) { db(object.db).forget_recent(); }

absl::Status Keyspace::find_next_object_id(std::uint64_t largest_loaded) {
  // Segments without a header are garbage, and must not become a new stream's.
  std::uint64_t last_stream = 0;
  RETURN_IF_ERROR(store_.find_last_stream(last_stream));
  const std::uint64_t largest = std::max(largest_loaded, last_stream);
  if (largest >= kStoredIdMax) {
    return absl::DataLossError("the store holds object " + std::to_string(largest) +
                               ", a number that is never given");
  }
  next_object_id_ = largest + 1;
  return absl::OkStatus();
}

absl::Status Keyspace::commit() {
  if (changes_.empty()) return absl::OkStatus();
  absl::Cleanup undo = [this] { changes_.roll_back_to({}); };
  changes_.complete_records();
  lazy_free_.begin_batch();
  const absl::Status kept = store_.commit(changes_.records());
  std::move(undo).Cancel();
  if (!kept.ok()) {
    changes_.roll_back_to({});
    return kept;
  }
  changes_.forget();
  lazy_free_.end_batch();
  return kept;
}

bool Keyspace::needs_more_than(std::size_t bytes_max) {
  if (memory_bytes() <= bytes_max) return false;
  const std::size_t kept = changes_.memory().bytes() + store_.memory_bytes();
  if (kept > bytes_max) return true;
  const std::size_t free = bytes_max - kept;
  stream_caches_.shed_to(free - std::min(free, lazy_free_.bytes_pending()));
  return !lazy_free_.wait_until_at_most(free - std::min(free, stream_caches_.bytes()));
}

std::size_t Keyspace::remove_expired(std::size_t count_max) {
  std::size_t removed = 0;
  for (const auto& database : databases_) removed += database->remove_expired(count_max - removed);
  return removed;
}

std::optional<std::int64_t> Keyspace::next_expiry_ms() const {
  std::optional<std::int64_t> next;
  for (unsigned left = expiring_; left != 0; left &= left - 1) {
    const auto candidate =
        databases_[static_cast<std::size_t>(std::countr_zero(left))]->next_expiry_ms();
    if (candidate && (!next || *candidate < *next)) next = candidate;
  }
  return next;
}

void Keyspace::signal(const Object& object, KeySignal what) {
  // Clients wait for one type only. Only group readers of a stream must learn that it is
  // gone.
  const bool is_stream = object.type() == ValueType::kStream;
  const bool is_popped =
      object.type() == ValueType::kList || object.type() == ValueType::kSortedSet;
  const bool may_matter = is_stream || (is_popped && what == KeySignal::kReady);
  if (!may_matter || listener_ == nullptr) return;
  listener_->key_signalled(object.db, object.key(), object.type(), what);
}

void Keyspace::remove_all() {
  note_flush();
  std::size_t keys = 0;
  for (const auto& database : databases_) keys += database->size();
  StoreBatch& batch = changes_.records();
  if (keys > kSingleRemovalsMax) {
    remove_prefix(batch, std::string(1, static_cast<char>(RecordKind::kHeader)));
  }
  MassRemoval removal(true);
  for (const auto& database : databases_) {
    if (keys <= kSingleRemovalsMax) database->record_header_removals();
    database->for_each([&](const Object& object) { removal.add(object); });
  }
  removal.record(batch);
  for (const auto& database : databases_) database->drop_all();
}

bool Keyspace::is_all_in(const Database& database) const {
  return std::ranges::all_of(databases_, [&](const auto& other) {
    return other.get() == &database || other->size() == 0;
  });
}

}  // namespace rushgate
