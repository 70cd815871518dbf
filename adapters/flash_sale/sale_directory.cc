#include "adapters/flash_sale/sale_directory.h"

#include "engine/core/base/concat.h"
#include "engine/core/base/make_directory.h"

namespace rushgate {

absl::Status create_sale_directory(const std::filesystem::path& dir) {
  const absl::Status made = make_directory(dir);
  if (made.ok()) return made;
  return absl::InvalidArgumentError(
      concat("cannot create directory ", dir.string(), ": ", std::string(made.message())));
}

}  // namespace rushgate
