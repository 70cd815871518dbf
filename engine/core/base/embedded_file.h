// Files of the repository that are compiled into a library, by rushgate_embed() of CMakeLists.txt.
#pragma once

#include <string_view>

namespace rushgate {

struct EmbeddedFile {
  std::string_view name;  // without its folder
  std::string_view text;
};

}  // namespace rushgate
