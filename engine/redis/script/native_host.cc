#include "engine/redis/script/native_host.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "engine/core/base/letter_case.h"
#include "engine/core/base/numbers.h"
#include "engine/redis/keyspace/hashes.h"
#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/sets.h"
#include "engine/redis/keyspace/sorted_sets.h"
#include "engine/redis/keyspace/streams.h"
#include "engine/redis/keyspace/strings.h"
#include "engine/redis/script/script_errors.h"

namespace rushgate {
namespace {

/// The typed operations over the keyspace, as their commands do them.
class KeyspaceCall final : public NativeCall {
 public:
  KeyspaceCall(Database& db, const ScriptCall& call) : db_(db), call_(call) {}

  [[nodiscard]] std::string_view key(std::size_t index) const override {
    assert(index < call_.keys.size());
    return call_.keys[index];
  }
  [[nodiscard]] std::size_t key_count() const override { return call_.keys.size(); }
  [[nodiscard]] std::string_view argument(std::size_t index) const override {
    assert(index < call_.arguments.size());
    return call_.arguments[index];
  }
  [[nodiscard]] std::size_t argument_count() const override { return call_.arguments.size(); }
  [[nodiscard]] std::int64_t now_ms() const override { return call_.now_ms; }

  Reply call(const Request& request) override {
    return to_resp2(call_.caller.call(request.views()));
  }
  Reply attempt(absl::FunctionRef<Reply()> part) override {
    const Changes::Savepoint savepoint = db_.changes().savepoint();
    try {
      return part();
    } catch (const ScriptError& failure) {
      db_.changes().roll_back_to(savepoint);
      return Reply::error(failure.what());
    }
  }

  void expire_at(std::string_view key, std::int64_t at_ms) override;

  std::optional<std::string> get(std::string_view key) override;
  bool get(std::string_view key, absl::FunctionRef<void(std::string_view value)> visit) override;
  void set_until(std::string_view key, std::string_view value, std::int64_t at_ms) override;
  std::optional<std::int64_t> get_integer(std::string_view key) override;
  std::int64_t increment_by(std::string_view key, std::int64_t amount) override;

  std::optional<std::string> hash_get(std::string_view key, std::string_view field) override;
  std::optional<std::int64_t> hash_get_integer(std::string_view key,
                                               std::string_view field) override;
  void hash_get_integers(std::string_view key, std::span<const std::string_view> fields,
                         std::span<std::optional<std::int64_t>> values) override;
  void hash_set(std::string_view key, std::string_view field, std::string_view value) override;
  std::int64_t hash_increment_by(std::string_view key, std::string_view field,
                                 std::int64_t amount) override;
  Revision hash_revision(std::string_view key) override;
  void hash_for_each(
      std::string_view key,
      absl::FunctionRef<void(std::string_view field, std::string_view value)> visit) override;

  bool set_contains(std::string_view key, std::string_view member) override;
  bool set_add(std::string_view key, const MaybeInteger& member) override;
  std::size_t set_add_integers(std::string_view key, std::span<const std::int64_t> members,
                               std::size_t new_max, std::span<bool> is_new) override;
  std::int64_t set_size(std::string_view key) override;

  std::int64_t sorted_set_size(std::string_view key) override;
  std::optional<Scores> sorted_set_scores(std::string_view key) override;
  bool hash_remove(std::string_view key, std::string_view field) override;
  bool set_remove(std::string_view key, std::string_view member) override;
  bool sorted_set_at(std::string_view key, std::size_t rank,
                     absl::FunctionRef<void(std::string_view member, double score)> visit) override;
  bool sorted_set_remove(std::string_view key, std::string_view member) override;
  bool sorted_set_add(std::string_view key, std::string_view member, double score) override;
  std::size_t sorted_set_remove_up_to(std::string_view key, double score_max) override;

