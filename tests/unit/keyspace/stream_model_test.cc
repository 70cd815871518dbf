// Compares streams with a simple model: random changes, rolled back, committed, and reloaded from
// the store.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/streams.h"
#include "tests/unit/keyspace/stream_test_store.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

struct ModelPending {
  std::string consumer;
  std::int64_t delivered_ms;
  std::uint64_t deliveries;

  friend bool operator==(const ModelPending&, const ModelPending&) = default;
};

struct ModelGroup {
  StreamId last_delivered;
  std::int64_t entries_read = -1;
  std::map<StreamId, ModelPending> pending;
  std::map<std::string, std::int64_t> consumers;  // time of last activity

  friend bool operator==(const ModelGroup&, const ModelGroup&) = default;
};

struct StreamModel {
  std::map<StreamId, Fields> entries;
  StreamId last_id;
  StreamId max_deleted_id;
  std::uint64_t entries_added = 0;
  std::map<std::string, ModelGroup> groups;
};

Fields fields_of(const StreamEntry& entry) {
  Fields fields;
  for (std::size_t i = 0; i < entry.size(); ++i) fields.emplace_back(entry.name(i), entry.value(i));
  return fields;
}

/// Changes a stream and its model alike.
class StreamAndModel {
 public:
  explicit StreamAndModel(std::uint64_t seed) : random_(seed) {
    store_.chunk_bytes = random_() % 2 == 0 ? 0 : 1 + random_() % 300;
    cache_bytes_max_ = random_() % 2 == 0 ? StreamCaches::kBytesMax : random_() % 20'000;
    open();
    streams::create(db(), "s");
  }

  void step() {
    switch (random_() % 16) {
      case 0:
      case 1:
      case 2:
      case 3:
        return append_some();
      case 4:
        return erase();
      case 5:
        return random_() % 4 == 0 ? trim() : erase();
      case 6:
        return create_or_destroy_group();
      case 7:
        return create_or_remove_consumer();
      case 8:
      case 9:
        return assign_pending();
      case 10:
        return random_() % 4 == 0 ? order_deliveries() : acknowledge();
      case 11:
        return compare_range();
      case 12:
        return savepoints_.emplace_back(keyspace_->changes().savepoint(), model_), void();
      case 13:
        return roll_back();
      case 14:
        return commit();
      case 15:
        if (random_() % 8 == 0) reopen();
        return;
    }
  }

  void compare() {
    const StreamLog& log = this->log();
    ASSERT_EQ(log.length(), model_.entries.size());
    ASSERT_EQ(log.last_id(), model_.last_id);
    ASSERT_EQ(log.max_deleted_id(), model_.max_deleted_id);
    ASSERT_EQ(log.entries_added(), model_.entries_added);
    ASSERT_EQ(log.first_id(), model_.entries.empty() ? StreamId{} : model_.entries.begin()->first);
    ASSERT_EQ(groups(), model_.groups);
  }

  void compare_all() {
    compare();
    compare_range(StreamId::min(), StreamId::max(), ~std::size_t{0});
  }

 private:
  using Entries = std::vector<std::pair<StreamId, Fields>>;

  // ---- Changes of both ----

  void open() {
    keyspace_ = std::make_unique<Keyspace>(store_, 7);
    keyspace_->stream_caches().set_bytes_max(cache_bytes_max_);
    ASSERT_TRUE(keyspace_->load().ok());
    keyspace_->set_now_ms(now_ms_);
  }

  Database& db() { return keyspace_->db(0); }
  Object& object() { return *db().find("s"); }
  Stream& stream() { return object().stream(); }
  StreamLog& log() { return stream().log(); }

  void append_some() {
    if (random_() % 3 == 0) return append_rows();
    const std::size_t count = random_() % 40 == 0 ? random_() % 1'500 : 1 + random_() % 4;
    for (std::size_t i = 0; i < count; ++i) {
      keyspace_->set_now_ms(now_ms_ += static_cast<std::int64_t>(random_() % 3));
      const std::optional<StreamId> id =
          log().next_id(now_ms_ - static_cast<std::int64_t>(random_() % 2));
      ASSERT_TRUE(id.has_value());
      const Fields fields = random_fields();
      const std::vector<StreamField> views(fields.begin(), fields.end());
      ASSERT_TRUE(streams::append(db(), object(), *id, views).ok());
      model_.entries[*id] = fields;
      model_.last_id = *id;
      ++model_.entries_added;
    }
  }

