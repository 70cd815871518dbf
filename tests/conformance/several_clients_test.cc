// Compares effects between clients of one server within one packet with a redis-server. A killed
// client is gone at once, and woken clients continue in their order.
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/conformance/side_by_side.h"
#include "tests/support/redis_server/raw_connection.h"

namespace rushgate::testing {
namespace {

/// Clients of one server, named by letters.
class Clients {
 public:
  Clients(std::string path, int protocol) : path_(std::move(path)), protocol_(protocol) {
    ids_["$address"] = path_ + ":0";
    control_.call(Request::of("FLUSHALL"));
  }

  /// Runs a line. "a: GET k ; GET l": client a sends a packet and gets its replies. "a! …": its
  /// last command blocks. "a+ …": a is blocked, and these commands run later. "a?": a becomes
  /// blocked again. "a.": the server closes the connection of a. $a stands for the CLIENT ID of a,
  /// $address for the address of all clients.
  void play(const std::string& line) {
    const char name = line.at(0);
    const char kind = line.at(1);
    if (kind == '.') {
      heard_[name] += client(name).receive_all();
      clients_.erase(name);
      return;
    }
    if (kind == '?') {
      while (!is_waiting(name)) continue;
      return;
    }
    const std::vector<Request> packet = requests_in(line.substr(3));
    if (kind == ':') {
      heard_[name] += absl::StrJoin(client(name).exchange(packet), "");
      return;
    }
    for (const Request& request : packet) client(name).send(request);
    while (kind == '!' && !is_waiting(name)) continue;
    // The server has read the packet when it replies to a later client.
    for (int i = 0; i < 2; ++i) control_.call(Request::of("PING"));
  }

  /// Returns all bytes received, by client. No client is blocked any more.
  std::map<char, std::string> heard() {
    for (auto& [name, client] : clients_) {
      client->send(Request::of("ECHO", "the end"));
      std::string reply;
      do {
        reply = client->receive();
        heard_[name] += reply;
      } while (!absl::StrContains(reply, "the end"));
    }
    return heard_;
  }

 private:
  RawConnection& client(char name) {
    auto& client = clients_[name];
    if (client == nullptr) {
      client = std::make_unique<RawConnection>(path_);
      client->call(Request::of("HELLO", protocol_));
      ids_[absl::StrCat("$", std::string(1, name))] =
          absl::StrCat(client->call(Request::of("CLIENT", "ID")).integer());
    }
    return *client;
  }

  std::vector<Request> requests_in(std::string_view text) {
    std::vector<Request> requests;
    for (const absl::string_view words :
         absl::StrSplit(absl::string_view(text.data(), text.size()), " ; ")) {
      Request& request = requests.emplace_back();
      const std::string replaced = absl::StrReplaceAll(words, ids_);
      const std::vector<std::string> arguments = absl::StrSplit(replaced, ' ');
      for (const std::string& argument : arguments) request.add(argument);
    }
    return requests;
  }

  bool is_waiting(char name) {
    const std::string& id = ids_.at(absl::StrCat("$", std::string(1, name)));
    const std::string line = control_.call(Request::of("CLIENT", "LIST", "ID", id)).text();
    return absl::StrContains(line, " flags=b ") || absl::StrContains(line, " flags=bU ");
  }

  const std::string path_;
  const int protocol_;
  RawConnection control_{path_};
  std::map<char, std::unique_ptr<RawConnection>> clients_;
  std::map<std::string, std::string> ids_;  // by variable
  std::map<char, std::string> heard_;
};

class SeveralClientsTest : public ::testing::TestWithParam<int> {
 protected:
  void expect_alike(const std::vector<std::string>& lines) const {
    SCOPED_TRACE(absl::StrJoin(lines, "\n"));
    EXPECT_EQ(play(servers_.ours(), lines), play(servers_.redis(), lines));
  }

 private:
  static std::map<char, std::string> play(const std::string& path,
                                          const std::vector<std::string>& lines) {
    Clients clients(path, GetParam());
    for (const std::string& line : lines) clients.play(line);
    return clients.heard();
  }

