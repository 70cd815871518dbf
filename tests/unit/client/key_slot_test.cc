#include "engine/core/client/key_slot.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/core/client/command_keys.h"
#include <rushgate/request.h>

namespace rushgate {
namespace {

TEST(KeySlotTest, SlotsAreThoseOfTheSpecification) {
  EXPECT_EQ(key_slot("123456789"), 0x31C3);
  EXPECT_EQ(key_slot(""), 0);
  EXPECT_EQ(key_slot("foo"), 12182);
  EXPECT_EQ(key_slot("somekey"), 11058);
}

TEST(KeySlotTest, FirstTagAloneDecides) {
  EXPECT_EQ(key_slot("{user1000}.following"), key_slot("user1000"));
  EXPECT_EQ(key_slot("a{user1000}.{b}"), key_slot("user1000"));
  EXPECT_EQ(key_slot("foo{{bar}}zap"), key_slot("{bar"));
  EXPECT_NE(key_slot("foo{}{bar}"), key_slot("bar"));
  EXPECT_NE(key_slot("foo{bar"), key_slot("bar"));
  EXPECT_NE(key_slot("{}bar"), key_slot("bar"));
}

std::vector<std::string> keys_of(const Request& request) {
  std::vector<std::string> keys;
  const auto views = request.views();
  for (const FoundKey& key : find_keys(command_keys(request), views))
    keys.emplace_back(views[key.position]);
  return keys;
}

using Keys = std::vector<std::string>;

TEST(CommandKeysTest, KeysAreFoundByCommandAndSubcommand) {
  EXPECT_EQ(keys_of(Request::of("GET", "a")), Keys({"a"}));
  EXPECT_EQ(keys_of(Request::of("mset", "a", 1, "b", 2)), Keys({"a", "b"}));
  EXPECT_EQ(keys_of(Request::of("EVALSHA", "sha", 2, "a", "b", "c")), Keys({"a", "b"}));
  EXPECT_EQ(keys_of(Request::of("XREAD", "BLOCK", 0, "STREAMS", "a", "b", 0, 0)), Keys({"a", "b"}));
  EXPECT_EQ(keys_of(Request::of("Object", "ENCODING", "a")), Keys({"a"}));
  EXPECT_EQ(keys_of(Request::of("SORT", "a", "GET", "#", "STORE", "b")), Keys({"a", "b"}));
  EXPECT_EQ(keys_of(Request::of("PING", "a")), Keys());
  EXPECT_EQ(keys_of(Request::of("later", "a")), Keys());
}

TEST(CommandKeysTest, MissingArgumentsHaveNoKeys) {
  for (const NamedKeySpecs& named : named_key_specs()) {
    const std::size_t bar = named.name.find('|');
    Request request = Request::of(named.name.substr(0, bar));
    if (bar != std::string_view::npos) request.add(named.name.substr(bar + 1));
    EXPECT_EQ(keys_of(request), Keys()) << named.name;
    EXPECT_TRUE(find_channels(named.keys, request.views()).empty()) << named.name;
  }
}

}  // namespace
}  // namespace rushgate
