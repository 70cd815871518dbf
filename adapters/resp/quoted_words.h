// Splits a line into words as redis-cli and inline commands do.
#pragma once

#include <string_view>

#include "engine/client/request.h"

namespace rushgate {

/// Appends the words of `line` to `words`: separated by blanks, tabs or ends of lines, with other
/// white space before them; "quoted \n \x00", or 'quoted, where only \' is special'. False if
/// quotes are unbalanced, or a closing one is not followed by white space.
bool split_quoted(std::string_view line, Request& words);

}  // namespace rushgate
