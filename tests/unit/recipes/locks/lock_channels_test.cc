#include "engine/recipes/locks/lock_channels.h"

#include <memory>

#include <rushgate/clock.h>
#include <rushgate/engine.h>
#include <rushgate/memory_store.h>

namespace rushgate {
namespace {

constexpr char kReleasedChannel[] = "released";

class Listener final : public ChannelListener {
 public:
  void subscribed(const absl::Status& status) override { EXPECT_TRUE(status.ok()) << status; }
  void resumed() override { ++times_resumed; }

  int times_resumed = 0;
};

class LockChannelsTest : public ::testing::Test {
 protected:
  LockChannelsTest() { channels_->open(*engine_, /*are_of_shards=*/false); }

  std::shared_ptr<Listener> add(bool is_for_all) {
    auto listener = std::make_shared<Listener>();
    channels_->add(kReleasedChannel, listener, is_for_all);
    return listener;
  }
  bool pause(const std::shared_ptr<Listener>& listener) {
    return channels_->pause(kReleasedChannel, listener);
  }
  void publish() { EXPECT_EQ((*client_)("PUBLISH", kReleasedChannel, "0"), Reply::integer(1)); }

  ManualClock clock_;
  std::unique_ptr<Engine> engine_ =
      *Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock_});
  std::unique_ptr<Client> client_ = engine_->open_client();
  std::shared_ptr<LockChannels> channels_ = std::make_shared<LockChannels>();
};

TEST_F(LockChannelsTest, MessageResumesOneAndItsSharers) {
  const auto one = add(false);
  const auto first_shared = add(true);
  const auto other = add(false);
  const auto second_shared = add(true);
  for (const auto& listener : {one, first_shared, other, second_shared}) {
    EXPECT_TRUE(pause(listener));
  }
  publish();
  EXPECT_EQ(one->times_resumed, 1);
  EXPECT_EQ(first_shared->times_resumed, 1);
  EXPECT_EQ(other->times_resumed, 0);
  EXPECT_EQ(second_shared->times_resumed, 1);
}

/// The other listener of the channel is resumed. The message is still missed.
TEST_F(LockChannelsTest, MissedMessagePreventsNextPause) {
  const auto one = add(false);
  const auto shared = add(true);
  EXPECT_TRUE(pause(shared));
  publish();
  EXPECT_EQ(shared->times_resumed, 1);
  EXPECT_TRUE(pause(shared)) << "the message that is kept is for the other";
  EXPECT_FALSE(pause(one));
  EXPECT_TRUE(pause(one));
  publish();
  EXPECT_EQ(one->times_resumed, 1);
}

TEST_F(LockChannelsTest, MessageForAllIsKeptForNoOther) {
  const auto shared = add(true);
  publish();
  EXPECT_FALSE(pause(shared));
  EXPECT_TRUE(pause(add(false)));
}

}  // namespace
}  // namespace rushgate