  const SideBySide servers_;
};

TEST_P(SeveralClientsTest, KilledClientIsNotServed) {
  expect_alike({"a! BLPOP k 0", "b: CLIENT KILL ID $a ; RPUSH k 1", "a.", "b: LLEN k"});
  expect_alike({"a! BLPOP k 0", "c! BLPOP k 0", "b: CLIENT KILL ID $a ; RPUSH k 1", "a."});
  expect_alike({"a! BLPOP k 0", "b: MULTI ; RPUSH k 1 2 ; CLIENT KILL ID $a ; EXEC", "a.",
                "b: LRANGE k 0 -1"});
  expect_alike(
      {"a! BLMOVE k q LEFT LEFT 0", "b: CLIENT KILL ID $a ; RPUSH k 1 ; LRANGE q 0 -1", "a."});
  expect_alike({"b: XGROUP CREATE s g $ MKSTREAM", "a! XREADGROUP GROUP g c BLOCK 0 STREAMS s >",
                "b: CLIENT KILL ID $a ; XADD s 1-1 a b ; XPENDING s g", "a."});
  expect_alike({"a! BLPOP k 0", "b: CLIENT KILL ID $a ; CLIENT UNBLOCK $a", "a."});
}

TEST_P(SeveralClientsTest, KilledClientRunsNothingMore) {
  expect_alike(
      {"a! BLPOP k 0", "a+ SET x 1", "b: CLIENT KILL ID $a ; RPUSH k 1 ; GET x", "a.", "b: GET x"});
  expect_alike({"a: WATCH k ; MULTI ; SET x 1", "b: CLIENT KILL ID $a ; GET x", "a."});
}

TEST_P(SeveralClientsTest, AllClientsOfAddressAreKilled) {
  expect_alike({"a: PING", "c: PING", "b: CLIENT KILL $address", "a.", "c.", "b.", "d: PING"});
}

TEST_P(SeveralClientsTest, KilledClientIsNotFound) {
  expect_alike({"a: PING", "b: CLIENT KILL ID $a ; CLIENT LIST ID $a ; CLIENT KILL ID $a", "a."});
  expect_alike(
      {"a: SUBSCRIBE x", "a: PSUBSCRIBE x*", "a: SSUBSCRIBE x",
       "b: CLIENT KILL ID $a ; PUBLISH x m ; SPUBLISH x m ; PUBSUB NUMSUB x ; PUBSUB NUMPAT",
       "a."});
}

TEST_P(SeveralClientsTest, WokenClientsContinueInOrder) {
  expect_alike({"a! BLPOP k1 0", "b! BLPOP k2 0", "b+ RPOPLPUSH k1 q", "a+ BRPOPLPUSH k1 q 0",
                "n: RPUSH k2 1 ; RPUSH k1 2 ; RPUSH k1 x y z"});
  expect_alike({"a! BLPOP k 0", "b! BLPOP k2 0", "a+ BLPOP k 0", "b+ LPOP k",
                "n: RPUSH k2 2 ; RPUSH k 1 2", "a?", "n: RPUSH k 3"});
  expect_alike({"n: RPUSH s 1 2 3", "a! BLPOP k 0", "b! BLPOP k 0", "a+ RPUSH z a",
                "b+ BLMOVE s z LEFT RIGHT 0", "n: RPUSH k 1 ; RPUSH k 2"});
  expect_alike({"a! BLPOP k 0", "b! BLPOP k2 0", "a+ XREAD BLOCK 0 STREAMS s 0", "b+ DEL s",
                "n: XADD s 1-1 a b ; RPUSH k2 2 ; RPUSH k 1", "a?", "n: CLIENT UNBLOCK $a"});
}

INSTANTIATE_TEST_SUITE_P(Protocols, SeveralClientsTest, ::testing::Values(2, 3));

}  // namespace
}  // namespace rushgate::testing
