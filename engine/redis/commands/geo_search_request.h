// The arguments of the commands that find positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/redis/commands/geo_shape.h"
#include "engine/redis/keyspace/sorted_set_value.h"
#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate {

/// Differences between the commands.
struct GeoSearchCommand {
  enum class Centre : std::uint8_t {
    kPosition,  // GEORADIUS: key longitude latitude radius unit
    kMember,    // GEORADIUSBYMEMBER: key member radius unit
    kOptions,   // GEOSEARCH: centre and shape are options
  };

  Centre centre;
  bool stores;  // GEOSEARCHSTORE: the first key is for the results. GEORADIUS: has STORE, STOREDIST

  /// Returns the position of the key that is searched.
  [[nodiscard]] std::size_t key() const { return centre == Centre::kOptions && stores ? 2 : 1; }
  [[nodiscard]] std::string_view store_event() const {
    return centre == Centre::kOptions ? "geosearchstore" : "georadiusstore";
  }
};

enum class GeoOrder : std::uint8_t { kNone, kNearestFirst, kFarthestFirst };

struct GeoSearchRequest {
  GeoShape shape = {};
  std::size_t count = 0;  // 0: no limit
  bool any = false;       // the first ones found, instead of the nearest ones
  GeoOrder order = GeoOrder::kNone;
  bool with_distance = false;
  bool with_score = false;
  bool with_position = false;
  std::optional<std::string_view> store_key = {};  // views of the request
  bool store_distances = false;                    // as scores, instead of the positions

  [[nodiscard]] bool returns_details() const {
    return with_distance || with_score || with_position;
  }
};

/// Reads the arguments. `value` is the value that is searched, or null. Without it, the centre and
/// the shape are not read. Returns the error if they are invalid.
std::optional<Reply> read_search(const GeoSearchCommand& command, RequestView arguments,
                                 const SortedSetValue* value, GeoSearchRequest& search);

}  // namespace rushgate
