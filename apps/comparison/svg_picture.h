// Draws a picture in the format SVG.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

namespace rushgate {

/// Shapes and labels on a white background, which viewers with a dark background keep. Coordinates
/// are pixels from the top left corner. Not thread-safe.
class SvgPicture {
 public:
  struct Label {
    int size = 12;
    bool is_bold = false;
    std::string_view anchor = "start";  // start, middle or end: the part of the label at x
    std::string_view colour = "#222";
    bool has_halo = false;  // a white edge, for labels that cross lines
  };
  struct Stroke {
    double width = 1;
    bool is_dashed = false;
    std::string_view colour = "#222";
  };

  /// Writes `string` on the line of y.
  void label(double x, double y, std::string_view string, const Label& label);
  void line(double x1, double y1, double x2, double y2, const Stroke& stroke);
  void rectangle(double x, double y, double width, double height, std::string_view colour);
  void circle(double x, double y, double radius, std::string_view colour);

  /// Returns the file's contents.
  [[nodiscard]] std::string svg(int width, int height) const;

 private:
  std::string shapes_;
};

/// A logarithmic axis from `least` at pixel `from` to `most` at pixel `to`.
struct LogAxis {
  double least;
  double most;
  double from;
  double to;

  [[nodiscard]] double at(double value) const {
    const double share = std::log10(value / least) / std::log10(most / least);
    return from + (to - from) * std::clamp(share, 0.0, 1.0);
  }
};

}  // namespace rushgate
