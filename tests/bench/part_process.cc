#include "tests/bench/part_process.h"

#include <fcntl.h>
#include <malloc.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "tests/bench/shop.h"

extern char** environ;

namespace rushgate::bench {
namespace {

constexpr const char* kFlag = "--part";

}  // namespace

// ---- Inside the process ----

bool run_part_if_told(std::span<const Part> parts, int argc, char** argv) {
  if (argc < 3 || std::string_view(argv[1]) != kFlag) return false;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto part = std::ranges::find(parts, std::string_view(argv[2]), &Part::name);
  if (part == parts.end()) fail("no part " + std::string(argv[2]));
  part->run(std::vector<std::string>(argv + 3, argv + argc));
  return true;
}

void say(std::initializer_list<double> numbers) {
  for (const double number : numbers) std::printf("%.17g ", number);
  std::printf("\n");
  std::fflush(stdout);
}

void wait_for_the_end() {
  for (;;) ::pause();
}

ProcessMemory process_memory() {
  std::ifstream statm("/proc/self/statm");
  double all_pages = 0;
  double resident_pages = 0;
  statm >> all_pages >> resident_pages;
  const struct mallinfo2 heap = ::mallinfo2();
  return {.resident = resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE)),
          .allocated = static_cast<double>(heap.uordblks + heap.hblkhd)};
}

double directory_bytes(const std::filesystem::path& dir) {
  double bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir)) {
    if (entry.is_regular_file()) bytes += static_cast<double>(entry.file_size());
  }
  return bytes;
}

// ---- Outside the process ----

PartProcess::PartProcess(std::string_view part, const std::vector<std::string>& arguments)
    : name_(part) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail("no pipe");
  std::vector<std::string> words = {"rush_bench", kFlag, name_};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const int error = ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) fail("cannot start part " + name_);
  lines_ = ::fdopen(ends[0], "r");
}

std::vector<double> PartProcess::numbers() {
  char* line = nullptr;
  std::size_t capacity = 0;
  const bool read = ::getline(&line, &capacity, lines_) > 0;
  std::istringstream words(read ? line : "");
  std::free(line);
  if (!read) fail("part " + name_ + " ended without a word");
  std::vector<double> numbers;
  for (double number = 0; words >> number;) numbers.push_back(number);
  return numbers;
}

void PartProcess::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
  std::fclose(lines_);
}

std::vector<double> first_numbers(std::string_view part,
                                  const std::vector<std::string>& arguments) {
  return PartProcess(part, arguments).numbers();
}

}  // namespace rushgate::bench
