// DUMP and RESTORE between a redis-server and Rushgate: each restores the payloads of the other one
// to the same value with the same encoding.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/rdb/payload.h"
#include "tests/conformance/side_by_side.h"
#include "tests/support/random.h"
#include "tests/support/redis_server/raw_connection.h"
#include <rushgate/random_seed.h>

namespace rushgate::testing {
namespace {

using Requests = std::vector<Request>;
using Words = std::vector<std::string>;

/// Returns a request: words, then more words.
Request request_with(const Words& words, const Words& more = {}) {
  Request request;
  for (const std::string& word : words) request.add(word);
  for (const std::string& word : more) request.add(word);
  return request;
}

std::string sorted(const Reply& reply, std::size_t step) {
  Words parts;
  for (std::size_t i = 0; i < reply.elements().size(); i += step) {
    std::string part;
    for (std::size_t j = i; j < i + step; ++j) part += to_debug_string(reply.elements()[j]) + ' ';
    parts.push_back(part);
  }
  std::ranges::sort(parts);
  std::string text;
  for (const std::string& part : parts) text += part + ", ";
  return text;
}

/// Replaces the value that follows a name in a flat map.
void blank_field(Reply& map, std::string_view name) {
  std::vector<Reply>& elements = map.mutable_elements();
  for (std::size_t i = 0; i + 1 < elements.size(); i += 2) {
    if (elements[i].text() == name) elements[i + 1] = Reply::nil();
  }
}

class DumpTest : public ::testing::Test {
 protected:
  DumpTest() {
    for (RawConnection* const server : servers_) server->call(Request::of("FLUSHALL"));
  }

  static std::string value_of(RawConnection& server, const std::string& key) {
    const auto call = [&](const auto&... words) { return server.call(Request::of(words...)); };
    const std::string type = call("TYPE", key).text();
    if (type == "string") return to_debug_string(call("GET", key));
    if (type == "list") return to_debug_string(call("LRANGE", key, 0, -1));
    if (type == "set") return sorted(call("SMEMBERS", key), 1);
    if (type == "hash") return sorted(call("HGETALL", key), 2);
    if (type == "zset") return to_debug_string(call("ZRANGE", key, 0, -1, "WITHSCORES"));
    if (type == "none") return type;
    Reply stream = call("XINFO", "STREAM", key, "FULL", "COUNT", 0);
    blank_field(stream, "radix-tree-keys");
    blank_field(stream, "radix-tree-nodes");
    return to_debug_string(stream) + to_debug_string(call("XINFO", "GROUPS", key));
  }
  static std::string value_and_encoding_of(RawConnection& server, const std::string& key) {
    return value_of(server, key) +
           to_debug_string(server.call(Request::of("OBJECT", "ENCODING", key)));
  }
  static std::string dump(RawConnection& server, const std::string& key) {
    return server.call(Request::of("DUMP", key)).text();
  }
  static Reply restore(RawConnection& server, const std::string& payload) {
    return server.call(Request::of("RESTORE", "restored", 0, payload, "REPLACE"));
  }

  /// Expects that both servers restore the payload to this value, with one encoding.
  void expect_restored(const std::string& payload, const std::string& value) {
    for (RawConnection* const server : servers_) {
      EXPECT_EQ(restore(*server, payload), Reply::ok());
      EXPECT_EQ(value_of(*server, "restored"), value);
    }
    EXPECT_EQ(value_and_encoding_of(ours_, "restored"), value_and_encoding_of(redis_, "restored"));
  }

  /// Runs the requests, which create "key", on both, and exchanges the payloads of the result.
  void exchange(const Requests& requests) {
    for (RawConnection* const server : servers_) {
      server->call(Request::of("DEL", "key"));
      for (const Request& request : requests) {
        EXPECT_FALSE(server->call(request).is_error()) << request[0] << ' ' << request[1];
      }
    }
    const std::string value = value_of(redis_, "key");
    expect_restored(dump(redis_, "key"), value);
    expect_restored(dump(ours_, "key"), value);
  }

  /// As exchange(), but only the redis-server runs the requests, because their result depends on
  /// the time.
  void exchange_from_redis(const Requests& requests) {
    redis_.call(Request::of("DEL", "key"));
    for (const Request& request : requests) {
      EXPECT_FALSE(redis_.call(request).is_error()) << request[0] << ' ' << request[1];
    }
    const std::string value = value_of(redis_, "key");
    expect_restored(dump(redis_, "key"), value);
    expect_restored(dump(ours_, "restored"), value);
  }

