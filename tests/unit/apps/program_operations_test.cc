// What an operator uses: commands beside a running service, backups, and notices to systemd.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "adapters/flash_sale/json_text.h"
#include "apps/exit_code.h"
#include "tests/support/http_program.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace rushgate {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::HttpProgram;
using testing::HttpReply;

constexpr const char* kTerms = R"({"stock": 5, "begin_ms": 0, "end_ms": "2999-01-01"})";

std::string buy_at(const HttpProgram& served, const std::string& user) {
  const HttpReply reply =
      served.call("POST", "/v1/vouchers/7/orders", R"({"user": ")" + user + "\"}");
  EXPECT_EQ(reply.status, 201) << reply.body;
  return reply.json().value("order", "");
}

TEST(ProgramOperationsTest, CommandsAskTheServiceOfTheirDirectory) {
  const SaleFiles files;
  HttpProgram served({"--dir", files.sale().string()});
  ASSERT_EQ(served.call("PUT", "/v1/vouchers/7", kTerms).status, 201);
  const std::string order = buy_at(served, "anna");
  const ProgramResult vouchers = run_program(files.command("vouchers", {"--json"}));
  EXPECT_EQ(parse_trusted_json(vouchers.out)[0]["free"], 4) << vouchers.err;
  EXPECT_EQ(run_program(files.command("status", {order})).exit_code, kExitOk);
  EXPECT_EQ(run_program(files.command("audit")).exit_code, kExitOk);
  EXPECT_EQ(run_program(files.command("close", {"7"})).exit_code, kExitOk);
  EXPECT_EQ(served.call("POST", "/v1/vouchers/7/orders", R"({"user": "bob"})").status, 409);
  served.stop();
  EXPECT_FALSE(fs::exists(files.sale() / "service.json"));
}

TEST(ProgramOperationsTest, AddressOfKilledServiceIsIgnored) {
  const SaleFiles files;
  HttpProgram served({"--dir", files.sale().string()});
  ASSERT_EQ(served.call("PUT", "/v1/vouchers/7", kTerms).status, 201);
  served.kill();
  ASSERT_TRUE(fs::exists(files.sale() / "service.json"));
  EXPECT_EQ(run_program(files.command("audit")).exit_code, kExitOk);
}

TEST(ProgramOperationsTest, BackupOfServiceIsRestored) {
  const SaleFiles files;
  const TemporaryDirectory backups;
  HttpProgram served({"--dir", files.sale().string(), "--backups", backups.path().string()});
  ASSERT_EQ(served.call("PUT", "/v1/vouchers/7", kTerms).status, 201);
  const std::string order = buy_at(served, "anna");
  ASSERT_EQ(served.call("POST", "/v1/backup").status, 202);
  nlohmann::ordered_json state = {{"state", "running"}};
  while (state["state"] == "running") state = served.call("GET", "/v1/backup").json();
  EXPECT_EQ(state["state"], "done") << state;

  const TemporaryDirectory place;
  const std::string restored = (place.path() / "shop").string();
  const auto restore = [&](const std::string& dir) {
    return run_program({"restore", backups.path().string(), "--dir", dir});
  };
  EXPECT_THAT(restore(files.sale().string()).err, HasSubstr("is in use by"));
  EXPECT_EQ(restore(restored).exit_code, kExitOk);
  EXPECT_EQ(run_program({"audit", "--dir", restored}).exit_code, kExitOk);
  EXPECT_EQ(run_program({"status", "--dir", restored, order}).exit_code, kExitOk);
  served.stop();

  const ProgramResult again =
      run_program(files.command("backup", {backups.path().string(), "--keep", "1", "--json"}));
  EXPECT_EQ(again.exit_code, kExitOk) << again.err;
  EXPECT_TRUE(parse_trusted_json(again.out)["has_keyspace"]);
}

/// Runs `backup … --json`, and returns the path that it reports.
std::string path_of_backup(const std::vector<std::string>& command) {
  const ProgramResult made = run_program(command);
  EXPECT_EQ(made.exit_code, kExitOk) << made.err;
  return made.exit_code == kExitOk ? made.json().value("backup", "") : "";
}

TEST(ProgramOperationsTest, BackupCommandAsksTheService) {
  const SaleFiles files;
  const TemporaryDirectory place;
  const std::string backups = (place.path() / "backups").string();
  const HttpProgram served({"--dir", files.sale().string(), "--backups", backups});
  const std::string found =
      path_of_backup(files.command("backup", {backups + "/", "--keep", "2", "--json"}));
  EXPECT_EQ(fs::path(found).parent_path(), backups);
  const std::string url = "http://127.0.0.1:" + std::to_string(served.port());
  const std::string asked = path_of_backup({"backup", "--server", url, "--keep", "1", "--json"});
  EXPECT_TRUE(fs::exists(fs::path(asked) / "backup.json"));
  EXPECT_FALSE(fs::exists(found));

  const ProgramResult elsewhere =
      run_program(files.command("backup", {(place.path() / "other").string()}));
  EXPECT_EQ(elsewhere.exit_code, kExitFailure);
  EXPECT_THAT(elsewhere.err, HasSubstr("makes its backups in " + backups));
  EXPECT_FALSE(fs::exists(place.path() / "other"));
}

TEST(ProgramOperationsTest, ServiceWithoutBackupsSaysSo) {
  const SaleFiles files;
  const HttpProgram served({"--dir", files.sale().string()});
  const ProgramResult refused = run_program(files.command("backup", {"/tmp/none"}));
  EXPECT_NE(refused.exit_code, kExitOk);
  EXPECT_THAT(refused.err, HasSubstr("serve --backups"));
}

/// A socket like systemd's.
class NoticeSocket {
 public:
  NoticeSocket() : file_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::ranges::copy(path(), address.sun_path);
    EXPECT_EQ(::bind(file_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    ::setenv("NOTIFY_SOCKET", path().c_str(), 1);
    ::setenv("WATCHDOG_USEC", "100000", 1);
  }
  ~NoticeSocket() {
    ::unsetenv("NOTIFY_SOCKET");
    ::unsetenv("WATCHDOG_USEC");
    ::close(file_);
  }
  NoticeSocket(const NoticeSocket&) = delete;
  NoticeSocket& operator=(const NoticeSocket&) = delete;

  [[nodiscard]] std::string receive() const {
    std::array<char, 64> notice{};
    const ssize_t bytes = ::recv(file_, notice.data(), notice.size(), 0);
    return {notice.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0};
  }

 private:
  [[nodiscard]] std::string path() const { return (dir_.path() / "notify").string(); }

  const TemporaryDirectory dir_{TemporaryDirectory::Where::kInTmp};
  const int file_;
};

TEST(ProgramOperationsTest, SystemdHearsReadinessWatchdogAndEnd) {
  const NoticeSocket systemd;
  const SaleFiles files;
  HttpProgram served({"--dir", files.sale().string()});
  EXPECT_EQ(systemd.receive(), "READY=1");
  EXPECT_EQ(systemd.receive(), "WATCHDOG=1");
  EXPECT_EQ(systemd.receive(), "WATCHDOG=1");
  served.program().send(SIGTERM);
  std::string last = systemd.receive();
  while (last == "WATCHDOG=1") last = systemd.receive();
  EXPECT_EQ(last, "STOPPING=1");
  EXPECT_EQ(served.program().wait().exit_code, kExitOk);
}

}  // namespace
}  // namespace rushgate
