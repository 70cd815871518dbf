#include "tests/project/structure/include_rules.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace rushgate::structure {
namespace {

/// Returns the rules broken by a file with the one line `#include <what>`.
std::vector<std::string> rules_broken(std::string_view file, std::string_view what) {
  std::vector<std::string> rules;
  for (const Violation& violation : check_includes(file, "#include " + std::string(what) + "\n")) {
    rules.push_back(violation.rule);
  }
  return rules;
}

void expect_allowed(std::string_view file, std::string_view what) {
  EXPECT_EQ(rules_broken(file, what), std::vector<std::string>{}) << file << " includes " << what;
}

void expect_broken(std::string_view file, std::string_view what, std::string_view rule) {
  EXPECT_EQ(rules_broken(file, what), std::vector<std::string>{std::string(rule)})
      << file << " includes " << what;
}

TEST(IncludeRulesTest, ModulesIncludeLowerModules) {
  expect_allowed("engine/redis/keyspace/hash.cc", R"("engine/redis/keyspace/hash.h")");
  expect_allowed("engine/redis/keyspace/hash.cc", R"("engine/core/base/numbers.h")");
  expect_allowed("engine/redis/executor/turn.h", R"("engine/redis/commands/table.h")");
  expect_allowed("engine/sale/worker/order_worker.cc", R"("engine/core/client/reply_status.h")");
  expect_allowed("storage/rocksdb/store.cc", R"("engine/core/base/varint.h")");
  expect_allowed("apps/main.cc", R"("storage/rocksdb/store.h")");
  expect_allowed("tests/unit/sale/buy_test.cc", R"("adapters/redis/client.h")");
}

TEST(IncludeRulesTest, ModulesNeverIncludeHigherModules) {
  expect_broken("engine/core/base/numbers.h", R"("engine/core/time/clock.h")",
                "engine/core/base must not include engine/core/time/clock.h");
  expect_broken("engine/redis/keyspace/hash.cc", R"("engine/core/client/reply.h")",
                "engine/redis/keyspace must not include engine/core/client/reply.h");
  expect_broken("engine/redis/executor/turn.cc", R"("engine/sale/sale_parts.h")",
                "engine/redis/executor must not include engine/sale/sale_parts.h");
  expect_broken("engine/sale/sale.cc", R"("engine/redis/executor/turn.h")",
                "engine/sale must not include engine/redis/executor/turn.h");
  expect_broken("engine/core/client/client.h", R"(<engine/redis/keyspace/hash.h>)",
                "engine/core/client must not include engine/redis/keyspace/hash.h");
}

TEST(IncludeRulesTest, OnlyAppsAndTestsWireStoragesAndAdapters) {
  expect_broken("engine/sale/sale.cc", R"("storage/sqlite/orders.h")",
                "engine/sale must not include storage/sqlite/orders.h");
  expect_broken("storage/rocksdb/store.cc", R"("storage/memory/store.h")",
                "storage/rocksdb must not include storage/memory/store.h");
  expect_broken("adapters/redis/client.cc", R"("storage/memory/store.h")",
                "adapters/redis must not include storage/memory/store.h");
  expect_broken("apps/main.cc", R"("tests/support/temp_dir.h")",
                "apps must not include tests/support/temp_dir.h");
}

TEST(IncludeRulesTest, StoreAndAdapterIncludePortOnly) {
  expect_broken("storage/rocksdb/store.cc", R"("engine/redis/executor/turn.h")",
                "storage/rocksdb must not include engine/redis/executor/turn.h");
  expect_broken("storage/sqlite/query.h", "<rushgate/store.h>",
                "storage/sqlite must not include rushgate/store.h");
  expect_broken("adapters/resp/resp_connection.cc", R"("engine/redis/keyspace/object.h")",
                "adapters/resp must not include engine/redis/keyspace/object.h");
  expect_broken("adapters/redis/redis_line.cc", R"("engine/redis/commands/dispatch.h")",
                "adapters/redis must not include engine/redis/commands/dispatch.h");
}

TEST(IncludeRulesTest, PublicHeaderBelongsToModule) {
  expect_allowed("engine/redis/commands/list_commands.cc", "<rushgate/reply.h>");
  expect_allowed("storage/rocksdb/store.cc", "<rushgate/store.h>");
  expect_allowed("engine/core/include/rushgate/client.h", "<rushgate/reply.h>");
  expect_allowed("engine/core/include/rushgate/client.h", R"("absl/status/status.h")");
  expect_broken("engine/redis/keyspace/hash.cc", "<rushgate/reply.h>",
                "engine/redis/keyspace must not include rushgate/reply.h");
  expect_broken("engine/core/include/rushgate/clock.h", "<rushgate/client.h>",
                "engine/core/time must not include rushgate/client.h");
  expect_broken("engine/redis/commands/list_commands.cc", R"("rushgate/reply.h")",
                "rushgate/reply.h is a public header, which needs <>");
  expect_broken("apps/main.cc", "<rushgate/other.h>",
                "rushgate/other.h is not in the table of public headers");
}

TEST(IncludeRulesTest, PublicHeaderIncludesNoPrivateHeader) {
  expect_broken("engine/core/include/rushgate/client.h", R"("engine/core/client/thread_wait.h")",
                "a public header must not include engine/core/client/thread_wait.h");
  expect_broken("adapters/redis/include/rushgate/redis_backend.h",
                R"("engine/core/base/numbers.h")",
                "a public header must not include engine/core/base/numbers.h");
}

TEST(IncludeRulesTest, EngineDoesNoInputOrOutput) {
  expect_broken("engine/core/store/store.h", "<rocksdb/db.h>",
                "engine/ must not include rocksdb/db.h");
  expect_broken("engine/core/store/store.h", R"("rocksdb/db.h")",
                "engine/ must not include rocksdb/db.h");
  expect_broken("engine/sale/sale_parts.h", "<sqlite3.h>", "engine/ must not include sqlite3.h");
  expect_broken("engine/core/client/client.cc", "<sys/socket.h>",
                "engine/ must not include sys/socket.h");
  expect_broken("engine/core/client/client.cc", "<boost/asio.hpp>",
                "engine/ must not include boost/asio.hpp");
  expect_allowed("storage/rocksdb/store.cc", "<rocksdb/db.h>");
  expect_allowed("adapters/redis/client.cc", "<hiredis/hiredis.h>");
}

TEST(IncludeRulesTest, OnlyFiberFilesIncludeBoostFiber) {
  expect_broken("engine/redis/executor/turn.cc", "<boost/fiber/all.hpp>",
                "engine/ must not include boost/fiber/all.hpp");
  expect_allowed("engine/core/client/fiber_wait.cc", "<boost/fiber/all.hpp>");
}

TEST(IncludeRulesTest, IncludesStartAtRoot) {
  expect_broken("engine/core/client/client.cc", R"("client.h")",
                "\"client.h\" is not written from the root of the repository");
  expect_allowed("engine/core/client/client.cc", R"("absl/strings/str_cat.h")");
}

TEST(IncludeRulesTest, PrivateHeaderOfLibraryIsRefused) {
  expect_broken("engine/core/base/sha1.cc", "<boost/uuid/detail/sha1.hpp>",
                "boost/uuid/detail/sha1.hpp is private to its library");
  expect_broken("apps/stderr_log.cc", "<spdlog/details/log_msg.h>",
                "spdlog/details/log_msg.h is private to its library");
  expect_allowed("apps/stderr_log.cc", "<spdlog/sinks/base_sink.h>");
}

TEST(IncludeRulesTest, FileOutsideModulesIsNamed) {
  expect_broken("engine/extra/x.h", R"("engine/core/base/numbers.h")",
                "engine/extra/x.h is in no module of the table");
}

TEST(IncludeRulesTest, AnyIncludeStyleIsChecked) {
  const std::vector<Violation> violations =
      check_includes("engine/core/base/x.h",
                     "#pragma once\n"
                     "// #include \"engine/sale/sale_parts.h\"\n"
                     "#include <string>\n"
                     "\n"
                     " #  include\t\"engine/sale/sale_parts.h\"");
  ASSERT_EQ(violations.size(), 1U);
  EXPECT_EQ(violations[0].file, "engine/core/base/x.h");
  EXPECT_EQ(violations[0].line, 5U);
  EXPECT_EQ(violations[0].rule, "engine/core/base must not include engine/sale/sale_parts.h");
}

}  // namespace
}  // namespace rushgate::structure
