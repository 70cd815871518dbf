#include <rushgate/store.h>

namespace rushgate {

absl::Status Store::reopen(Exclusively /*exclusively*/) {
  return absl::UnimplementedError("this store cannot be reopened");
}

}  // namespace rushgate
