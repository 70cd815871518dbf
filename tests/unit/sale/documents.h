// Files of the repository that tests compare with the code.
#pragma once

#include <string>

namespace rushgate {

/// Returns the contents of a file, whose path begins at the root of the repository.
std::string document(const std::string& file);

}  // namespace rushgate
