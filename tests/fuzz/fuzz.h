// Helpers for all fuzzers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>

/// Begins a fuzzer, which is a function of `data` and `size` in libFuzzer's form: it returns 0, and an
/// error ends the process. libFuzzer has a program for each, the corpora one for all.
#ifdef RUSHGATE_LIBFUZZER
#define RUSHGATE_FUZZER(name) \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
#else
#define RUSHGATE_FUZZER(name)                                         \
  static int fuzz_##name(const std::uint8_t* data, std::size_t size); \
  [[maybe_unused]] static const bool has_fuzzer_##name =              \
      ::rushgate::fuzz::fuzzers().emplace(#name, fuzz_##name).second; \
  static int fuzz_##name(const std::uint8_t* data, std::size_t size)
#endif

namespace rushgate::fuzz {

using Fuzzer = int (*)(const std::uint8_t* data, std::size_t size);

/// Returns the fuzzers of this program by their names.
inline std::map<std::string_view, Fuzzer>& fuzzers() {
  static std::map<std::string_view, Fuzzer> all;
  return all;
}

inline std::string_view to_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}
inline const std::uint8_t* to_input(std::string_view bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

/// Ends the process if a property does not hold.
inline void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

/// Consumes an input from its beginning. Missing parts are 0 or empty.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(to_text(data, size)) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto value = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  /// Returns a string whose length is in the first byte.
  std::string_view text() {
    const std::size_t size = byte();
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  /// Returns the rest.
  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace rushgate::fuzz
