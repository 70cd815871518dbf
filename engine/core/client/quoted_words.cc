#include "engine/core/client/quoted_words.h"

#include <cstddef>
#include <string>

#include "absl/strings/ascii.h"
#include "engine/core/base/percent_encoding.h"

namespace rushgate {
namespace {

// As in Redis, several spaces may separate two words.
bool is_space(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }
bool ends_word(char c) { return std::string_view(" \n\r\t").find(c) != std::string_view::npos; }

class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}

  bool split(Request& words) {
    while (true) {
      while (!rest_.empty() && is_space(rest_.front())) rest_.remove_prefix(1);
      if (rest_.empty()) return true;
      std::string word;
      if (!take_word(word)) return false;
      words.add(word);
    }
  }

 private:
  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  bool take_word(std::string& word) {
    while (!rest_.empty() && !ends_word(rest_.front())) {
      const char c = take();
      if (c == '"' || c == '\'') {
        const bool is_closed = c == '"' ? take_double_quoted(word) : take_single_quoted(word);
        return is_closed && (rest_.empty() || is_space(rest_.front()));
      }
      word += c;
    }
    return true;
  }

  bool take_single_quoted(std::string& word) {
    while (!rest_.empty()) {
      const char c = take();
      if (c == '\'') return true;
      const bool is_quote = c == '\\' && rest_.starts_with('\'');
      word += is_quote ? take() : c;
    }
    return false;
  }

  bool take_double_quoted(std::string& word) {
    while (!rest_.empty()) {
      const char c = take();
      if (c == '"') return true;
      word += c == '\\' && !rest_.empty() ? take_escape() : c;
    }
    return false;
  }

  /// Returns the character of an escape sequence.
  char take_escape() {
    if (rest_.size() >= 3 && rest_.front() == 'x') {
      const auto high = hex_digit(rest_[1]);
      const auto low = hex_digit(rest_[2]);
      if (high && low) {
        rest_.remove_prefix(3);
        return static_cast<char>(*high << 4 | *low);
      }
    }
    constexpr std::string_view kNames = "nrtba";
    constexpr std::string_view kMeant = "\n\r\t\b\a";
    const char c = take();
    const std::size_t known = kNames.find(c);
    return known == std::string_view::npos ? c : kMeant[known];
  }

  std::string_view rest_;
};

}  // namespace

bool split_quoted(std::string_view line, Request& words) { return Words(line).split(words); }

}  // namespace rushgate
