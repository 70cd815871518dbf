#include "engine/core/base/utf8.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace rushgate {
namespace {

/// The characters that begin with the bytes `first` to `last`.
struct Form {
  unsigned char first;
  unsigned char last;
  std::size_t size;
  unsigned char second_min;
  unsigned char second_max;
};
constexpr unsigned char kMin = 0x80;  // of a byte after the first
constexpr unsigned char kMax = 0xBF;
// RFC 3629, section 4.
constexpr std::array<Form, 9> kForms = {{{0x00, 0x7F, 1, 0, 0},
                                         {0xC2, 0xDF, 2, kMin, kMax},
                                         {0xE0, 0xE0, 3, 0xA0, kMax},
                                         {0xE1, 0xEC, 3, kMin, kMax},
                                         {0xED, 0xED, 3, kMin, 0x9F},
                                         {0xEE, 0xEF, 3, kMin, kMax},
                                         {0xF0, 0xF0, 4, 0x90, kMax},
                                         {0xF1, 0xF3, 4, kMin, kMax},
                                         {0xF4, 0xF4, 4, kMin, 0x8F}}};

unsigned char byte_at(std::string_view bytes, std::size_t index) {
  return static_cast<unsigned char>(bytes[index]);
}

/// Returns the size of the first character; 0 if it is malformed.
std::size_t first_size(std::string_view bytes) {
  const unsigned char first = byte_at(bytes, 0);
  const auto* const form = std::ranges::find_if(
      kForms, [&](const Form& one) { return one.first <= first && first <= one.last; });
  if (form == kForms.end() || bytes.size() < form->size) return 0;
  for (std::size_t i = 1; i < form->size; ++i) {
    const unsigned char min = i == 1 ? form->second_min : kMin;
    const unsigned char max = i == 1 ? form->second_max : kMax;
    if (byte_at(bytes, i) < min || byte_at(bytes, i) > max) return 0;
  }
  return form->size;
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t size = first_size(bytes);
    if (size == 0) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

}  // namespace rushgate
