// Random changes to a keyspace.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/keyspace/copies.h"
#include "engine/redis/keyspace/hashes.h"
#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/lists.h"
#include "engine/redis/keyspace/sets.h"
#include "engine/redis/keyspace/sorted_sets.h"
#include "engine/redis/keyspace/streams.h"
#include "engine/redis/keyspace/strings.h"

namespace rushgate {

/// Makes changes of all kinds to a few keys in two databases. A copy makes the same changes.
class RandomChanges {
 public:
  /// Creates keys of these types only.
  explicit RandomChanges(std::uint64_t seed, std::vector<ValueType> types = all_types())
      : random_(seed), types_(std::move(types)) {}

  static std::vector<ValueType> all_types() {
    return {ValueType::kString, ValueType::kHash, ValueType::kSet,
            ValueType::kStream, ValueType::kList, ValueType::kSortedSet};
  }

  std::size_t below(std::size_t bound) { return random_() % bound; }

  void change(Keyspace& keyspace) {
    Database& db = keyspace.db(below(2));
    const std::string key = name("k", 12);
    Object* const object = db.find(key);
    if (below(1'000) == 0) return change_database(keyspace, db);
    if (object == nullptr) return make(db, key);
    if (below(30) == 0) return change_key(keyspace, db, *object);
    switch (object->type()) {
      case ValueType::kString:
        return change_string(db, *object);
      case ValueType::kHash:
        return change_hash(db, *object);
      case ValueType::kSet:
        return change_set(db, *object);
      case ValueType::kStream:
        return change_stream(db, *object);
      case ValueType::kList:
        return change_list(db, *object);
      case ValueType::kSortedSet:
        return change_sorted_set(db, *object);
    }
  }

 private:
  static constexpr std::size_t kRange = 300;

  std::string number() { return std::to_string(below(kRange)); }
  /// Returns a string from a small range, sometimes a long one.
  std::string text() {
    const std::size_t which = below(kRange);
    return std::string(which % 7 == 0 ? 200 : which % 3 * 9, 'x') + std::to_string(which) + 'x';
  }
  /// Returns one of a few names, some of them long.
  std::string name(const char* prefix, std::size_t count) {
    const std::size_t which = below(count);
    return prefix + std::to_string(which) + std::string(which % 4 * 9, 'n');
  }
  std::string any() { return below(2) == 0 ? number() : text(); }
  /// Hashes and sets at these keys stay small.
  static bool stays_small(const Object& object) { return object.key().size() % 2 == 0; }
  std::string any_for(const Object& object) { return stays_small(object) ? number() : any(); }

  void make(Database& db, std::string_view key) {
    switch (types_[below(types_.size())]) {
      case ValueType::kString:
        strings::set(db, key, StringValue(any()));
        break;
      case ValueType::kHash:
        add_field(db, hashes::create(db, key));
        break;
      case ValueType::kSet:
        add_member(db, sets::create(db, key));
        break;
      case ValueType::kList:
        lists::push(db, lists::create(db, key), lists::End::kTail, any());
        break;
      case ValueType::kSortedSet:
        sorted_sets::set(db, sorted_sets::create(db, key), any(), 1);
        break;
      case ValueType::kStream:
        append(db, streams::create(db, key));
    }
  }

  void change_database(Keyspace& keyspace, Database& db) {
    switch (below(4)) {
      case 0:
        return db.remove_all();
      case 1:
        return keyspace.remove_all();
      case 2:
        return keyspace.db(0).swap(keyspace.db(1));
      default:
        keyspace.set_now_ms(keyspace.now_ms() + 50);
        keyspace.remove_expired(3);
    }
  }

  void change_key(Keyspace& keyspace, Database& db, Object& object) {
    const auto expiry = [&] { return keyspace.now_ms() + static_cast<std::int64_t>(below(300)); };
    const std::string key = "other" + text();
    Database& to = keyspace.db(below(2));
    switch (below(5)) {
      case 0:
        return db.remove(object);
      case 1:
        return db.set_expiry(object, expiry());
      case 2:
        return db.set_expiry(object, kNoExpiry);
      case 3:
        if (to.find(key) == nullptr) db.move(object, to, key);
        return;
      default:
        if (to.find(key) != nullptr) return;
        EXPECT_EQ(copy_object(object, to, key), absl::OkStatus());
    }
  }

  void change_string(Database& db, Object& object) {
    if (below(2) == 0) return strings::overwrite(db, object, below(400), text());
    strings::assign(db, object, StringValue(any()));
  }

  void change_hash(Database& db, Object& object) {
    switch (below(6)) {
      case 0:
      case 1:
        return static_cast<void>(hashes::remove(db, object, any_for(object)));
      case 2:
        return change_field_expiry(db, object);
      default:
        return add_field(db, object);
    }
  }

  /// Some fields expire at once.
  void change_field_expiry(Database& db, Object& object) {
    const std::string field = any_for(object);
    const std::int64_t expire_at_ms =
        db.keyspace().now_ms() + static_cast<std::int64_t>(below(300)) - 20;
    const bool expires = below(4) != 0;
    if (!object.hash().contains(field)) add_field(db, object, field);
    hashes::set_expiry(db, object, field, expires ? std::optional(expire_at_ms) : std::nullopt);
  }

  void add_field(Database& db, Object& object) { add_field(db, object, any_for(object)); }

  void add_field(Database& db, Object& object, std::string_view field) {
    const std::string short_text(below(20), 'x');
    hashes::set(db, object, field, stays_small(object) ? short_text : any());
  }

  void change_set(Database& db, Object& object) {
    if (below(10) == 0) {
      std::array<std::int64_t, 64> members{};
      std::array<bool, 64> is_new{};
      for (auto& member : members) member = static_cast<std::int64_t>(below(10 * kRange));
      sets::add_integers(db, object, members, below(70), is_new);
    } else if (below(3) == 0) {
      sets::remove(db, object, any_for(object));
    } else {
      add_member(db, object);
    }
  }

  void add_member(Database& db, Object& object) { sets::add(db, object, any_for(object)); }

  void change_list(Database& db, Object& object) {
    const std::size_t size = object.list().size();
    const auto end = below(2) == 0 ? lists::End::kHead : lists::End::kTail;
    const std::string big(below(5) == 0 ? 3'000 : 0, 'y');
    switch (below(12)) {
      case 0:
        return static_cast<void>(lists::pop(db, object, end));
      case 1:
        return lists::remove_range(db, object, below(size), 1);
      case 2:
        return lists::remove_range(db, object, size / 2, size / 4);
      case 3:
        return static_cast<void>(lists::remove_equal(db, object, any(), end, 3));
      case 4:
        return lists::set(db, object, below(size), any() + big);
      case 5:
      case 6:
        return lists::insert(db, object, below(size + 1), any() + big);
      default:
        return lists::push(db, object, end, any() + big);
    }
  }

  void change_sorted_set(Database& db, Object& object) {
    if (below(3) == 0) return static_cast<void>(sorted_sets::remove(db, object, any()));
    for (std::size_t i = below(10) == 0 ? 100 : 1; i > 0; --i) {  // enough to split a node
      sorted_sets::set(db, object, any(), static_cast<double>(below(50)));
    }
  }

  void append(Database& db, Object& object) {
    const std::string value = text() + std::string(below(20) == 0 ? 5'000 : 0, 'z');
    const StreamField fields[] = {{"a", value}, {"b", "5"}};
    EXPECT_TRUE(streams::append_automatic(db, object, fields).ok());
  }

  void change_stream(Database& db, Object& object) {
    Stream& stream = object.stream();
    const std::string group_name = name("g", 4);
    StreamGroup* const group = stream.groups().find(group_name);
    std::uint64_t removed = 0;
    switch (below(10)) {
      case 0: {
        const StreamId ids[] = {stream.log().first_id(), stream.log().last_id()};
        ASSERT_TRUE(streams::erase(db, object, ids, removed).ok());
        return;
      }
      case 1:
        ASSERT_TRUE(streams::trim(db, object, {.length_max = below(100)}, removed).ok());
        return;
      case 2:
        if (group != nullptr) streams::destroy_group(db, object, *group);
        return;
      case 3:
      case 4:
      case 5:
        return group != nullptr
                   ? change_group(db, object, *group)
                   : static_cast<void>(streams::create_group(db, object, group_name, {}, 0));
      default:
        return append(db, object);
    }
  }

  void change_group(Database& db, Object& object, StreamGroup& group) {
    const std::string consumer_name = name("c", 4);
    StreamConsumer* const consumer = group.find_consumer(consumer_name);
    if (consumer == nullptr) {
      streams::create_consumer(db, object, group, consumer_name);
    } else if (below(5) == 0) {
      streams::remove_consumer(db, object, group, *consumer);
    }
    for (std::size_t i = below(40); i > 0 && !group.consumers.empty(); --i) {
      const StreamId id{below(100), 0};
      if (below(3) == 0) {
        streams::acknowledge(db, object, group, id);
      } else {
        auto& owner = *group.consumers.begin()->second;
        streams::assign_pending(db, object, group, id, {.consumer = &owner, .deliveries = 1});
      }
    }
  }

  std::mt19937_64 random_;
  std::vector<ValueType> types_;
};

}  // namespace rushgate