  std::int64_t stream_last_ms(std::string_view key) override;
  void stream_for_each(
      std::string_view key, StreamId after, std::size_t count_max,
      std::span<const std::string_view> names,
      absl::FunctionRef<void(StreamId id, std::span<const StreamValue> values)> visit) override;
  StreamId stream_append(std::string_view key, std::span<const Field> fields) override;
  void stream_append_rows(std::string_view key, std::span<const std::string_view> names,
                          std::span<const std::int64_t> values) override;

 private:
  [[nodiscard]] bool wants(KeyEventFlag events) const {
    return db_.keyspace().events().wants(events);
  }
  /// Publishes an event of the key, as its command does.
  void notify(KeyEventFlag events, std::string_view event, std::string_view key) {
    db_.keyspace().events().note(events, event, db_.number(), key);
  }
  /// Publishes the event of a removal, and "del" if it removed the last element.
  void notify_removal(KeyEventFlag events, std::string_view event, std::string_view key) {
    notify(events, event, key);
    if (wants(kGenericEvents) && db_.find(key) == nullptr) notify(kGenericEvents, "del", key);
  }

  /// The object at `key`, or null.
  Object* find(std::string_view key, ValueType type) {
    Object* const object = db_.find(key);
    if (object != nullptr && object->type() != type) throw ScriptError(script_errors::kWrongType);
    return object;
  }
  /// The same, for an operation that may take memory.
  Object* find_to_grow(std::string_view key, ValueType type) {
    if (call_.caller.refuses_growth()) throw ScriptError(script_errors::kMaxMemory);
    return find(key, type);
  }

