#include "engine/client/script.h"

#include <utility>

#include "engine/base/sha1.h"

namespace rushgate {

Script::Script(std::string text, std::string native_twin)
    : text_(std::move(text)), sha1_(sha1_hex(text_)), native_twin_(std::move(native_twin)) {}

}  // namespace rushgate
