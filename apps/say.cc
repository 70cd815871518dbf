#include "apps/say.h"

#include <cstdio>

namespace rushgate {

void say_text(const std::string& text) {
  [[maybe_unused]] const std::size_t said = std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace rushgate
