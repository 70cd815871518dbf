// Orders that are accepted but not yet in the database.
#include "engine/sale/stream/backlog.h"

#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "engine/sale/stream/group_progress.h"
#include <rushgate/engine.h>
#include <rushgate/memory_store.h>

namespace rushgate {
namespace {

class BacklogTest : public ::testing::Test {
 protected:
  std::string add() { return (*client_)("XADD", keys_.order_stream, "*", "id", 1).text(); }
  void read(int count, const std::string& consumer = "c7@us") {
    (*client_)("XREADGROUP", "GROUP", keys_.group, consumer, "COUNT", count, "STREAMS",
               keys_.order_stream, ">");
  }

  SaleKeys keys_;
  ManualClock clock_;
  std::unique_ptr<Engine> engine_ =
      *Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock_}, {});
  std::unique_ptr<Client> client_ = engine_->open_client();
};

TEST_F(BacklogTest, OrderIsUnstoredUntilAcknowledged) {
  EXPECT_FALSE(*has_unstored(*client_, keys_)) << "no stream";
  const std::string entry = add();
  EXPECT_TRUE(*has_unstored(*client_, keys_)) << "no group";
  (*client_)("XGROUP", "CREATE", keys_.order_stream, keys_.group, "0");
  EXPECT_TRUE(*has_unstored(*client_, keys_)) << "undelivered";
  read(1);
  EXPECT_TRUE(*has_unstored(*client_, keys_)) << "pending";
  (*client_)("XACK", keys_.order_stream, keys_.group, entry);
  EXPECT_FALSE(*has_unstored(*client_, keys_));
}

TEST_F(BacklogTest, OneEntryIsAcknowledgedAsAmongAll) {
  const std::string acknowledged = add();
  const std::string pending = add();
  const std::string undelivered = add();
  const auto check = [this](std::string_view text, bool expected) {
    const StreamId entry = *StreamId::parse(text);
    const auto one = is_acknowledged(*client_, keys_, entry);
    ASSERT_TRUE(one.ok()) << one.status();
    EXPECT_EQ(*one, expected) << text;
    EXPECT_EQ(AcknowledgedEntries::read(*client_, keys_)->contains(entry), expected) << text;
  };
  check(acknowledged, false);  // no group
  (*client_)("XGROUP", "CREATE", keys_.order_stream, keys_.group, "0");
  read(2);
  (*client_)("XACK", keys_.order_stream, keys_.group, acknowledged);
  check(acknowledged, true);
  check(pending, false);
  check(undelivered, false);
  (*client_)("DEL", keys_.order_stream);
  check(acknowledged, false);  // no stream
}

TEST_F(BacklogTest, AdoptedPendingEntriesNameDeletedOnes) {
  EXPECT_TRUE(adopt_pending(*client_, keys_, "us", "c1@us")->empty()) << "no group";
  (*client_)("XGROUP", "CREATE", keys_.order_stream, keys_.group, "0", "MKSTREAM");
  add();
  const std::string deleted = add();
  add();
  read(3);
  (*client_)("XDEL", keys_.order_stream, deleted);
  const auto gone = adopt_pending(*client_, keys_, "us", "c1@us");
  ASSERT_TRUE(gone.ok()) << gone.status();
  EXPECT_EQ(*gone, std::vector{deleted});
  const Reply adopted =
      (*client_)("XPENDING", keys_.order_stream, keys_.group, "-", "+", 10, "c1@us");
  EXPECT_EQ(adopted.elements().size(), 2U);
  EXPECT_TRUE(adopt_pending(*client_, keys_, "us", "c1@us")->empty()) << "once";
}

TEST_F(BacklogTest, EntriesOfForeignConsumersStay) {
  (*client_)("XGROUP", "CREATE", keys_.order_stream, keys_.group, "0", "MKSTREAM");
  for (const char* const consumer : {"c1", "c1@them", "c2@us"}) {
    add();
    read(1, consumer);
  }
  EXPECT_TRUE(adopt_pending(*client_, keys_, "us", "c1@us")->empty());
  for (const char* const consumer : {"c1", "c1@them", "c1@us"}) {
    EXPECT_EQ((*client_)("XPENDING", keys_.order_stream, keys_.group, "-", "+", 10, consumer)
                  .elements()
                  .size(),
              1U)
        << consumer;
  }
}

}  // namespace
}  // namespace rushgate