  void set_in_both(const std::string& parameter, int value) {
    for (RawConnection* const server : servers_) {
      EXPECT_EQ(server->call(Request::of("CONFIG", "SET", parameter, value)), Reply::ok());
    }
  }

  SideBySide servers_running_{{},
                              {"--enable-debug-command", "yes", "--sanitize-dump-payload", "yes"}};
  RawConnection ours_{servers_running_.ours()};
  RawConnection redis_{servers_running_.redis()};
  const std::vector<RawConnection*> servers_ = {&ours_, &redis_};
};

/// Integers near the limits of each size.
Words integers() {
  Words integers = {"0", "-1", "9223372036854775807", "-9223372036854775808"};
  for (int bits = 6; bits < 63; ++bits) {
    for (const std::int64_t near : {-1, 0}) {
      integers.push_back(std::to_string((std::int64_t{1} << bits) + near));
      integers.push_back(std::to_string(-(std::int64_t{1} << bits) + near));
    }
  }
  return integers;
}

/// Strings around the limits of each form, some of which Redis compresses.
Words strings() {
  Words strings = {
      "", "a", "007", "-0", "+1", "1.5", std::string("\0\n\xff", 3), "9223372036854775808"};
  for (const std::size_t size : std::initializer_list<std::size_t>{
           19, 20, 21, 62, 63, 64, 65, 126, 4'095, 4'096, 16'376, 16'377, 16'378, 16'383, 16'384}) {
    strings.push_back(std::string(size, 'x'));
    strings.push_back({});
    for (std::size_t i = 0; i < size; ++i) {
      strings.back() += static_cast<char>(i * i * i / 7 + i);
    }
  }
  return strings;
}

// ---- Types and encodings ----

TEST_F(DumpTest, StringsAreExchanged) {
  for (const std::string& string : integers()) exchange({Request::of("SET", "key", string)});
  for (const std::string& string : strings()) exchange({Request::of("SET", "key", string)});
  exchange({Request::of("SET", "key", std::string(2'000'000, 'x'))});
  exchange({Request::of("SET", "key", 12), Request::of("APPEND", "key", 3)});
}

TEST_F(DumpTest, ListsAreExchanged) {
  exchange({request_with({"RPUSH", "key"}, integers())});
  exchange({request_with({"RPUSH", "key"}, strings())});
  exchange({Request::of("RPUSH", "key", "a", std::string(2'097'146, 'x'), "b")});
  Words many;
  for (int i = 0; i < 5'000; ++i) many.push_back("element" + std::to_string(i));
  exchange({request_with({"RPUSH", "key"}, many)});
}

TEST_F(DumpTest, PlainNodesOfListsAreRestored) {
  redis_.call(Request::of("DEBUG", "QUICKLIST-PACKED-THRESHOLD", "10b"));
  exchange({Request::of("RPUSH", "key", "a", std::string(20, 'x'), "", "b", std::string(300, 'y'),
                        "1234567890123")});
}

TEST_F(DumpTest, SetsAreExchanged) {
  exchange({Request::of("SADD", "key", 1, 2, -3)});
  exchange({Request::of("SADD", "key", 1, 70'000)});
  exchange({request_with({"SADD", "key"}, integers())});
  exchange({request_with({"SADD", "key"}, strings())});
  exchange({Request::of("SADD", "key", "a", 1), Request::of("SREM", "key", "a")});
  Words many;
  for (int i = 0; i < 600; ++i) many.push_back(std::to_string(i));
  exchange({request_with({"SADD", "key"}, many)});
}

TEST_F(DumpTest, HashesAreExchanged) {
  Words small;
  for (const std::string& integer : integers()) {
    small.insert(small.end(), {integer, "value of " + integer, 'f' + integer, integer});
  }
  exchange({request_with({"HSET", "key"}, small)});
  Words large;
  for (const std::string& string : strings()) large.insert(large.end(), {string, string});
  exchange({request_with({"HSET", "key"}, large)});
  exchange({Request::of("HSET", "key", "a", std::string(65, 'x'), "b", 1),
            Request::of("HDEL", "key", "a")});
}

TEST_F(DumpTest, SortedSetsAreExchanged) {
  const Words scores = {"0",
                        "-0",
                        "1",
                        "-1.5",
                        "inf",
                        "-inf",
                        "0.1",
                        "1e300",
                        "-1e-300",
                        "17179869184",
                        "9007199254740993",
                        "1e18"};
  Words members;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    members.insert(members.end(), {scores[i], "m" + std::to_string(i), scores[i], "5" + scores[i]});
  }
  exchange({request_with({"ZADD", "key"}, members)});
  members.insert(members.end(), {"3", std::string(65, 'x')});
  exchange({request_with({"ZADD", "key"}, members)});
  exchange(
      {request_with({"ZADD", "key"}, members), Request::of("ZREM", "key", std::string(65, 'x'))});
  exchange({Request::of("ZADD", "key", 1, std::string(65, 'x'), "-0", "z")});
}

TEST_F(DumpTest, LimitsAtRestoreDecideEncodings) {
  const Words parameters = {"hash-max-listpack-entries", "hash-max-listpack-value",
                            "zset-max-listpack-entries", "zset-max-listpack-value",
                            "set-max-intset-entries"};
  for (const std::string& parameter : parameters) {
    const int usual =
        std::stoi(redis_.call(Request::of("CONFIG", "GET", parameter)).elements()[1].text());
    for (const Request& request : {Request::of("HSET", "key", "a", std::string(30, 'x'), "b", 1),
                                   Request::of("ZADD", "key", 1, std::string(30, 'x'), 2, "b"),
                                   Request::of("SADD", "key", 1, 2)}) {
      set_in_both(parameter, usual);
      exchange({request});
      std::vector<std::string> payloads = {dump(ours_, "key"), dump(redis_, "key")};
      const std::string value = value_of(redis_, "key");
      set_in_both(parameter, 1);
      for (const std::string& payload : payloads) expect_restored(payload, value);
      for (RawConnection* const server : servers_) payloads.push_back(dump(*server, "key"));
      set_in_both(parameter, usual);
      for (const std::string& payload : payloads) expect_restored(payload, value);
    }
  }
}

// ---- Streams ----

/// Returns requests that add entries with several sets of fields.
Requests entries() {
  Requests requests;
  for (int i = 1; i <= 450; ++i) {
    const std::string id = std::to_string(i / 3) + '-' + std::to_string(1 + i % 3 * (1 + i % 9));
    const std::string number = std::to_string(i * i * (i % 2 == 0 ? 1 : -1));
    const std::string text(static_cast<std::size_t>(i), 'x');
    requests.push_back(
        i % 10 == 0 ? Request::of("XADD", "key", id, "other", text)
                    : Request::of("XADD", "key", id, "number", number, "text", 't' + number));
  }
  return requests;
}

void add(Requests& requests, const Words& lines) {
  for (const std::string& line : lines) {
    Request request;
    std::size_t begin = 0;
    while (begin < line.size()) {
      const std::size_t end = std::min(line.find(' ', begin), line.size());
      request.add(line.substr(begin, end - begin));
      begin = end + 1;
    }
    requests.push_back(std::move(request));
  }
}

TEST_F(DumpTest, EntriesAreExchanged) {
  Requests requests = entries();
  exchange(requests);
  add(requests, {"XADD key 900-18446744073709551615 f 1", "XADD key 901-0 f 2",
                 "XADD key 18446744073709551615-5 f 3"});
  exchange(requests);
  add(requests, {"XDEL key 900-18446744073709551615 18446744073709551615-5 5-0 6-0 7-0 8-0"});
  exchange(requests);
  add(requests, {"XTRIM key MAXLEN 120"});
  exchange(requests);
  add(requests, {"XSETID key 18446744073709551615-7 ENTRIESADDED 9223372036854775807 MAXDELETEDID "
                 "18446744073709551615-6"});
  exchange(requests);
  add(requests, {"XTRIM key MAXLEN 0"});
  exchange(requests);
}

TEST_F(DumpTest, GroupsAreExchanged) {
  Requests requests;
  for (int i = 1; i <= 40; ++i) requests.push_back(Request::of("XADD", "key", i, "f", i));
  add(requests,
      {"XGROUP CREATE key g 0", "XGROUP CREATE key new $",
       "XGROUP CREATE key far 99-9 ENTRIESREAD 9223372036854775807",
       "XGROUP CREATE key behind 3 ENTRIESREAD 2", "XREADGROUP GROUP g one COUNT 9 STREAMS key >",
       "XREADGROUP GROUP g two COUNT 7 STREAMS key >", "XREADGROUP GROUP behind one STREAMS key >",
       "XGROUP CREATECONSUMER key g idle", "XACK key g 2-0 12-0", "XDEL key 4-0 13-0",
       "XCLAIM key g three 0 1-0 14-0 TIME 1700000000000 RETRYCOUNT 77"});
  exchange_from_redis(requests);
}

TEST_F(DumpTest, GreatCountersAreExchanged) {
  Requests requests;
  add(requests,
      {"XADD key 1-1 f 1", "XSETID key 2-2 ENTRIESADDED 9223372036854775807 MAXDELETEDID 0-0",
       "XGROUP CREATE key g 0 ENTRIESREAD 9223372036854775807", "XADD key 3-1 f 1",
       "XADD key 4-1 f 1", "XREADGROUP GROUP g c STREAMS key >"});
  exchange_from_redis(requests);
}

TEST_F(DumpTest, EmptyStreamIsExchanged) {
  Requests requests;
  add(requests, {"XGROUP CREATE key g $ MKSTREAM", "XGROUP CREATECONSUMER key g c"});
  exchange_from_redis(requests);
}

// ---- Changed payloads ----

/// Returns payloads of every encoding, from both servers.
class ChangedPayloadTest : public DumpTest {
 protected:
  ChangedPayloadTest() {
    take({"SET key abc"});
    take({"SET key 70000"});
    take({"SET key abababababababababababababab"});
    take({"RPUSH key a b 1 300 70000 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"});
    take({"SADD key 1 2 3"});
    take({"SADD key 1 2 a bc"});
    take({"HSET key a 1 bc -5000 300 d"});
    take({"HSET key a 1 b " + std::string(70, 'x')});
    take({"ZADD key 1 a 2.5 b -7 c"});
    take({"ZADD key 1 a 2.5 b -inf " + std::string(70, 'x')});
    take({"XADD key 1-1 f 1 g x", "XADD key 1-2 f 2 g y", "XADD key 2-0 h 3", "XDEL key 1-2",
          "XGROUP CREATE key g 0", "XGROUP CREATE key h $",
          "XREADGROUP GROUP g c COUNT 1 STREAMS key >", "XREADGROUP GROUP g d STREAMS key >"});
  }

  std::string changed_payload(Random& random) {
    std::string payload = random.pick(payloads_);
    constexpr std::size_t kFooterBytes = 10;
    payload.resize(payload.size() - kFooterBytes);
    for (std::size_t left = 1 + random.below(3); left > 0 && !payload.empty(); --left) {
      change(payload, random);
    }
    rdb::seal(payload);
    return payload;
  }

 private:
  void take(const Words& lines) {
    Requests requests;
    add(requests, lines);
    for (RawConnection* const server : servers_) {
      server->call(Request::of("DEL", "key"));
      for (const Request& request : requests) server->call(request);
      payloads_.push_back(dump(*server, "key"));
    }
  }
  static void change(std::string& bytes, Random& random) {
    const std::size_t place = random.below(bytes.size());
    switch (random.below(4)) {
      case 0:
        bytes[place] ^= static_cast<char>(1 << random.below(8));
        return;
      case 1:
        bytes[place] = static_cast<char>(random.chance(50) ? random.below(256) : 0xff);
        return;
      case 2:
        bytes.erase(place, 1 + random.below(4));
        return;
      default:
        bytes.insert(place, bytes.substr(random.below(bytes.size()), 1 + random.below(8)));
    }
  }

  std::vector<std::string> payloads_;
};

/// Rushgate checks more than Redis.
TEST_F(ChangedPayloadTest, PayloadRefusedByRedisIsRefused) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  Random random(seed);
  for (int i = 0; i < 5'000 && !HasFailure(); ++i) {
    const std::string payload = changed_payload(random);
    const Reply reply = restore(ours_, payload);
    if (reply.is_error()) {
      EXPECT_EQ(reply, Reply::error("ERR Bad data format"));
      continue;
    }
    ASSERT_EQ(restore(redis_, payload), Reply::ok()) << to_debug_string(Reply::bulk(payload));
    if (ours_.call(Request::of("TYPE", "restored")) != Reply::status("stream")) {
      // Redis keeps the recorded first id of a stream without a check.
      EXPECT_EQ(value_and_encoding_of(ours_, "restored"),
                value_and_encoding_of(redis_, "restored"));
    }
    const std::string value = value_of(ours_, "restored");
    expect_restored(dump(ours_, "restored"), value);
  }
}

}  // namespace
}  // namespace rushgate::testing
