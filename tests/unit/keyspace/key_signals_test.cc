// Signals report only the keys and changes that blocked clients wait for.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/keyspace/hashes.h"
#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/lists.h"
#include "engine/redis/keyspace/sets.h"
#include "engine/redis/keyspace/streams.h"
#include "engine/redis/keyspace/strings.h"
#include <rushgate/memory_store.h>

namespace rushgate {
namespace {

class KeySignalsTest : public ::testing::Test, private KeyListener {
 protected:
  using Signals = std::vector<std::string>;

  KeySignalsTest() { keyspace_.set_listener(this); }

  /// Returns "0 key is ready" for each signal since the last call.
  Signals signals() { return std::exchange(signals_, {}); }

  Database& db(std::size_t number = 0) { return keyspace_.db(number); }

 private:
  void key_signalled(std::uint8_t db, std::string_view key, ValueType /*type*/,
                     KeySignal what) override {
    signals_.push_back(std::to_string(db) + ' ' + std::string(key) +
                       (what == KeySignal::kReady ? " is ready" : " is gone"));
  }

  MemoryStore store_;
  Keyspace keyspace_{store_, 1};
  Signals signals_;
};

TEST_F(KeySignalsTest, CreatedListIsReady) {
  Object& list = lists::create(db(), "l");
  EXPECT_EQ(signals(), Signals{"0 l is ready"});
  lists::push(db(), list, lists::End::kTail, "a");
  lists::push(db(), list, lists::End::kTail, "b");
  lists::pop(db(), list, lists::End::kHead);
  lists::pop(db(), list, lists::End::kHead);
  EXPECT_EQ(signals(), Signals{}) << "no command waits for an existing list, or for its end";
}

TEST_F(KeySignalsTest, MovedListSignalsItsNewKey) {
  Object& list = lists::create(db(), "l");
  lists::push(db(), list, lists::End::kTail, "a");
  signals();
  db().move(list, db(3), "m");
  EXPECT_EQ(signals(), Signals{"3 m is ready"});
}

TEST_F(KeySignalsTest, StreamIsReadyOnEachAppend) {
  Object& stream = streams::create(db(), "s");
  EXPECT_EQ(signals(), Signals{"0 s is ready"});
  const StreamField fields[] = {{"field", "value"}};
  EXPECT_TRUE(streams::append_automatic(db(), stream, fields).ok());
  EXPECT_EQ(signals(), Signals{"0 s is ready"});
}

TEST_F(KeySignalsTest, StreamThatLeavesItsKeyIsGone) {
  Object& stream = streams::create(db(), "s");
  signals();
  db().move(stream, db(), "t");
  EXPECT_EQ(signals(), (Signals{"0 s is gone", "0 t is ready"}));
  db().remove(stream);
  EXPECT_EQ(signals(), Signals{"0 t is gone"});
  streams::create(db(), "u");
  signals();
  db().remove_all();
  EXPECT_EQ(signals(), Signals{"0 u is gone"});
}

TEST_F(KeySignalsTest, OtherTypesSendNoSignal) {
  strings::set(db(), "text", StringValue("v"));
  hashes::set(db(), hashes::create(db(), "hash"), "f", "v");
  sets::add(db(), sets::create(db(), "set"), "m");
  db().remove_all();
  EXPECT_EQ(signals(), Signals{});
}

}  // namespace
}  // namespace rushgate
