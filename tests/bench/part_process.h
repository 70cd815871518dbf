// Measurements of a whole process: its memory, its start, and the files that it leaves when killed.
// Each runs in a process of its own.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rushgate::bench {

/// A measurement that rush_bench runs as `rush_bench --part <name> <argument>...`.
struct Part {
  std::string_view name;
  void (*run)(std::span<const std::string> arguments);
};

void hold_buyers(std::span<const std::string> arguments);     // count..., ascending
void hold_entries(std::span<const std::string> arguments);    // directory, count
void hold_keys(std::span<const std::string> arguments);       // type, count
void sell(std::span<const std::string> arguments);            // directory, count, batch
void reopen(std::span<const std::string> arguments);          // directory
void start(std::span<const std::string> arguments);           // directory
void idle(std::span<const std::string> arguments);            // directory, seconds
void serve(std::span<const std::string> arguments);           // directory, unix socket
void serve_sale(std::span<const std::string> arguments);      // directory, unix socket
void serve_http(std::span<const std::string> arguments);      // directory; it says its port
void serve_constant(std::span<const std::string> arguments);  // none; it says its port
void serve_node(std::span<const std::string> arguments);  // those of http_peer.js, without the keys

/// Runs the part of `parts` that the command line names. Returns false if it names none.
bool run_part_if_told(std::span<const Part> parts, int argc, char** argv);

/// Prints a line for PartProcess::numbers(). Called in a part.
void say(std::initializer_list<double> numbers);
/// Blocks until the process is killed. Called in a part.
[[noreturn]] void wait_for_the_end();

/// Runs a part in another process, and kills it on destruction. Calls fail() if the part fails. Not
/// thread-safe.
class PartProcess {
 public:
  PartProcess(std::string_view part, const std::vector<std::string>& arguments);
  ~PartProcess() { kill(); }
  PartProcess(const PartProcess&) = delete;
  PartProcess& operator=(const PartProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Waits for the next line of the part and returns its numbers.
  std::vector<double> numbers();
  /// Sends SIGKILL and waits for the end of the process.
  void kill();

 private:
  const std::string name_;
  pid_t pid_ = -1;  // -1: not running
  std::FILE* lines_ = nullptr;
};

/// Runs a part, returns its first line, and kills it.
std::vector<double> first_numbers(std::string_view part, const std::vector<std::string>& arguments);

/// Memory of this process.
struct ProcessMemory {
  double resident = 0;   // bytes, reported by the system
  double allocated = 0;  // bytes, reported by the allocator
};
ProcessMemory process_memory();

/// Returns the total size of all files in `dir` and below.
double directory_bytes(const std::filesystem::path& dir);

}  // namespace rushgate::bench