  Database& db_;
  const ScriptCall& call_;
};

std::int64_t add(std::int64_t a, std::int64_t b) {
  using Limits = std::numeric_limits<std::int64_t>;
  if (b < 0 ? a < Limits::min() - b : a > Limits::max() - b) {
    throw ScriptError(script_errors::kOverflow);
  }
  return a + b;
}

/// The integer that a field holds, if it is there.
std::optional<std::int64_t> integer_field(const HashValue& hash, std::string_view field,
                                          const char* error) {
  const std::optional<std::int64_t> integer = hash.find_integer(field);
  if (!integer && hash.contains(field)) throw ScriptError(error);
  return integer;
}

void KeyspaceCall::expire_at(std::string_view key, std::int64_t at_ms) {
  assert(at_ms > call_.now_ms);
  Object* const object = db_.find(key);
  assert(object != nullptr);
  call_.caller.note_write();
  db_.set_expiry(*object, at_ms);
  notify(kGenericEvents, "expire", key);
}

// ---- Strings ----

std::optional<std::string> KeyspaceCall::get(std::string_view key) {
  Object* const object = find(key, ValueType::kString);
  if (object == nullptr) return std::nullopt;
  return object->string().bytes();
}

bool KeyspaceCall::get(std::string_view key,
                       absl::FunctionRef<void(std::string_view value)> visit) {
  Object* const object = find(key, ValueType::kString);
  if (object == nullptr) return false;
  const StringValue& value = object->string();
  if (value.is_integer()) {
    visit(DecimalText(*value.integer()));
  } else {
    visit(value.text());
  }
  return true;
}

void KeyspaceCall::set_until(std::string_view key, std::string_view value, std::int64_t at_ms) {
  assert(at_ms > call_.now_ms);
  if (call_.caller.refuses_growth()) throw ScriptError(script_errors::kMaxMemory);
  strings::set_until(db_, db_.find(key), key, StringValue(value), at_ms);
  notify(kStringEvents, "set", key);
  notify(kGenericEvents, "expire", key);
}

std::optional<std::int64_t> KeyspaceCall::get_integer(std::string_view key) {
  Object* const object = find(key, ValueType::kString);
  if (object == nullptr) return std::nullopt;
  const std::optional<std::int64_t> integer = object->string().integer();
  if (!integer) throw ScriptError(script_errors::kNotAnInteger);
  return integer;
}

std::int64_t KeyspaceCall::increment_by(std::string_view key, std::int64_t amount) {
  Object* const object = find_to_grow(key, ValueType::kString);
  if (object == nullptr) {
    strings::set(db_, key, StringValue(amount));
    notify(kStringEvents, "incrby", key);
    return amount;
  }
  const std::optional<std::int64_t> old = object->string().integer();
  if (!old) throw ScriptError(script_errors::kNotAnInteger);
  const std::int64_t sum = add(*old, amount);
  strings::assign(db_, *object, StringValue(sum));
  notify(kStringEvents, "incrby", key);
  return sum;
}

// ---- Hashes ----

std::optional<std::string> KeyspaceCall::hash_get(std::string_view key, std::string_view field) {
  Object* const object = find(key, ValueType::kHash);
  if (object == nullptr) return std::nullopt;
  return object->hash().find(field);
}

std::optional<std::int64_t> KeyspaceCall::hash_get_integer(std::string_view key,
                                                           std::string_view field) {
  Object* const object = find(key, ValueType::kHash);
  if (object == nullptr) return std::nullopt;
  return integer_field(object->hash(), field, script_errors::kHashValueNotAnInteger);
}

void KeyspaceCall::hash_get_integers(std::string_view key, std::span<const std::string_view> fields,
                                     std::span<std::optional<std::int64_t>> values) {
  assert(fields.size() == values.size());
  Object* const object = find(key, ValueType::kHash);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    values[i] = std::nullopt;
    if (object == nullptr) continue;
    values[i] = integer_field(object->hash(), fields[i], script_errors::kHashValueNotAnInteger);
  }
}

void KeyspaceCall::hash_set(std::string_view key, std::string_view field, std::string_view value) {
  Object* object = find_to_grow(key, ValueType::kHash);
  if (object == nullptr) object = &hashes::create(db_, key);
  hashes::set(db_, *object, field, value);
  notify(kHashEvents, "hset", key);
}

std::int64_t KeyspaceCall::hash_increment_by(std::string_view key, std::string_view field,
                                             std::int64_t amount) {
  Object* object = find_to_grow(key, ValueType::kHash);
  std::int64_t sum = amount;
  if (object == nullptr) {
    object = &hashes::create(db_, key);
  } else {
    const auto old = integer_field(object->hash(), field, script_errors::kHashValueNotAnInteger);
    sum = add(old.value_or(0), amount);
  }
  hashes::set_keeping_expiry(db_, *object, field, DecimalText(sum));
  notify(kHashEvents, "hincrby", key);
  return sum;
}

bool KeyspaceCall::hash_remove(std::string_view key, std::string_view field) {
  call_.caller.note_write();
  Object* const object = find(key, ValueType::kHash);
  if (object == nullptr || !hashes::remove(db_, *object, field)) return false;
  notify_removal(kHashEvents, "hdel", key);
  return true;
}

NativeCall::Revision KeyspaceCall::hash_revision(std::string_view key) {
  Object* const object = find(key, ValueType::kHash);
  return object == nullptr ? Revision{} : Revision{object->id, object->revision};
}

void KeyspaceCall::hash_for_each(
    std::string_view key,
    absl::FunctionRef<void(std::string_view field, std::string_view value)> visit) {
  Object* const object = find(key, ValueType::kHash);
  if (object != nullptr) object->hash().for_each(visit);
}

// ---- Sets ----

bool KeyspaceCall::set_contains(std::string_view key, std::string_view member) {
  Object* const object = find(key, ValueType::kSet);
  return object != nullptr && object->set().contains(member);
}

bool KeyspaceCall::set_add(std::string_view key, const MaybeInteger& member) {
  Object* object = find(key, ValueType::kSet);
  if (call_.caller.refuses_growth()) {  // a member takes no more
    if (object != nullptr && object->set().contains(member.text())) return false;
    throw ScriptError(script_errors::kMaxMemory);
  }
  if (object == nullptr) object = &sets::create(db_, key);
  if (!sets::add(db_, *object, member)) return false;
  notify(kSetEvents, "sadd", key);
  return true;
}

bool KeyspaceCall::set_remove(std::string_view key, std::string_view member) {
  call_.caller.note_write();
  Object* const object = find(key, ValueType::kSet);
  if (object == nullptr || !sets::remove(db_, *object, member)) return false;
  notify_removal(kSetEvents, "srem", key);
  return true;
}

std::size_t KeyspaceCall::set_add_integers(std::string_view key,
                                           std::span<const std::int64_t> members,
                                           std::size_t new_max, std::span<bool> is_new) {
  assert(is_new.size() >= members.size());
  Object* object = find_to_grow(key, ValueType::kSet);
  if (members.empty() || new_max == 0) return 0;
  if (object == nullptr) object = &sets::create(db_, key);
  const std::size_t processed = sets::add_integers(db_, *object, members, new_max, is_new);
  if (wants(kSetEvents) && std::ranges::any_of(is_new.first(processed), std::identity{}))
    notify(kSetEvents, "sadd", key);
  return processed;
}

std::int64_t KeyspaceCall::set_size(std::string_view key) {
  Object* const object = find(key, ValueType::kSet);
  return object == nullptr ? 0 : static_cast<std::int64_t>(object->set().size());
}

// ---- Sorted sets ----

std::int64_t KeyspaceCall::sorted_set_size(std::string_view key) {
  Object* const object = find(key, ValueType::kSortedSet);
  return object == nullptr ? 0 : static_cast<std::int64_t>(object->sorted_set().size());
}

std::optional<NativeCall::Scores> KeyspaceCall::sorted_set_scores(std::string_view key) {
  Object* const object = find(key, ValueType::kSortedSet);
  if (object == nullptr) return std::nullopt;
  const SortedSetValue& value = object->sorted_set();
  return Scores{.lowest = value.at(0).score, .greatest = value.at(value.size() - 1).score};
}

bool KeyspaceCall::sorted_set_add(std::string_view key, std::string_view member, double score) {
  assert(!std::isnan(score));
  Object* object = find_to_grow(key, ValueType::kSortedSet);
  if (object == nullptr) {
    object = &sorted_sets::create(db_, key);
  } else if (object->sorted_set().score(member)) {
    return false;
  }
  const bool is_new = sorted_sets::set(db_, *object, member, score);
  notify(kSortedSetEvents, "zadd", key);
  return is_new;
}

bool KeyspaceCall::sorted_set_at(
    std::string_view key, std::size_t rank,
    absl::FunctionRef<void(std::string_view member, double score)> visit) {
  Object* const object = find(key, ValueType::kSortedSet);
  if (object == nullptr || rank >= object->sorted_set().size()) return false;
  const ScoredElement element = object->sorted_set().at(rank);
  visit(element.member, element.score);
  return true;
}

bool KeyspaceCall::sorted_set_remove(std::string_view key, std::string_view member) {
  call_.caller.note_write();
  Object* const object = find(key, ValueType::kSortedSet);
  if (object == nullptr || !sorted_sets::remove(db_, *object, member)) return false;
  notify_removal(kSortedSetEvents, "zrem", key);
  return true;
}

std::size_t KeyspaceCall::sorted_set_remove_up_to(std::string_view key, double score_max) {
  call_.caller.note_write();
  Object* const object = find(key, ValueType::kSortedSet);
  if (object == nullptr) return 0;
  const std::size_t count = object->sorted_set().count_before(
      [score_max](const ScoredElement& element) { return element.score <= score_max; });
  sorted_sets::remove_first(db_, *object, count);
  if (count > 0) notify_removal(kSortedSetEvents, "zremrangebyscore", key);
  return count;
}

// ---- Streams ----

void check_appended(const absl::Status& status) {
  if (absl::IsOutOfRange(status)) throw ScriptError(script_errors::kIdsExhausted);
  if (!status.ok()) throw ScriptError(script_errors::store_failed(status));
}

std::int64_t KeyspaceCall::stream_last_ms(std::string_view key) {
  Object* const object = db_.find(key);
  const bool is_stream = object != nullptr && object->type() == ValueType::kStream;
  return is_stream ? static_cast<std::int64_t>(object->stream().log().last_id().ms) : 0;
}

NativeCall::StreamValue value_of(const StreamEntry& entry, std::string_view name) {
  NativeCall::StreamValue value;
  for (std::size_t field = 0; field < entry.size(); ++field) {
    if (entry.name(field) != name) continue;
    if (entry.is_integer(field)) {
      value = entry.integer(field);
    } else {
      value = entry.text(field);
    }
  }
  return value;
}

void KeyspaceCall::stream_for_each(
    std::string_view key, StreamId after, std::size_t count_max,
    std::span<const std::string_view> names,
    absl::FunctionRef<void(StreamId id, std::span<const StreamValue> values)> visit) {
  Object* const object = find(key, ValueType::kStream);
  const auto from = after.next();
  if (object == nullptr || !from || count_max == 0) return;
  std::vector<StreamValue> values(names.size());
  std::size_t count = 0;
  const absl::Status read =
      object->stream().log().read(*from, StreamId::max(), [&](const StreamEntry& entry) {
        std::ranges::transform(names, values.begin(),
                               [&](std::string_view name) { return value_of(entry, name); });
        visit(entry.id(), values);
        return ++count < count_max;
      });
  if (!read.ok()) throw ScriptError(script_errors::store_failed(read));
}

StreamId KeyspaceCall::stream_append(std::string_view key, std::span<const Field> fields) {
  Object* object = find_to_grow(key, ValueType::kStream);
  if (object == nullptr) object = &streams::create(db_, key);
  const absl::StatusOr<StreamId> id = streams::append_automatic(db_, *object, fields);
  check_appended(id.status());
  notify(kStreamEvents, "xadd", key);
  return *id;
}

void KeyspaceCall::stream_append_rows(std::string_view key, std::span<const std::string_view> names,
                                      std::span<const std::int64_t> values) {
  assert(!names.empty() && values.size() % names.size() == 0);
  Object* object = find_to_grow(key, ValueType::kStream);
  if (values.empty()) return;
  if (object == nullptr) object = &streams::create(db_, key);
  check_appended(streams::append_rows(db_, *object, names, values));
  if (!wants(kStreamEvents)) return;
  for (std::size_t row = 0; row < values.size() / names.size(); ++row)
    notify(kStreamEvents, "xadd", key);
}

}  // namespace

