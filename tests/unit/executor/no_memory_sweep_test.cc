// Makes each allocation of each command fail once. The command then has no effect or its whole
// effect, the engine continues, and store and memory agree.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/support/faults/failing_allocator.h"
#include "tests/unit/executor/engine_fixture.h"
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using faults::FaultyStore;
using How = AllocationsFail::How;

/// Splits a command at its spaces.
Request request_of(const std::string& words) {
  Request request;
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(words, ' '))) {
    request.add(word);
  }
  return request;
}

/// An engine on a store that outlives it.
class Shop {
 public:
  Shop() { open(); }

  void open() {
    client_ = nullptr;
    engine_ = nullptr;
    engine_ = open_engine({.manual_clock = &clock_}, {},
                          std::make_unique<FaultyStore>(static_cast<Store&>(store_)));
    client_ = engine_->open_client();
  }
  Reply run(const std::string& words) { return client_->call(request_of(words)); }
  Client& client() { return *client_; }
  [[nodiscard]] bool is_healthy() const { return engine_->health().ok(); }

  /// Returns all data that the keyspace shows.
  std::string state() {
    std::vector<std::string> keys;
    for (const char* const db : {"0", "1"}) {
      run(std::string("SELECT ") + db);
      const Reply names = run("KEYS *");
      for (const Reply& key : names.elements()) {
        keys.push_back(std::string(db) + '/' + key.text() + ": " + state_of(key.text()));
      }
    }
    run("SELECT 0");
    std::sort(keys.begin(), keys.end());
    keys.push_back(to_debug_string(run("FUNCTION LIST WITHCODE")));
    return absl::StrJoin(keys, "\n");
  }

 private:
  std::string state_of(const std::string& key) {
    const std::string type = run("TYPE " + key).text();
    std::string state = type + " until " + to_debug_string(run("PEXPIRETIME " + key)) + ' ';
    if (type == "string") return state + to_debug_string(run("GET " + key));
    if (type == "list") return state + to_debug_string(run("LRANGE " + key + " 0 -1"));
    if (type == "zset") {
      return state + to_debug_string(run("ZRANGE " + key + " 0 -1 WITHSCORES")) +
             to_debug_string(run("ZCOUNT " + key + " -inf +inf"));
    }
    if (type == "set") return state + sorted(run("SMEMBERS " + key), 1);
    if (type == "hash") return state + sorted(run("HGETALL " + key), 2);
    return state + to_debug_string(run("XINFO STREAM " + key + " FULL")) +
           to_debug_string(run("XRANGE " + key + " - +"));
  }
  static std::string sorted(const Reply& reply, std::size_t step) {
    std::vector<std::string> items;
    for (std::size_t i = 0; i < reply.elements().size(); i += step) {
      items.push_back(reply.elements()[i].text());
      if (step == 2) items.back() += '=' + reply.elements()[i + 1].text();
    }
    std::sort(items.begin(), items.end());
    return absl::StrJoin(items, ",");
  }

  MemoryStore store_{{.keep_state = true}};
  ManualClock clock_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Client> client_;
};

/// Returns the source of a library. It has no space.
std::string library(const std::string& name, const std::string& function) {
  return "#!lua\tname=" + name + "\nredis.register_function('" + function +
         "',function()return(1)end)";
}

/// Returns the commands that create the data before each swept command.
const std::vector<std::string>& setup() {
  static const std::vector<std::string> kCommands = [] {
    std::vector<std::string> made{"SET string text",
                                  "SET long " + std::string(100, 'x'),
                                  "SET number 7",
                                  "SET soon 1 PX 1000",
                                  "SET later text PX 100000",
                                  "HSET hash 1 1 2 two three 3 four four",
                                  "HSET small 1 1",
                                  "SADD integers 1 2 3",
                                  "SADD texts a b " + std::string(50, 'c'),
                                  "SADD mixed 1 a",
                                  "SADD single a",
                                  "ZADD zset 1 one 2 two 3 three",
                                  "RPUSH list a 1 b 2 c 3 a " + std::string(40, 'l'),
                                  "RPUSH lone a",
                                  "LPUSH heads 1 2 3",
                                  "XADD stream 1-1 a 1",
                                  "XADD stream 2-1 a 2 b text",
                                  "XADD stream 3-1 a 3",
                                  "XADD stream 4-1 a 4",
                                  "XGROUP CREATE stream g 0",
                                  "XGROUP CREATECONSUMER stream g other",
                                  "XREADGROUP GROUP g c COUNT 3 STREAMS stream >",
                                  "XADD gaps 1-1 a 1",
                                  "XADD gaps 2-1 a 1",
                                  "XADD gaps 3-1 a 1",
                                  "XDEL gaps 2-1",
                                  "FUNCTION LOAD " + library("old", "old")};
    std::string many_members = "SADD marked";
    std::string removed = "SREM marked";
    for (int i = 0; i < 1'003; ++i) {
      many_members += ' ' + std::to_string(i);
      if (i >= 3) removed += ' ' + std::to_string(i);
    }
    made.push_back(many_members);
    made.push_back(removed);  // the next removal rewrites the set
    std::string many_scores = "ZADD scores";
    std::string many_elements = "RPUSH elements";
    for (int i = 0; i < 300; ++i) {
      many_scores += ' ' + std::to_string(i) + " m" + std::to_string(i);
      many_elements += " element" + std::string(60, 'e') + std::to_string(i);
    }
    made.push_back(many_scores);
    made.push_back(many_elements);
    return made;
  }();
  return kCommands;
}

