#include "engine/core/base/version.h"

namespace rushgate {

std::string_view library_version() { return RUSHGATE_VERSION; }

}  // namespace rushgate
