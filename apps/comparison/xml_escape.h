// Escapes strings for SVG.
#pragma once

#include <string>
#include <string_view>

namespace rushgate {

/// Returns the string with '<', '>' and '&' as entities of XML. Quotes stay, so it is for the
/// content of an element, not for an attribute.
inline std::string xml_escaped(std::string_view string) {
  std::string out;
  for (const char c : string) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace rushgate
