// Measures large or frequent deletions, and the records that they leave behind. Prints one line per
// measurement.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/bench/stopwatch.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/engine.h>
#include <rushgate/rocksdb_store.h>

namespace rushgate::bench {
namespace {

constexpr int kSets = 600'000;
constexpr int kRounds = 1'000'000;
constexpr int kElements = 2'000'000;

void say(const std::string& what, double milliseconds) {
  std::printf("%-62s %10.3f ms\n", what.c_str(), milliseconds);
  std::fflush(stdout);
}

class Opened {
 public:
  explicit Opened(const std::filesystem::path& dir) {
    auto store = RocksDbStore::open(dir, {.durability = Durability::kOs});
    if (!store.ok()) fail(store.status());
    auto engine = Engine::open(*std::move(store), {});
    if (!engine.ok()) fail(engine.status());
    engine_ = *std::move(engine);
    client_ = engine_->open_client();
  }

  Reply call(const std::vector<std::string>& words) { return client_->call(request(words)); }
  double milliseconds_of(const std::vector<std::string>& words) {
    const Stopwatch watch;
    if (call(words).is_error()) std::abort();
    return watch.seconds() * 1e3;
  }
  void pipeline(const std::vector<Request>& requests) {
    for (const Reply& reply : client_->pipeline(requests)) {
      if (reply.is_error()) std::abort();
    }
  }
  static Request request(std::span<const std::string> words) {
    Request request;
    for (const std::string& word : words) request.add(word);
    return request;
  }

 private:
  [[noreturn]] static void fail(const absl::Status& status) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    std::exit(1);
  }

  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Client> client_;
};

double milliseconds_to_open(const std::filesystem::path& dir) {
  const Stopwatch watch;
  const Opened opened(dir);
  return watch.seconds() * 1e3;
}

/// Removes many sets of one member by `command`.
void flush(const std::string& command, bool is_among_others) {
  const TemporaryDirectory scratch(TemporaryDirectory::Where::kOnDisk);
  const std::filesystem::path dir = scratch.path() / "keyspace";
  {
    Opened opened(dir);
    constexpr int kAtOnce = 1'000;
    for (int first = 0; first < kSets; first += kAtOnce) {
      if (is_among_others) opened.call({"SELECT", std::to_string(first / kAtOnce % 2)});
      std::vector<Request> requests;
      for (int i = first; i < first + kAtOnce; ++i) {
        const std::string words[] = {"SADD", "set:" + std::to_string(i), "1"};
        requests.push_back(Opened::request(words));
      }
      opened.pipeline(requests);
    }
    const std::string name = command + (is_among_others ? " of half of " : " of ") +
                             std::to_string(kSets) + " sets of one member";
    say(name, opened.milliseconds_of({command}));
    say("  the next SET", opened.milliseconds_of({"SET", "k", "v"}));
    opened.milliseconds_of({"DEL", "k"});
  }
  say("  reopening", milliseconds_to_open(dir));
  say("  reopening again", milliseconds_to_open(dir));
}

/// Deletes collections of `elements` elements, each with one DEL. `fill` is a command that adds
/// many elements, each followed by `behind` unless that is empty.
void delete_each(const std::string& fill, int elements, int count, const std::string& behind) {
  const TemporaryDirectory scratch(TemporaryDirectory::Where::kOnDisk);
  const std::filesystem::path dir = scratch.path() / "keyspace";
  {
    Opened opened(dir);
    const auto key = [](int number) { return "k:" + std::to_string(number); };
    for (int number = 0; number < count; ++number) {
      std::vector<std::string> words = {fill, key(number)};
      for (int i = 0; i < elements; ++i) {
        words.push_back("element " + std::to_string(i));
        if (!behind.empty()) words.push_back(behind);
      }
      opened.call(words);
    }
    const Stopwatch watch;
    for (int number = 0; number < count; ++number) opened.call({"DEL", key(number)});
    say(std::to_string(count) + " DELs of " + std::to_string(elements) + " elements added by " +
            fill,
        watch.seconds() * 1e3);
    say("  the next SET", opened.milliseconds_of({"SET", "k", "v"}));
  }
  say("  reopening", milliseconds_to_open(dir));
  say("  reopening again", milliseconds_to_open(dir));
}

/// Adds the only element of a collection and removes it, repeatedly.
void fill_and_empty(const std::vector<std::string>& fill, const std::vector<std::string>& empty) {
  const TemporaryDirectory scratch(TemporaryDirectory::Where::kOnDisk);
  const std::filesystem::path dir = scratch.path() / "keyspace";
  const std::string name = fill[0] + " and " + empty[0];
  {
    Opened opened(dir);
    const auto rounds = [&](int count) {
      const Stopwatch watch;
      for (int i = 0; i < count; ++i) {
        opened.call(fill);
        opened.call(empty);
      }
      return watch.seconds() * 1e3;
    };
    constexpr int kPart = kRounds / 20;
    say(name + ", the first " + std::to_string(kPart) + " rounds", rounds(kPart));
    rounds(kRounds - 2 * kPart);
    say("  the last " + std::to_string(kPart) + " of " + std::to_string(kRounds), rounds(kPart));
  }
  say("  reopening", milliseconds_to_open(dir));
  Opened opened(dir);
  const Stopwatch watch;
  constexpr int kAfter = kRounds / 20;
  for (int i = 0; i < kAfter; ++i) {
    opened.call(fill);
    opened.call(empty);
  }
  say("  " + std::to_string(kAfter) + " rounds after reopening", watch.seconds() * 1e3);
}

/// Removes one large collection of strings that are not small integers, and measures the delay of
/// the next request. `fill` is a command that adds many elements, each between `before` and
/// `behind` unless these are empty.
void unlink(const std::string& fill, const std::string& before, const std::string& behind) {
  const TemporaryDirectory scratch(TemporaryDirectory::Where::kOnDisk);
  Opened opened(scratch.path() / "keyspace");
  constexpr int kAtOnce = 1'000;
  for (int first = 0; first < kElements; first += kAtOnce) {
    std::vector<std::string> words = {fill, "k"};
    for (int i = first; i < first + kAtOnce; ++i) {
      if (!before.empty()) words.push_back(before);
      words.push_back("element " + std::to_string(i));
      if (!behind.empty()) words.push_back(behind);
    }
    opened.call(words);
  }
  say("UNLINK of " + std::to_string(kElements) + " elements added by " + fill,
      opened.milliseconds_of({"UNLINK", "k"}));
  say("  the next SET", opened.milliseconds_of({"SET", "other", "v"}));
}

}  // namespace
}  // namespace rushgate::bench

int main() {
  using namespace rushgate::bench;
  unlink("SADD", "", "");
  unlink("HSET", "", "a value");
  unlink("ZADD", "1", "");
  unlink("RPUSH", "", "");
  flush("FLUSHALL", false);
  flush("FLUSHDB", false);
  flush("FLUSHDB", true);
  delete_each("HSET", 32, 20'000, "v");
  delete_each("HSET", 65, 20'000, "v");
  delete_each("SADD", 65, 20'000, "");
  delete_each("SADD", 65, 400'000, "");
  fill_and_empty({"RPUSH", "k", "element"}, {"LPOP", "k"});
  fill_and_empty({"SADD", "k", "a", "b"}, {"SREM", "k", "a", "b"});
  fill_and_empty({"XADD", "k", "*", "f", "v"}, {"DEL", "k"});
  return 0;
}
