#include <cstddef>
#include <string>

#include "tests/unit/commands/command_test.h"

namespace rushgate {
namespace {

constexpr const char* kTooLarge =
    "(error) ERR SORT takes more memory than its client may leave unread";

class SortTest : public CommandTest {};

TEST_F(SortTest, StoredListIsRolledBackAndReloaded) {
  run("RPUSH", "l", 3, 1, 2);
  run("SET", "d", "v");
  commit();
  EXPECT_EQ(text("SORT", "l", "STORE", "d"), "(integer) 3");
  EXPECT_EQ(text("LRANGE", "d", 0, -1), R"(["1", "2", "3"])");
  EXPECT_EQ(text("SORT", "l", "DESC", "STORE", "l"), "(integer) 3");
  EXPECT_EQ(text("LRANGE", "l", 0, -1), R"(["3", "2", "1"])");
  EXPECT_EQ(text("SORT", "none", "STORE", "d"), "(integer) 0");
  EXPECT_EQ(text("EXISTS", "d"), "(integer) 0");
}

TEST_F(SortTest, EachSliceIsSorted) {
  constexpr int kSize = 40;
  Request fill = Request::of("RPUSH", "l");
  for (int i = 0; i < kSize; ++i) fill.add(std::to_string(i * 7 % kSize));
  run_request(fill);
  for (int first = 0; first <= kSize; ++first) {
    for (int last = first; last <= kSize; ++last) {
      const Reply slice = run("SORT", "l", "LIMIT", first, last - first);
      ASSERT_EQ(slice.elements().size(), static_cast<std::size_t>(last - first));
      for (int i = first; i < last; ++i)
        ASSERT_EQ(slice.elements()[static_cast<std::size_t>(i - first)].text(), std::to_string(i));
    }
  }
}

class SortMemoryTest : public SortTest {
 protected:
  static constexpr std::size_t kBytesMax = 100'000;

  void SetUp() override {
    session().reply_bytes_max = kBytesMax;
    run("SET", "v_a", std::string(kBytesMax / 10, 'x'));
    run("HSET", "h_a", "f", std::string(kBytesMax / 10, 'x'));
    for (int i = 0; i < 20; ++i) run("RPUSH", "l", "a");
  }
};

TEST_F(SortMemoryTest, RepeatedValuesMeetBound) {
  EXPECT_EQ(text("SORT", "l", "BY", "nosort", "GET", "v_*"), kTooLarge);
  EXPECT_EQ(text("SORT_RO", "l", "ALPHA", "GET", "h_*->f"), kTooLarge);
  EXPECT_EQ(run("SORT", "l", "ALPHA", "GET", "v_*", "LIMIT", 0, 5).elements().size(), 5U);
}

TEST_F(SortMemoryTest, StoredValuesMeetBound) {
  EXPECT_EQ(text("SORT", "l", "ALPHA", "GET", "v_*", "STORE", "d"), kTooLarge);
  EXPECT_EQ(text("EXISTS", "d"), "(integer) 0");
  EXPECT_EQ(text("SORT", "l", "ALPHA", "LIMIT", 0, 5, "GET", "v_*", "STORE", "d"), "(integer) 5");
}

TEST_F(SortMemoryTest, WeightsMeetBound) {
  EXPECT_EQ(text("SORT", "l", "BY", "v_*", "ALPHA", "LIMIT", 0, 1), kTooLarge);
  EXPECT_EQ(text("SORT", "l", "BY", "h_*->f", "ALPHA", "STORE", "d"), kTooLarge);
}

TEST_F(SortMemoryTest, ManyPatternsMeetBound) {
  Request request = Request::of("SORT", "l", "BY", "nosort");
  for (int i = 0; i < 1'000; ++i) {
    request.add("GET");
    request.add("none_*");
  }
  EXPECT_EQ(to_debug_string(run_request(request)), kTooLarge);
}

}  // namespace
}  // namespace rushgate
