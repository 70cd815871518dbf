// Feeds the files of a folder to one of the fuzzers without libFuzzer. Then feeds RUSHGATE_FUZZ_INPUTS
// (default 10,000) random mutations of them.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/fuzz.h"
#include "tests/support/random.h"
#include "tests/support/sweep.h"
#include <rushgate/random_seed.h>

/// Provided by a sanitizer, if one is linked.
// NOLINTNEXTLINE(readability-identifier-naming,bugprone-reserved-identifier): theirs
extern "C" void __sanitizer_set_death_callback(void (*)()) __attribute__((weak));

namespace rushgate::fuzz {
namespace {

namespace fs = std::filesystem;
using testing::Random;

constexpr std::string_view kInsertedWords[] = {"0",
                                               "-1",
                                               "9223372036854775807",
                                               "-9223372036854775808",
                                               "18446744073709551616",
                                               "1e308",
                                               "\r",
                                               "\r\n",
                                               "$536870912\r\n",
                                               "*-1\r\n",
                                               "18446744073709551615",
                                               "nan",
                                               "%",
                                               "%f[",
                                               "[^",
                                               "1-1",
                                               "18446744073709551615-0",
                                               "*"};

/// A range of the bytes, maybe empty.
struct Stretch {
  std::size_t begin;
  std::size_t size;
};
Stretch stretch_of(std::string_view bytes, Random& random) {
  constexpr std::size_t kLongest = 32;
  const std::size_t begin = random.below(bytes.size() + 1);
  return {begin, std::min(random.below(kLongest), bytes.size() - begin)};
}

void change(std::string& bytes, std::span<const std::string> corpus, Random& random) {
  const Stretch place = stretch_of(bytes, random);
  switch (random.below(7)) {
    case 0:  // a bit
      if (!bytes.empty())
        bytes[random.below(bytes.size())] ^= static_cast<char>(1 << random.below(8));
      return;
    case 1:  // a byte
      if (!bytes.empty()) bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
      return;
    case 2:
      bytes.erase(place.begin, place.size);
      return;
    case 3: {  // repeats a range somewhere
      const std::string copied = bytes.substr(place.begin, place.size);
      bytes.insert(random.below(bytes.size() + 1), copied);
      return;
    }
    case 4:
      bytes.replace(place.begin, place.size, random.pick(kInsertedWords));
      return;
    case 5: {  // the end of another file
      const std::string& other = random.pick(corpus);
      bytes = bytes.substr(0, place.begin) + other.substr(random.below(other.size() + 1));
      return;
    }
    default:  // a four-byte number, as in headers
      for (std::size_t i = 0; i < 4 && place.begin + i < bytes.size(); ++i) {
        bytes[place.begin + i] = static_cast<char>(random.chance(50) ? 0xff : random.below(4));
      }
      return;
  }
}

std::string made_of(std::span<const std::string> corpus, Random& random) {
  constexpr std::size_t kLongest = 4'096;
  std::string bytes = random.pick(corpus);
  for (std::size_t left = 1 + random.below(4); left > 0; --left) change(bytes, corpus, random);
  if (bytes.size() > kLongest) bytes.resize(kLongest);
  return bytes;
}

void feed(Fuzzer fuzzer, const std::string& bytes) { fuzzer(to_input(bytes), bytes.size()); }

/// The command that repeats the current input.
char to_run_again[80];

void name_input() {
  [[maybe_unused]] const ssize_t written =
      ::write(STDERR_FILENO, to_run_again, std::strlen(to_run_again));
}

extern "C" void end_by(int signal) {
  name_input();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Prints the current input, however the process ends.
void name_input_at_the_end() {
  std::signal(SIGABRT, end_by);
  std::signal(SIGTERM, end_by);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(name_input);
  } else {
    std::signal(SIGSEGV, end_by);
    std::signal(SIGFPE, end_by);
  }
}

void feed_made_inputs(Fuzzer fuzzer, std::span<const std::string> corpus) {
  const char* const chosen = std::getenv("RUSHGATE_FUZZ_INPUTS");
  const std::uint64_t usual = testing::is_full_run() ? 10'000 : 4'000;
  const std::uint64_t inputs = chosen == nullptr ? usual : std::strtoull(chosen, nullptr, 10);
  name_input_at_the_end();
  const std::uint64_t first = random_seed();
  for (std::uint64_t seed = first; seed != first + inputs; ++seed) {
    std::snprintf(to_run_again, sizeof(to_run_again), "%s RUSHGATE_FUZZ_INPUTS=1\n",
                  seed_text(seed).c_str());
    Random random(seed);
    feed(fuzzer, made_of(corpus, random));
  }
}

int run(Fuzzer fuzzer, const char* folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());  // makes a seed reproducible everywhere
  std::vector<std::string> corpus;
  for (const fs::path& path : paths) {
    std::printf("%s\n", path.c_str());
    std::fflush(stdout);  // visible even if this input crashes
    std::ifstream in(path, std::ios::binary);
    const std::istreambuf_iterator<char> begin(in);
    feed(fuzzer, corpus.emplace_back(begin, std::istreambuf_iterator<char>()));
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: nothing is there\n", folder);
    return 1;
  }
  feed_made_inputs(fuzzer, corpus);
  return 0;
}

}  // namespace
}  // namespace rushgate::fuzz

int main(int argc, char** argv) {
  const auto& fuzzers = rushgate::fuzz::fuzzers();
  const auto fuzzer = argc == 3 ? fuzzers.find(argv[1]) : fuzzers.end();
  if (fuzzer != fuzzers.end()) return rushgate::fuzz::run(fuzzer->second, argv[2]);
  std::fprintf(stderr, "usage: %s <fuzzer> <folder>\n", argv[0]);
  for (const auto& [name, function] : fuzzers) std::fprintf(stderr, "  %s\n", name.data());
  return 2;
}
