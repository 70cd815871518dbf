// What must be measured in a process of its own, for it is the process that is measured: what it
// takes of memory, its start, what is left of it when it was killed.
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

/// One that rush_bench runs, started as `rush_bench --part <name> <argument>...`.
struct Part {
  std::string_view name;
  void (*run)(std::span<const std::string> arguments);
};

void hold_buyers(std::span<const std::string> arguments);   // count..., ascending
void hold_entries(std::span<const std::string> arguments);  // directory, count
void sell(std::span<const std::string> arguments);          // directory, count, batch
void reopen(std::span<const std::string> arguments);        // directory
void start(std::span<const std::string> arguments);         // directory
void idle(std::span<const std::string> arguments);          // directory, seconds
void serve(std::span<const std::string> arguments);         // directory, unix socket

/// Runs the part of `parts` that main() was told to run; false if it was told none.
bool run_part_if_told(std::span<const Part> parts, int argc, char** argv);

/// In a part: a line for PartProcess::numbers().
void say(std::initializer_list<double> numbers);
/// In a part: until it is killed.
[[noreturn]] void wait_for_the_end();

/// A part, from outside. It is killed with this object at the latest. fail()s if it fails. Not
/// thread-safe.
class PartProcess {
 public:
  PartProcess(std::string_view part, const std::vector<std::string>& arguments);
  ~PartProcess() { kill(); }
  PartProcess(const PartProcess&) = delete;
  PartProcess& operator=(const PartProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Waits for its next line.
  std::vector<double> numbers();
  /// SIGKILL; returns when it is gone.
  void kill();

 private:
  const std::string name_;
  pid_t pid_ = -1;  // -1: it is gone
  std::FILE* lines_ = nullptr;
};

/// The first line of a part, which is killed then.
std::vector<double> first_numbers(std::string_view part, const std::vector<std::string>& arguments);

/// What this process holds.
struct ProcessMemory {
  double resident = 0;   // bytes, as the system sees it
  double allocated = 0;  // bytes, as the allocator sees it
};
ProcessMemory process_memory();

/// Of all files in it and below.
double directory_bytes(const std::filesystem::path& dir);

}  // namespace rushgate::bench
