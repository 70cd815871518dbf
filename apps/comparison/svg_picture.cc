#include "apps/comparison/svg_picture.h"

#include <fmt/format.h>

namespace rushgate {
namespace {

/// Returns the content of an element: '<', '>' and '&' as entities of XML.
std::string xml_escaped(std::string_view string) {
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

}  // namespace

void SvgPicture::label(double x, double y, std::string_view string, const Label& label) {
  shapes_ += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\"{}{} text-anchor=\"{}\" fill=\"{}\">{}"
      "</text>\n",
      x, y, label.size, label.is_bold ? " font-weight=\"bold\"" : "",
      label.has_halo ? " paint-order=\"stroke\" stroke=\"white\" stroke-width=\"4\"" : "",
      label.anchor, label.colour, xml_escaped(string));
}

void SvgPicture::line(double x1, double y1, double x2, double y2, const Stroke& stroke) {
  shapes_ += fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
      "stroke-width=\"{}\"{}/>\n",
      x1, y1, x2, y2, stroke.colour, stroke.width,
      stroke.is_dashed ? " stroke-dasharray=\"5 4\"" : "");
}

void SvgPicture::rectangle(double x, double y, double width, double height,
                           std::string_view colour) {
  shapes_ += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n", x, y,
      width, height, colour);
}

void SvgPicture::circle(double x, double y, double radius, std::string_view colour) {
  shapes_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\"/>\n", x, y,
                         radius, colour);
}

std::string SvgPicture::svg(int width, int height) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\" font-family=\"DejaVu Sans, Verdana, sans-serif\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n{2}</svg>\n",
      width, height, shapes_);
}

}  // namespace rushgate
