#include "tests/support/program.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <utility>

#include "adapters/flash_sale/json_text.h"
#include <rushgate/flash_sale.h>

namespace rushgate {
namespace {

std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string& program_path() {
  static std::string path = RUSHGATE_PROGRAM;
  return path;
}

/// Replaces the child process by the program, or ends it.
[[noreturn]] void become(std::vector<std::string>& arguments, const std::filesystem::path& out,
                         const std::filesystem::path& err, int stderr_fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int out_file = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int err_file =
      stderr_fd >= 0 ? stderr_fd : open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(out_file, STDOUT_FILENO);
  dup2(err_file, STDERR_FILENO);
  if (stderr_fd == Program::kClosed) close(STDERR_FILENO);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  _exit(127);
}

}  // namespace

nlohmann::ordered_json ProgramResult::json() const { return parse_trusted_json(out); }

Program::Program(const std::vector<std::string>& arguments, int stderr_fd) {
  start(arguments, stderr_fd, output_.path() / "out");
}

Program::Program(const std::vector<std::string>& arguments, const std::filesystem::path& out) {
  start(arguments, kToFile, out);
}

void Program::start(const std::vector<std::string>& arguments, int stderr_fd,
                    const std::filesystem::path& out) {
  std::vector<std::string> command = {program_path()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (pid_ == 0) become(command, out, output_.path() / "err", stderr_fd);
}

Program::~Program() {
  if (pid_ < 0) return;
  send(SIGKILL);
  wait();
}

void Program::send(int signal) const { kill(pid_, signal); }

bool Program::has_ended() const {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid_;
}

std::string Program::error_text() const { return contents(output_.path() / "err"); }

bool Program::wait_for_error_text(const std::string& text) {
  while (true) {
    const bool ended = has_ended();  // checked first: its last output counts
    if (error_text().find(text) != std::string::npos) return true;
    if (ended) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

ProgramResult Program::wait() {
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  ProgramResult result;
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  result.out = contents(output_.path() / "out");
  result.err = error_text();
  return result;
}

OtherProgram::OtherProgram(const std::filesystem::path& program) {
  program_path() = program.string();
}
OtherProgram::~OtherProgram() { program_path() = RUSHGATE_PROGRAM; }

ProgramResult run_program(const std::vector<std::string>& arguments) {
  return Program(arguments).wait();
}

// ---- Files ------------------------------------------------------------------------------------

void SaleFiles::write_requests(const std::string& text) const {
  std::ofstream(requests(), std::ios::binary) << text;
}

void SaleFiles::write_vouchers(const std::vector<int>& stocks) const {
  constexpr std::int64_t kFarAwayMs = 4'000'000'000'000;
  std::vector<Voucher> all;
  for (const int stock : stocks) {
    Voucher voucher;
    voucher.id = static_cast<VoucherId>(all.size()) + 1;
    voucher.stock = stock;
    voucher.end_ms = kFarAwayMs;
    all.push_back(voucher);
  }
  std::ofstream(vouchers(), std::ios::binary) << format_vouchers(all);
}

std::vector<std::string> SaleFiles::replay(const std::vector<std::string>& more) const {
  std::vector<std::string> arguments = {"replay",   requests(), "--vouchers",
                                        vouchers(), "--dir",    sale().string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<std::string> SaleFiles::command(const std::string& name,
                                            const std::vector<std::string>& more) const {
  std::vector<std::string> arguments = {name, "--dir", sale().string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace rushgate