NativeHost::NativeHost() {
  all_.push_back(std::make_unique<const Scripts>());
  current_ = all_.back().get();
}

bool NativeHost::add(std::string name, NativeScript script) {
  const std::lock_guard lock(mutex_);
  if (knows(name)) return false;
  auto entry = std::make_shared<const Entry>(Entry{std::move(name), std::move(script)});
  auto scripts = std::make_unique<Scripts>(*current());
  scripts->emplace(entry->name, entry);
  all_.push_back(std::move(scripts));
  current_.store(all_.back().get(), std::memory_order_release);
  return true;
}

const NativeHost::Entry* NativeHost::find(std::string_view name) const {
  const Scripts& scripts = *current();
  const auto found = scripts.find(name);
  return found == scripts.end() ? nullptr : found->second.get();
}

bool NativeHost::knows_in_any_case(std::string_view name) const {
  return std::ranges::any_of(
      *current(), [&](const auto& script) { return equal_in_any_case(script.first, name); });
}

Reply NativeHost::run(const Entry& entry, Database& db, const ScriptCall& call) {
  const auto& [name, script] = entry;
  const Changes::Savepoint savepoint = db.changes().savepoint();
  KeyspaceCall native_call(db, call);
  Reply error;
  try {
    return script(native_call);
  } catch (const ScriptError& failure) {
    error = Reply::error(failure.what());
  } catch (const std::exception& failure) {
    error = script_errors::aborted(name, failure.what());
  } catch (...) {
    error = script_errors::aborted(name, "unknown exception");
  }
  db.changes().roll_back_to(savepoint);
  return error;
}

}  // namespace rushgate
