// Quoted words: words that were parsed and quoted again parse as the same words.
#include <string>

#include "engine/core/client/quoted_words.h"
#include "tests/fuzz/fuzz.h"

namespace rushgate {
namespace {

std::string quoted(std::string_view word) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "\"";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    text.append({'\\', 'x', kDigits[byte / 16], kDigits[byte % 16]});
  }
  return text + "\"";
}

}  // namespace
}  // namespace rushgate

RUSHGATE_FUZZER(words) {
  rushgate::Request words;
  if (!rushgate::split_quoted(rushgate::fuzz::to_text(data, size), words)) return 0;
  std::string line;
  for (std::size_t i = 0; i < words.size(); ++i) line += rushgate::quoted(words[i]) + " ";
  rushgate::Request again;
  rushgate::fuzz::expect(rushgate::split_quoted(line, again), "quoted words are words");
  rushgate::fuzz::expect(again == words, "quoted words come back");
  return 0;
}
