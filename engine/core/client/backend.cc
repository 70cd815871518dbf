#include <rushgate/backend.h>

namespace rushgate {

absl::Status Backend::copy_to(const std::filesystem::path& /*dir*/,
                              const std::filesystem::path& /*previous*/, AfterPortion /*after*/) {
  return absl::UnimplementedError("this keyspace is not copied: back it up by its server's means");
}

}  // namespace rushgate
