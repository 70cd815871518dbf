// The libraries of functions, as FUNCTION changes them.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "engine/redis/commands/command_context.h"
#include "engine/redis/script/function_registry.h"
#include "engine/redis/script/library_source.h"
#include <rushgate/reply.h>

namespace rushgate {

[[nodiscard]] FunctionRegistry& function_registry(const CommandContext& context);

/// Loads a library within Redis's time limit. Returns null and sets `error` if it fails.
LibrarySet::Library load_library(const CommandContext& context, const LibrarySource& source,
                                 Reply& error);

/// Loads the libraries of a payload of FUNCTION DUMP. Returns empty and sets `error` if one of them
/// cannot be loaded.
std::optional<LibrarySet> load_payload(const CommandContext& context, std::string_view payload,
                                       Reply& error);

/// Adds a library to a set. Returns the error if its functions have names that are taken, or are
/// too many.
std::optional<Reply> add_library(const CommandContext& context, LibrarySet& libraries,
                                 LibrarySet::Library library);

/// Makes these the libraries.
void set_libraries(const CommandContext& context, LibrarySet libraries);

}  // namespace rushgate
