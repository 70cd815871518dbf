// The rushgate program as a child process.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/temporary_directory.h"

namespace rushgate {

struct ProgramResult {
  int exit_code = -1;  // -1: a signal ended it
  int signal = 0;
  std::string out;
  std::string err;

  [[nodiscard]] nlohmann::ordered_json json() const;
};

/// A run of the program. The destructor ends it by SIGKILL.
class Program {
 public:
  /// Values of `stderr_fd` other than a descriptor: a file, or closed.
  static constexpr int kToFile = -1;
  static constexpr int kClosed = -2;
  explicit Program(const std::vector<std::string>& arguments, int stderr_fd = kToFile);
  /// Runs the program with this file as its stdout.
  Program(const std::vector<std::string>& arguments, const std::filesystem::path& out);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void send(int signal) const;
  [[nodiscard]] bool has_ended() const;
  /// Waits until stderr contains `text`. Returns false if the program ended without writing it.
  bool wait_for_error_text(const std::string& text);
  /// Returns what it has written to stderr.
  [[nodiscard]] std::string error_text() const;
  /// Waits until the program ends.
  ProgramResult wait();

 private:
  void start(const std::vector<std::string>& arguments, int stderr_fd,
             const std::filesystem::path& out);

  const TemporaryDirectory output_;
  pid_t pid_ = -1;  // -1: waited for already
};

/// While it lives, the program of another version is run.
class OtherProgram {
 public:
  explicit OtherProgram(const std::filesystem::path& program);
  ~OtherProgram();
  OtherProgram(const OtherProgram&) = delete;
  OtherProgram& operator=(const OtherProgram&) = delete;
};

ProgramResult run_program(const std::vector<std::string>& arguments);

/// A directory with requests.csv and vouchers.json, and the place of a sale next to them.
class SaleFiles {
 public:
  void write_requests(const std::string& text) const;
  /// Writes vouchers 1, 2, … with these stocks, on sale, one per user.
  void write_vouchers(const std::vector<int>& stocks) const;

  [[nodiscard]] std::string requests() const { return (scratch_.path() / "requests.csv").string(); }
  [[nodiscard]] std::string vouchers() const {
    return (scratch_.path() / "vouchers.json").string();
  }
  [[nodiscard]] std::filesystem::path sale() const { return scratch_.path() / "sale"; }

  /// Returns `replay requests.csv --vouchers vouchers.json --dir sale`, followed by `more`.
  [[nodiscard]] std::vector<std::string> replay(const std::vector<std::string>& more = {}) const;
  /// Returns `<name> --dir sale`, followed by `more`.
  [[nodiscard]] std::vector<std::string> command(const std::string& name,
                                                 const std::vector<std::string>& more = {}) const;

 private:
  const TemporaryDirectory scratch_;
};

}  // namespace rushgate