/// Returns a request that restores the payload of `key` as the value of another key.
std::string restore_of(const std::string& key) {
  return "EVAL return(redis.call('RESTORE','made',0,redis.call('DUMP',KEYS[1]))) 1 " + key;
}

std::vector<std::string> commands() {
  return {
      // ---- Any key ----
      "DEL string hash mixed zset list stream later",
      "RENAME later hash",
      "COPY hash made",
      "COPY mixed made",
      "COPY zset made",
      "COPY list made",
      "COPY stream made",
      restore_of("hash"),
      restore_of("mixed"),
      restore_of("zset"),
      restore_of("list"),
      restore_of("stream"),
      "MOVE later 1",
      "SWAPDB 0 1",
      "FLUSHALL",
      "PEXPIRE string 5000",
      "PEXPIRE later 5000",
      "PERSIST later",
      // ---- Strings ----
      "SET made text PX 100",
      "SET long short",
      "SET later text",
      "SET hash text",
      "MSET made 1 string 2 other xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
      "APPEND string xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
      "SETRANGE long 50 yyyyy",
      "SETRANGE number 100 y",
      "SETBIT made 1000 1",
      "SETBIT long 3 0",
      "SETBIT number 800 1",
      "BITOP NOT made long",
      "BITOP AND string long number",
      "BITFIELD string SET u8 0 1 INCRBY i64 500 7 OVERFLOW FAIL SET u4 900 16",
      "INCRBYFLOAT number 1.5",
      "INCR number",
      "GETDEL long",
      // ---- Hashes ----
      "HSET made 1 1 2 two three 3",
      "HSET hash 1 one 2 2 three 33 four xxxxxxxxxxxxxxxxxxxxxxxxxxxxx five 5 6 6 7 7 8 8 9 9",
      "HDEL hash 1 2 three four",
      "HDEL small 1",
      "HINCRBY hash 1 5",
      // ---- Sets ----
      "SADD made 1 2 a",
      "SADD mixed 2 3 4 5 6 7 8 9 10 11 12 b xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
      "SREM mixed 1 a",
      "SREM texts a",
      "SPOP texts 3",  // all, since a choice among them would be random
      "SREM marked 1",
      "SMOVE texts single a",
      "SMOVE single mixed a",
      "SUNIONSTORE made integers texts mixed",
      // ---- Sorted sets ----
      "ZADD made 1 a 2 b",
      "ZADD zset 5 one 0 three 7 seven 8 eight",
      "ZREM zset one two three",
      "ZINCRBY scores 500 m10",
      "ZREMRANGEBYRANK scores 10 250",
      "ZPOPMIN scores 100",
      "ZUNIONSTORE made 2 zset scores",
      // ---- Lists ----
      "RPUSH list x 5 yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
      "LPUSH list x 5 yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
      "RPUSH made 1 2 3",
      "LPOP list 3",
      "RPOP list 3",
      "LPOP elements 200",
      "RPOP elements 200",
      "LPOP lone",
      "LMOVE list elements LEFT RIGHT",
      "LMOVE elements list RIGHT LEFT",
      "LTRIM elements 100 199",
      "LTRIM elements 0 10",
      "LSET list 1 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
      "LSET elements 5 " + std::string(3'000, 'x'),
      "LINSERT list BEFORE b x",
      "LREM list 0 a",
      "LREM elements 1 element" + std::string(60, 'e') + "150",
      // ---- Streams ----
      "XADD made * a 1 b text",
      "XADD stream 5-1 a 1 b text",
      "XADD stream MAXLEN 2 5-1 a 1",
      "XGROUP CREATE stream h 0",
      "XGROUP SETID stream g 0",
      "XGROUP DESTROY stream g",
      "XGROUP CREATECONSUMER stream g made",
      "XGROUP DELCONSUMER stream g c",
      "XREADGROUP GROUP g c STREAMS stream >",
      "XREADGROUP GROUP g fresh STREAMS stream >",
      "XACK stream g 1-1 2-1",
      "XCLAIM stream g other 0 1-1 2-1",
      "XDEL stream 2-1 3-1",
      "XTRIM gaps MAXLEN 1",
      "XSETID stream 9-1",
      // ---- Functions ----
      "FUNCTION LOAD " + library("made", "made"),
      "FUNCTION LOAD REPLACE " + library("old", "made"),
      "FUNCTION DELETE old",
      "FUNCTION FLUSH",
  };
}

/// Returns one request that changes every type.
Request script() {
  return Request::of(
      "EVAL",
      "redis.call('SET','string',2) redis.call('APPEND','long','abc') redis.call('DEL','later')"
      "redis.call('HSET','hash','1','x','5',5) redis.call('SADD','mixed','x',9)"
      "redis.call('SREM','texts','a') redis.call('ZADD','zset',9,'one',8,'eight')"
      "redis.call('ZREM','scores','m7') redis.call('RPUSH','list','x')"
      "redis.call('LPOP','elements') redis.call('LREM','list',0,'a')"
      "redis.call('LSET','elements',5,string.rep('x',3000)) redis.call('LTRIM','elements',20,250)"
      "redis.call('XADD','stream','9-1','a','1') redis.call('XACK','stream','g','1-1')"
      "redis.call('XDEL','stream','2-1') redis.call('PEXPIRE','single',100)"
      "redis.call('RENAME','soon','now') return 1",
      0);
}

std::unique_ptr<Shop> set_up() {
  auto shop = std::make_unique<Shop>();
  for (const std::string& words : setup()) shop->run(words);
  return shop;
}

/// Returns the state after `request` without a failure.
std::string state_after(const Request& request) {
  const auto shop = set_up();
  const Reply reply = shop->client().call(request);
  EXPECT_FALSE(reply.is_error()) << to_debug_string(reply);
  return shop->state();
}

/// Makes each allocation of the request fail in turn, with kFrom all later ones too. Each time the
/// shop must be as before the request, or as after it.
void sweep(const Request& request, How how, const std::string& wanted) {
  constexpr std::uint64_t kReopenEvery = 16;
  auto shop = set_up();
  const std::string old = shop->state();
  bool has_failed = true;
  for (std::uint64_t before = 0; has_failed && !::testing::Test::HasFailure(); ++before) {
    SCOPED_TRACE("allocation " + std::to_string(before));
    Request copy = request;
    Reply reply;
    {
      const AllocationsFail failing(how, before);
      reply = shop->client().call(std::move(copy));
    }
    has_failed = AllocationsFail::has_failed();
    const bool is_done = !reply.is_error();
    if (!is_done) {
      EXPECT_EQ(reply, Reply::error("OOM no memory"));
    }
    EXPECT_EQ(shop->state(), is_done ? wanted : old);
    EXPECT_TRUE(shop->is_healthy());
    if (!is_done && before % kReopenEvery != 0) continue;
    shop->open();
    EXPECT_EQ(shop->state(), is_done ? wanted : old) << "state in the store";
    if (is_done && has_failed) shop = set_up();
  }
}

void sweep(const Request& request) {
  const std::string wanted = state_after(request);
  for (const How how : {How::kOnce, How::kFrom}) {
    SCOPED_TRACE(how == How::kOnce ? "one allocation fails" : "all later ones fail too");
    sweep(request, how, wanted);
  }
}

TEST(NoMemorySweepTest, CommandIsDoneOrUndone) {
  for (const std::string& words : commands()) {
    SCOPED_TRACE(words.substr(0, 60));
    sweep(request_of(words));
  }
}

TEST(NoMemorySweepTest, RestoredLibrariesAreThereOrNot) {
  const auto shop = set_up();
  shop->run("FUNCTION LOAD " + library("made", "made"));
  const std::string payload = shop->run("FUNCTION DUMP").text();
  sweep(Request::of("FUNCTION", "RESTORE", payload, "REPLACE"));
}

TEST(NoMemorySweepTest, ScriptOverEveryTypeIsDoneOrUndone) { sweep(script()); }

}  // namespace
}  // namespace rushgate
