#include "engine/redis/commands/geo_search_request.h"

#include "engine/core/base/numbers.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/geo_arguments.h"
#include "engine/redis/commands/geo_errors.h"

namespace rushgate {
namespace {

using Centre = GeoSearchCommand::Centre;

/// Reads the arguments from left to right, because each error has its place in Redis's order.
class SearchParser {
 public:
  SearchParser(const GeoSearchCommand& command, RequestView request, const SortedSetValue* value,
               GeoSearchRequest& search)
      : command_(command),
        request_(request),
        value_(value),
        search_(search),
        arguments_(request, command.key() + 1) {}

  std::optional<Reply> parse() {
    if (command_.centre == Centre::kOptions && command_.stores) search_.store_key = request_[1];
    read_fixed_arguments();
    while (!arguments_.at_end()) {
      if (!read_option() && !read_store_option() && !read_area()) arguments_.fail(errors::syntax());
    }
    check_combinations();
    if (arguments_.ok()) return std::nullopt;
    return arguments_.take_error();
  }

 private:
  void read_fixed_arguments() {
    if (command_.centre == Centre::kOptions) return;
    if (command_.centre == Centre::kPosition) {
      search_.shape.centre = read_position(arguments_);
    } else if (value_ == nullptr) {
      return arguments_.skip(3);  // the rest determines the reply
    } else {
      read_member();
    }
    read_circle();
  }

  bool read_option() {
    if (arguments_.accept("WITHDIST")) {
      search_.with_distance = true;
    } else if (arguments_.accept("WITHHASH")) {
      search_.with_score = true;
    } else if (arguments_.accept("WITHCOORD")) {
      search_.with_position = true;
    } else if (arguments_.accept("ANY")) {
      search_.any = true;
    } else if (arguments_.accept("ASC")) {
      search_.order = GeoOrder::kNearestFirst;
    } else if (arguments_.accept("DESC")) {
      search_.order = GeoOrder::kFarthestFirst;
    } else if (accept("COUNT", 1)) {
      const std::int64_t count = arguments_.next_integer();
      if (count <= 0) arguments_.fail(errors::count_not_positive());
      search_.count = static_cast<std::size_t>(count);
    } else {
      return false;
    }
    return true;
  }

  bool read_store_option() {
    if (!command_.stores) return false;
    if (command_.centre == Centre::kOptions) {
      if (!arguments_.accept("STOREDIST")) return false;
      search_.store_distances = true;
      return true;
    }
    if (accept("STORE", 1)) {
      search_.store_distances = false;
    } else if (accept("STOREDIST", 1)) {
      search_.store_distances = true;
    } else {
      return false;
    }
    search_.store_key = arguments_.next();
    return true;
  }

  /// Reads an option for the centre or the shape. The last one counts, but only one kind is
  /// allowed.
  bool read_area() {
    if (command_.centre != Centre::kOptions) return false;
    if (!has_position_ && accept("FROMMEMBER", 1)) {
      has_member_ = true;
      read_member();
    } else if (!has_member_ && accept("FROMLONLAT", 2)) {
      has_position_ = true;
      search_.shape.centre = read_position(arguments_);
    } else if (!has_box_ && accept("BYRADIUS", 2)) {
      has_circle_ = true;
      read_circle();
    } else if (!has_circle_ && accept("BYBOX", 3)) {
      has_box_ = true;
      read_box();
    } else {
      return false;
    }
    return true;
  }

  void read_member() {
    const std::string_view member = arguments_.next();
    if (value_ == nullptr) return;
    const auto score = value_->score(member);
    if (!score) return arguments_.fail(errors::no_such_member());
    search_.shape.centre = position_of(*score);
  }

  void read_circle() {
    search_.shape.kind = GeoShape::Kind::kCircle;
    search_.shape.radius = read_length("radius");
    if (search_.shape.radius < 0) arguments_.fail(errors::negative_radius());
    search_.shape.unit_m = read_unit_m(arguments_);
  }

  void read_box() {
    search_.shape.kind = GeoShape::Kind::kBox;
    search_.shape.width = read_length("width");
    search_.shape.height = read_length("height");
    if (search_.shape.width < 0 || search_.shape.height < 0)
      arguments_.fail(errors::negative_box());
    search_.shape.unit_m = read_unit_m(arguments_);
  }

  double read_length(std::string_view name) {
    const auto length = parse_double(arguments_.next());
    if (!length) arguments_.fail(errors::not_numeric(name));
    return length.value_or(0);
  }

  void check_combinations() {
    const bool is_search = command_.centre == Centre::kOptions;
    if (search_.store_key && search_.returns_details()) {
      arguments_.fail(
          errors::store_excludes_with(is_search ? "GEOSEARCHSTORE" : "STORE option in GEORADIUS"));
    }
    if (is_search && !has_member_ && !has_position_)
      arguments_.fail(errors::no_centre(request_[0]));
    if (is_search && !has_circle_ && !has_box_) arguments_.fail(errors::no_shape(request_[0]));
    if (search_.any && search_.count == 0) arguments_.fail(errors::any_without_count());
  }

  /// Consumes the keyword if at least `values` arguments follow it.
  bool accept(std::string_view keyword, std::size_t values) {
    return arguments_.left() > values && arguments_.accept(keyword);
  }

  const GeoSearchCommand& command_;
  const RequestView request_;
  const SortedSetValue* const value_;
  GeoSearchRequest& search_;
  Arguments arguments_;
  bool has_member_ = false;
  bool has_position_ = false;
  bool has_circle_ = false;
  bool has_box_ = false;
};

}  // namespace

std::optional<Reply> read_search(const GeoSearchCommand& command, RequestView arguments,
                                 const SortedSetValue* value, GeoSearchRequest& search) {
  return SearchParser(command, arguments, value, search).parse();
}

}  // namespace rushgate
