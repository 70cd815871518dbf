// Splits a line into words like redis-cli and inline commands.
#pragma once

#include <string_view>

#include <rushgate/request.h>

namespace rushgate {

/// Appends the words of `line` to `words`. Spaces, tabs and ends of lines separate them, also
/// several. Quotes are "with \n \x00" or 'with only \' special'. Returns false if quotes are
/// unbalanced, or no white space follows a closing quote.
bool split_quoted(std::string_view line, Request& words);

}  // namespace rushgate
