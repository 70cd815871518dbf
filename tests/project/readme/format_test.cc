// The examples in docs/format.md, byte for byte. The commands in docs/differences.md. The project
// in docs/testing-with-rushgate.md.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "tests/support/null_store.h"
#include "tests/support/request_words.h"
#include <rushgate/clock.h>
#include <rushgate/engine.h>

namespace rushgate {
namespace {

std::string contents(const char* file) {
  std::ifstream in(std::filesystem::path(RUSHGATE_ROOT) / file, std::ios::binary);
  EXPECT_TRUE(in) << file;
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string hex(std::string_view bytes) {
  return bytes.empty() ? "-" : absl::BytesToHexString(std::string(bytes));
}

/// Prints one line per operation.
class Printer final : public StoreBatch::Visitor {
 public:
  explicit Printer(std::string& out) : out_(out) {}

  void put(std::string_view key, std::string_view value) override {
    line("put " + hex(key) + ' ' + hex(value));
  }
  void remove(std::string_view key) override { line("remove " + hex(key)); }
  void remove_range(std::string_view begin, std::string_view end) override {
    line("remove-range " + hex(begin) + ' ' + hex(end));
  }
  void append_segment(std::uint64_t stream, StreamId first, std::string_view bytes) override {
    line("append-segment " + std::to_string(stream) + ' ' + first.to_string() + ' ' + hex(bytes));
  }
  void trim_stream(std::uint64_t stream, StreamId before) override {
    line("trim-stream " + std::to_string(stream) + ' ' + before.to_string());
  }
  void remove_segment(std::uint64_t stream, StreamId first) override {
    line("remove-segment " + std::to_string(stream) + ' ' + first.to_string());
  }
  void drop_streams(std::uint64_t first, std::uint64_t last) override {
    line("drop-streams " + std::to_string(first) + ' ' + std::to_string(last));
  }

 private:
  void line(const std::string& text) { out_ += "  " + text + '\n'; }

  std::string& out_;
};

/// Prints each batch.
class PrintingStore final : public NullStore {
 public:
  explicit PrintingStore(std::string& out) : out_(out) {}

  absl::Status commit(const StoreBatch& batch) override {
    Printer printer(out_);
    batch.visit(printer);
    return absl::OkStatus();
  }

 private:
  std::string& out_;
};

/// Runs groups of commands, one commit per group, at the fixed time 1700000000000.
std::string transcript(const std::vector<std::vector<std::string>>& groups) {
  std::string out;
  ManualClock clock;
  auto engine = Engine::open(std::make_unique<PrintingStore>(out), {.manual_clock = &clock});
  EXPECT_TRUE(engine.ok()) << engine.status();
  const auto client = (*engine)->open_client();
  for (const auto& group : groups) {
    std::vector<Request> requests;
    for (const std::string& command : group) {
      out += "> " + command + '\n';
      requests.push_back(testing::request_of(command));
    }
    for (const Reply& reply : client->pipeline(requests)) {
      EXPECT_FALSE(reply.is_error()) << to_debug_string(reply);
    }
  }
  return out;
}

void expect_documented(const std::string& text) {
  EXPECT_NE(contents("docs/format.md").find("```text\n" + text + "```\n"), std::string::npos)
      << "docs/format.md must have this:\n"
      << text;
}

TEST(FormatTest, StateRecordsAreAsDocumented) {
  expect_documented(transcript({
      {"SET n 100"},
      {"SET t hi PX 60000"},
      {"SADD s 1001 vip"},
      {"HSET h 1001 2"},
      {"ZADD z 100 1001 2.5 vip"},
      {"ZREM z vip"},
      {"SREM s vip"},
      {"DEL s"},
  }));
}

TEST(FormatTest, ListRecordsAreAsDocumented) {
  expect_documented(transcript({
      {"RPUSH l a c"},
      {"LINSERT l BEFORE c b"},
      {"LPUSH l 7"},
      {"LSET l 1 x"},
      {"RPOP l"},
      {"LTRIM l 0 0"},
      {"DEL l"},
  }));
}

TEST(FormatTest, StreamRecordsAreAsDocumented) {
  expect_documented(transcript({
      {"XADD o * user 1001 note hi", "XADD o * user 1003 note yo"},
      {"XGROUP CREATE o g1 0"},
      {"XREADGROUP GROUP g1 c1 COUNT 1 STREAMS o >"},
      {"XACK o g1 1700000000000-0"},
      {"XADD o 1700000000005-0 user 9"},
      {"XDEL o 1700000000000-1"},
      {"XTRIM o MAXLEN 1"},
      {"DEL o"},
  }));
}

TEST(FormatTest, LibraryRecordsAreAsDocumented) {
  std::string out;
  ManualClock clock;
  auto engine = Engine::open(std::make_unique<PrintingStore>(out), {.manual_clock = &clock});
  ASSERT_TRUE(engine.ok()) << engine.status();
  const auto client = (*engine)->open_client();
  const auto run = [&](const std::string& shown, const Request& request) {
    out += "> " + shown + '\n';
    EXPECT_FALSE(client->call(request).is_error());
  };
  run(R"__(FUNCTION LOAD "#!lua name=l\nredis.register_function('f', function() end)")__",
      Request::of("FUNCTION", "LOAD",
                  "#!lua name=l\nredis.register_function('f', function() end)"));
  run("FUNCTION DELETE l", Request::of("FUNCTION", "DELETE", "l"));
  expect_documented(out);
}

TEST(TestingPageTest, PageShowsInstalledProject) {
  const std::string page = contents("docs/testing-with-rushgate.md");
  const auto expect_shown = [&](const std::string& name, const std::string& language) {
    const std::string shown = "<!-- " + name + " -->\n```" + language + "\n" +
                              contents(("tests/project/install/" + name).c_str()) +
                              "```\n<!-- end of " + name + " -->\n";
    EXPECT_NE(page.find(shown), std::string::npos)
        << "docs/testing-with-rushgate.md must have this:\n"
        << shown;
  };
  expect_shown("shop_project.cmake", "cmake");
  expect_shown("shop_test.cc", "cpp");
}

TEST(FormatTest, StoreFormatIsAsDocumented) {
  const std::string code = contents("storage/rocksdb/include/rushgate/rocksdb_store.h");
  const std::string page = contents("docs/format.md");
  constexpr std::string_view kDefinition = "kStoreFormat = ";
  const std::size_t begin = code.find(kDefinition) + kDefinition.size();
  const std::string format = code.substr(begin, code.find(';', begin) - begin);
  for (const std::string& text : {"rocksdb_store.h`, now " + format + ", is the version",
                                  "the format version, in decimal: `" + format + '`'}) {
    EXPECT_NE(page.find(text), std::string::npos) << "docs/format.md must have this: " << text;
  }
}

TEST(FormatTest, SqliteSchemaIsAsDocumented) {
  const std::string code = contents("storage/sqlite/schema.cc");
  const std::string page = contents("docs/format.md");
  constexpr std::string_view kOpening = "R\"sql(\n";
  int migrations = 0;
  for (std::size_t begin = code.find(kOpening); begin != std::string::npos;
       begin = code.find(kOpening, begin + 1)) {
    const std::size_t end = code.find(")sql\"", begin);
    ASSERT_NE(end, std::string::npos);
    const std::string sql = code.substr(begin + kOpening.size(), end - begin - kOpening.size());
    EXPECT_NE(page.find("```sql\n" + sql + "```\n"), std::string::npos)
        << "docs/format.md must have this:\n"
        << sql;
    ++migrations;
  }
  const std::string version = std::to_string(migrations);
  for (const std::string& text :
       {"`PRAGMA user_version`, now " + version + ", is the version of the schema.",
        "`PRAGMA user_version` | the version of the schema: " + version + " |"}) {
    EXPECT_NE(page.find(text), std::string::npos) << "docs/format.md must have this: " << text;
  }
}

}  // namespace
}  // namespace rushgate
