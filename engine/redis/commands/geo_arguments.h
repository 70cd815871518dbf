// Shared code of the geo commands: parsing, and parts of replies.
#pragma once

#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/geohash.h"
#include <rushgate/reply.h>

namespace rushgate {

// Read arguments. Latch errors in the Arguments.

/// Reads `longitude latitude`.
GeoPosition read_position(Arguments& arguments);
/// Reads a unit of length. Returns it in metres.
double read_unit_m(Arguments& arguments);

/// Returns [longitude, latitude] in the client's protocol.
Reply position_reply(const CommandContext& context, const GeoPosition& position);
/// Returns a distance with four digits after the point.
Reply distance_reply(double distance);

}  // namespace rushgate
