#include <utility>

#include "engine/core/base/sha1.h"
#include <rushgate/script.h>

namespace rushgate {

Script::Script(std::string text, std::string native_name)
    : text_(std::move(text)), sha1_(sha1_hex(text_)), native_name_(std::move(native_name)) {}

}  // namespace rushgate
