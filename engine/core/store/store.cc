#include <rushgate/store.h>

namespace rushgate {

absl::Status Store::copy_to(const std::filesystem::path& /*dir*/,
                            const std::filesystem::path& /*previous*/) {
  return absl::UnimplementedError("this store is in memory: there is nothing to copy");
}

absl::Status Store::reopen(Exclusively /*exclusively*/) {
  return absl::UnimplementedError("this store cannot be reopened");
}

}  // namespace rushgate
