// The rushgate program as a child process.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/temporary_directory.h"

namespace rushgate {

struct ProgramResult {
  int exit_code = -1;  // -1: a signal ended it
  int signal = 0;
  std::string out;
  std::string err;

  [[nodiscard]] nlohmann::ordered_json json() const { return nlohmann::ordered_json::parse(out); }
};

/// A run of it. It ends, by SIGKILL, with this object at the latest.
class Program {
 public:
  /// Its stderr is a file, unless it shall be that of the caller's or closed.
  static constexpr int kToFile = -1;
  static constexpr int kClosed = -2;
  explicit Program(const std::vector<std::string>& arguments, int stderr_fd = kToFile);
  /// Its stdout is this file.
  Program(const std::vector<std::string>& arguments, const std::filesystem::path& out);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void send(int signal) const;
  [[nodiscard]] bool has_ended() const;
  /// Waits until it has written `text` to stderr. False if it ended without.
  bool wait_for_error_text(const std::string& text);
  /// Waits until it ends.
  ProgramResult wait();

 private:
  void start(const std::vector<std::string>& arguments, int stderr_fd,
             const std::filesystem::path& out);

  const TemporaryDirectory output_;
  pid_t pid_ = -1;  // -1: it was waited for
};

ProgramResult run_program(const std::vector<std::string>& arguments);

/// A directory with requests.csv and vouchers.json, and room for a sale beside them.
class SaleFiles {
 public:
  void write_requests(const std::string& text) const;
  /// Vouchers 1, 2, … with these stocks, on sale, one per user.
  void write_vouchers(const std::vector<int>& stocks) const;

  [[nodiscard]] std::string requests() const { return (scratch_.path() / "requests.csv").string(); }
  [[nodiscard]] std::string vouchers() const {
    return (scratch_.path() / "vouchers.json").string();
  }
  [[nodiscard]] std::filesystem::path sale() const { return scratch_.path() / "sale"; }

  /// replay requests.csv --vouchers vouchers.json --dir sale, and `more`.
  [[nodiscard]] std::vector<std::string> replay(const std::vector<std::string>& more = {}) const;
  /// <name> --dir sale, and `more`.
  [[nodiscard]] std::vector<std::string> command(const std::string& name,
                                                 const std::vector<std::string>& more = {}) const;

 private:
  const TemporaryDirectory scratch_;
};

}  // namespace rushgate
