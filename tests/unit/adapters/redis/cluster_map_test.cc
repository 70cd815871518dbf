#include "adapters/redis/cluster_map.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "adapters/redis/cluster_routing.h"

namespace rushgate {
namespace {

const RedisAddress kAsked{"10.0.0.9", 7000};

Reply node(Reply host, int port, const std::string& id, std::vector<Reply> metadata = {}) {
  return Reply::array(
      {std::move(host), Reply::integer(port), Reply::bulk(id), Reply::array(std::move(metadata))});
}

Reply range(int first, int last, Reply master) {
  return Reply::array({Reply::integer(first), Reply::integer(last), std::move(master)});
}

TEST(ClusterMapTest, SlotsHaveTheirMasters) {
  const Reply with_replica =
      Reply::array({Reply::integer(0), Reply::integer(5'000), node(Reply::bulk("a"), 1, "ida"),
                    node(Reply::bulk("r"), 3, "idr")});
  const auto map = ClusterMap::parse(
      Reply::array({with_replica, range(5'002, 16'383, node(Reply::bulk("b"), 2, "idb"))}), kAsked);
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_EQ(map->owner(0)->address, (RedisAddress{"a", 1}));
  EXPECT_EQ(map->owner(5'000)->id, "ida");
  EXPECT_EQ(map->owner(5'001), nullptr);
  EXPECT_EQ(map->owner(16'383)->address, (RedisAddress{"b", 2}));
  EXPECT_EQ(map->uncovered(), 1);
  EXPECT_EQ(map->uncovered_text(), "5001");
  EXPECT_EQ(map->replicas(), (std::vector<RedisAddress>{{"r", 3}}));
  EXPECT_EQ(map->ids().size(), 3U);
}

TEST(ClusterMapTest, NodeWithoutHostIsAskedOne) {
  for (const Reply& host : {Reply::nil(), Reply::bulk("")}) {
    const auto map =
        ClusterMap::parse(Reply::array({range(0, 1, node(host, 7'001, "id"))}), kAsked);
    EXPECT_EQ(map->owner(0)->address, (RedisAddress{"10.0.0.9", 7'001}));
  }
  const auto by_ip = ClusterMap::parse(
      Reply::array({range(
          0, 1,
          node(Reply::bulk("?"), 7'001, "id", {Reply::bulk("ip"), Reply::bulk("10.0.0.1")}))}),
      kAsked);
  EXPECT_EQ(by_ip->owner(0)->address, (RedisAddress{"10.0.0.1", 7'001}));
}

TEST(ClusterMapTest, NodeWithoutAddressHasNoSlots) {
  const auto map =
      ClusterMap::parse(Reply::array({range(0, 9, node(Reply::bulk("a"), 0, "ida")),
                                      range(10, 19, node(Reply::bulk("?"), 7'001, "idb")),
                                      range(20, 16'383, node(Reply::bulk("c"), 7'001, "idc"))}),
                        kAsked);
  EXPECT_EQ(map->uncovered_text(), "0-19");
}

TEST(ClusterMapTest, NonsenseIsNoMap) {
  const Reply good = node(Reply::bulk("a"), 1, "id");
  for (const Reply& reply :
       {Reply::ok(), Reply::array({Reply::ok()}), Reply::array({range(-1, 5, good)}),
        Reply::array({range(0, 16'384, good)}),
        Reply::array({Reply::array({Reply::bulk("0"), Reply::integer(1), good})})}) {
    EXPECT_FALSE(ClusterMap::parse(reply, kAsked).ok()) << to_debug_string(reply);
  }
}

TEST(ClusterMapTest, RedirectMayNameIpv6Address) {
  EXPECT_EQ(node_address("::1:7001", kAsked), (RedisAddress{"::1", 7'001}));
  EXPECT_EQ(node_address("[fe80::2]:7001", kAsked), (RedisAddress{"fe80::2", 7'001}));
  EXPECT_EQ(node_address(":7001", kAsked), (RedisAddress{"10.0.0.9", 7'001}));
  for (const char* const none : {"?:7001", "a:0", "a:", "a", "", "a:70000"}) {
    EXPECT_EQ(node_address(none, kAsked), std::nullopt) << none;
  }
}

TEST(ClusterMapTest, OnlyRedirectsAreParsed) {
  const auto moved = parse_redirect(Reply::error("MOVED 3999 a:1"));
  ASSERT_TRUE(moved.has_value());
  EXPECT_EQ(moved->slot, 3'999);
  EXPECT_FALSE(moved->only_once);
  EXPECT_TRUE(parse_redirect(Reply::error("ASK 1 a:1"))->only_once);
  for (const char* const text : {"MOVED", "MOVED x a:1", "MOVED 16384 a:1", "ERR MOVED 1 a:1"}) {
    EXPECT_FALSE(parse_redirect(Reply::error(text)).has_value()) << text;
  }
  EXPECT_FALSE(parse_redirect(Reply::bulk("MOVED 1 a:1")).has_value());
}

TEST(ClusterRoutingTest, TransactionsAreOneUnit) {
  const std::vector<Request> requests = {Request::of("GET", "x"),     Request::of("WATCH", "{t}a"),
                                         Request::of("GET", "{t}b"),  Request::of("MULTI"),
                                         Request::of("INCR", "{t}a"), Request::of("EXEC"),
                                         Request::of("SET", "y", 1),  Request::of("WAIT", 1, 100),
                                         Request::of("MULTI"),        Request::of("INCR", "{t}a")};
  const RequestUnits units = units_of(requests);
  ASSERT_EQ(units.size(), 4U);
  EXPECT_EQ(units[0].count, 1U);
  EXPECT_EQ(units[1].count, 5U);
  EXPECT_EQ(units[1].slot, key_slot("t"));
  EXPECT_EQ(units[2].count, 2U);
  EXPECT_EQ(units[2].slot, key_slot("y"));
  EXPECT_EQ(units[2].route, Route::kLeased);
  EXPECT_EQ(units[3].count, 2U);
  EXPECT_TRUE(units[3].refusal.has_value()) << "it has no end";
}

TEST(ClusterRoutingTest, RepliesOfAllMastersBecomeOne) {
  const Reply error = Reply::error("ERR");
  EXPECT_EQ(merged(Merge::kFirstError, {Reply::ok(), error}), error);
  EXPECT_EQ(merged(Merge::kFirstError, {Reply::ok(), Reply::ok()}), Reply::ok());
  EXPECT_EQ(merged(Merge::kFirstSuccess, {error, Reply::ok()}), Reply::ok());
  EXPECT_EQ(merged(Merge::kFirstSuccess, {error, error}), error);
  EXPECT_EQ(merged(Merge::kSum, {Reply::integer(1), Reply::integer(2)}), Reply::integer(3));
  EXPECT_EQ(merged(Merge::kLeast, {Reply::array({Reply::integer(1), Reply::integer(0)}),
                                   Reply::array({Reply::integer(1), Reply::integer(1)})}),
            Reply::array({Reply::integer(1), Reply::integer(0)}));
  EXPECT_EQ(merged(Merge::kConcatenated,
                   {Reply::array({Reply::bulk("a")}), Reply::array({Reply::bulk("b")})}),
            Reply::array({Reply::bulk("a"), Reply::bulk("b")}));
}

}  // namespace
}  // namespace rushgate
