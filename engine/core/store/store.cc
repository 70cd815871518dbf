#include <rushgate/store.h>

namespace rushgate {

std::string_view durability_name(Durability durability) {
  switch (durability) {
    case Durability::kMemory:
      return "memory";
    case Durability::kOs:
      return "os";
    case Durability::kEverySec:
      return "everysec";
    case Durability::kSync:
      return "sync";
  }
  return "?";
}

std::optional<Durability> parse_durability(std::string_view name) {
  for (const Durability durability :
       {Durability::kMemory, Durability::kOs, Durability::kEverySec, Durability::kSync}) {
    if (durability_name(durability) == name) return durability;
  }
  return std::nullopt;
}

absl::Status Store::copy_to(const std::filesystem::path& /*dir*/,
                            const std::filesystem::path& /*previous*/, AfterPortion /*after*/) {
  return absl::UnimplementedError("this store is in memory: there is nothing to copy");
}

absl::Status Store::reopen(Exclusively /*exclusively*/) {
  return absl::UnimplementedError("this store cannot be reopened");
}

}  // namespace rushgate