  void append_rows() {
    static constexpr std::array<std::string_view, 2> kNames = {"user", "order"};
    std::vector<std::int64_t> values(2 * (random_() % 30 == 0 ? random_() % 3'000 : random_() % 4));
    for (std::int64_t& value : values) value = static_cast<std::int64_t>(random_() % 1'000'000);
    std::optional<StreamId> id = log().next_id(now_ms_);
    ASSERT_TRUE(streams::append_rows(db(), object(), kNames, values).ok());
    for (std::size_t i = 0; i < values.size(); i += 2) {
      model_.entries[*id] = {{"user", std::to_string(values[i])},
                             {"order", std::to_string(values[i + 1])}};
      model_.last_id = *id;
      ++model_.entries_added;
      id = id->next();
    }
  }

  void erase() {
    std::vector<StreamId> ids;
    for (std::size_t count = 1 + random_() % 5; count > 0; --count) ids.push_back(random_id());
    if (random_() % 3 == 0 && !model_.entries.empty()) ids.push_back(model_.entries.begin()->first);
    std::uint64_t erased_of_model = 0;
    for (const StreamId id : ids) {
      if (model_.entries.erase(id) == 0) continue;
      ++erased_of_model;
      model_.max_deleted_id = std::max(model_.max_deleted_id, id);
    }
    std::uint64_t erased = 0;
    ASSERT_TRUE(streams::erase(db(), object(), ids, erased).ok());
    ASSERT_EQ(erased, erased_of_model);
  }

  void trim() {
    StreamLog::TrimTo to;
    if (random_() % 2 == 0) {
      to.length_max = random_() % (model_.entries.size() + 10);
    } else {
      to.min_id = random_id();
    }
    to.whole_nodes = random_() % 2 == 0;
    std::uint64_t removed = 0;
    ASSERT_TRUE(streams::trim(db(), object(), to, removed).ok());

    const auto may_stay = [&] {
      return to.length_max ? model_.entries.size() <= *to.length_max
                           : model_.entries.begin()->first >= to.min_id;
    };
    std::uint64_t removed_of_model = 0;
    while (!model_.entries.empty() && !may_stay() &&
           (!to.whole_nodes || removed_of_model < removed)) {
      model_.entries.erase(model_.entries.begin());
      ++removed_of_model;
    }
    ASSERT_EQ(removed, removed_of_model) << "the wrong number was removed";
    if (!to.whole_nodes || model_.entries.empty()) return;
    const std::uint64_t left_over =
        to.length_max
            ? model_.entries.size() - std::min<std::uint64_t>(model_.entries.size(), *to.length_max)
            : entries_below(to.min_id);
    ASSERT_LE(left_over, static_cast<std::uint64_t>(EncodingLimits{}.stream_node_entries))
        << "a whole node could have been removed";
  }

  std::uint64_t entries_below(StreamId id) {
    return static_cast<std::uint64_t>(
        std::distance(model_.entries.begin(), model_.entries.lower_bound(id)));
  }

  void create_or_destroy_group() {
    const std::string name = pick({"g", "h"});
    if (StreamGroup* group = stream().groups().find(name)) {
      if (random_() % 4 != 0) {
        const StreamId position = random_id();
        streams::set_group_position(db(), object(), *group, position, 5);
        model_.groups[name].last_delivered = position;
        model_.groups[name].entries_read = 5;
        return;
      }
      streams::destroy_group(db(), object(), *group);
      model_.groups.erase(name);
    } else {
      streams::create_group(db(), object(), name, {1, 2}, StreamGroup::kEntriesReadUnknown);
      model_.groups[name].last_delivered = {1, 2};
    }
  }

  void create_or_remove_consumer() {
    const std::string name = pick({"g", "h"});
    StreamGroup* group = stream().groups().find(name);
    if (group == nullptr) return;
    ModelGroup& model = model_.groups[name];
    const std::string consumer_name = pick({"a", "b", ""});
    StreamConsumer* consumer = group->find_consumer(consumer_name);
    if (consumer == nullptr) {
      streams::create_consumer(db(), object(), *group, consumer_name);
      model.consumers[consumer_name] = now_ms_;
    } else if (random_() % 4 != 0) {
      streams::see_consumer(db(), object(), *group, *consumer);
      model.consumers[consumer_name] = now_ms_;
    } else {
      const std::size_t removed = streams::remove_consumer(db(), object(), *group, *consumer);
      ASSERT_EQ(removed, std::erase_if(model.pending, [&](const auto& entry) {
                  return entry.second.consumer == consumer_name;
                }));
      model.consumers.erase(consumer_name);
    }
  }

  void assign_pending() {
    const std::string name = pick({"g", "h"});
    StreamGroup* group = stream().groups().find(name);
    if (group == nullptr || group->consumers.empty()) return;
    for (std::size_t count = 1 + random_() % 5; count > 0; --count) {
      const auto at = std::next(group->consumers.begin(),
                                static_cast<std::ptrdiff_t>(random_() % group->consumers.size()));
      const StreamId id = random_id();
      const ModelPending pending{at->first, now_ms_ - static_cast<std::int64_t>(random_() % 100),
                                 random_() % 5};
      streams::assign_pending(db(), object(), *group, id,
                              {at->second.get(), pending.delivered_ms, pending.deliveries});
      model_.groups[name].pending[id] = pending;
    }
  }

  void acknowledge() {
    const std::string name = pick({"g", "h"});
    StreamGroup* group = stream().groups().find(name);
    if (group == nullptr) return;
    for (std::size_t count = 1 + random_() % 20; count > 0; --count) {
      const StreamId id = random_id();
      ASSERT_EQ(streams::acknowledge(db(), object(), *group, id),
                model_.groups[name].pending.erase(id) == 1);
    }
  }

  /// From then on groups() compares the order.
  void order_deliveries() {
    StreamGroup* group = stream().groups().find(pick({"g", "h"}));
    if (group != nullptr) streams::ordered_deliveries(db(), object(), *group);
  }

  // ---- Rollback and commit --------

  void roll_back() {
    if (savepoints_.empty()) return;
    const std::size_t to = random_() % savepoints_.size();
    keyspace_->changes().roll_back_to(savepoints_[to].first);
    model_ = savepoints_[to].second;
    savepoints_.resize(to);
  }

  void commit() {
    ASSERT_TRUE(keyspace_->commit().ok());
    savepoints_.clear();
  }

  void reopen() {
    commit();
    open();
  }

  // ---- Comparison ----

  void compare_range() {
    StreamId from = random_id();
    StreamId to = random_id();
    if (from > to && random_() % 8 != 0) std::swap(from, to);
    compare_range(from, to, random_() % 4 == 0 ? ~std::size_t{0} : 1 + random_() % 20);
  }

  void compare_range(StreamId from, StreamId to, std::size_t count) {
    Entries expected;
    for (auto at = model_.entries.lower_bound(from); at != model_.entries.end() && at->first <= to;
         ++at)
      expected.push_back(*at);
    Entries expected_back(expected.rbegin(), expected.rend());
    if (expected.size() > count) expected.resize(count);
    if (expected_back.size() > count) expected_back.resize(count);

    Entries read;
    const auto visit = [&](const StreamEntry& entry) {
      read.emplace_back(entry.id(), fields_of(entry));
      return read.size() < count;
    };
    ASSERT_TRUE(log().read(from, to, visit).ok());
    ASSERT_EQ(read, expected);
    read.clear();
    ASSERT_TRUE(log().read_back(from, to, visit).ok());
    ASSERT_EQ(read, expected_back);
  }

  std::map<std::string, ModelGroup> groups() {
    std::map<std::string, ModelGroup> groups;
    for (const auto& [name, group] : stream().groups()) {
      ModelGroup& model = groups[name];
      model.last_delivered = group->last_delivered;
      model.entries_read = group->entries_read;
      std::size_t pending_of_consumers = 0;
      for (const auto& [consumer_name, consumer] : group->consumers) {
        model.consumers[consumer_name] = consumer->seen_ms;
        pending_of_consumers += consumer->pending.size();
      }
      for (const auto& [id, pending] : group->pending) {
        EXPECT_TRUE(pending.consumer->pending.contains(id));
        model.pending[id] = {pending.consumer->name, pending.delivered_ms, pending.deliveries};
      }
      EXPECT_EQ(pending_of_consumers, group->pending.size());
      if (group->deliveries == nullptr) continue;
      StreamGroup::Deliveries deliveries;
      for (const auto& [id, pending] : group->pending) deliveries.emplace(pending.delivered_ms, id);
      EXPECT_EQ(*group->deliveries, deliveries);
    }
    return groups;
  }

  // ---- Random changes ----

  std::string pick(std::vector<std::string> from) { return from[random_() % from.size()]; }

  StreamId random_id() {
    const std::uint64_t ms =
        model_.last_id.ms -
        std::min(model_.last_id.ms, random_() % (random_() % 4 == 0 ? 600 : 30));
    return {ms, random_() % 4};
  }

  Fields random_fields() {
    const std::string value =
        random_() % 3 == 0
            ? "text"
            : std::to_string(static_cast<std::int64_t>(random_()) >> (random_() % 64));
    if (random_() % 5 != 0) return {{"userId", value}, {"voucherId", "7"}};
    return {{pick({"a", "b"}), value + pick({"", "0"})}};
  }

  std::mt19937_64 random_;
  StreamTestStore store_;
  std::int64_t now_ms_ = 1'000;
  std::size_t cache_bytes_max_ = 0;
  std::unique_ptr<Keyspace> keyspace_;
  StreamModel model_;
  std::vector<std::pair<Changes::Savepoint, StreamModel>> savepoints_;
};

TEST(StreamModelTest, StreamAgreesWithMap) {
  const auto seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  for (std::uint64_t round = 0; round < 20; ++round) {
    StreamAndModel pair(seed + round);
    for (int i = 0; i < 1'000; ++i) {
      ASSERT_NO_FATAL_FAILURE(pair.step()) << "round " << round << ", step " << i;
      ASSERT_NO_FATAL_FAILURE(pair.compare()) << "round " << round << ", step " << i;
    }
    ASSERT_NO_FATAL_FAILURE(pair.compare_all()) << "round " << round;
  }
}

}  // namespace
}  // namespace rushgate
