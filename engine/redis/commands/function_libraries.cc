#include "engine/redis/commands/function_libraries.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "engine/redis/commands/function_payload.h"
#include "engine/redis/script/function_errors.h"
#include "engine/redis/script/lua_host.h"
#include "engine/redis/script/native_host.h"

namespace rushgate {
namespace {

using Clock = std::chrono::steady_clock;

// Redis's; RESTORE has it for each library.
constexpr std::chrono::milliseconds kLoadTimeMax{500};
// Ours: of all libraries of a payload.
constexpr std::chrono::seconds kRestoreTimeMax{5};

}  // namespace

FunctionRegistry& function_registry(const CommandContext& context) {
  return context.services().lua.functions();
}

LibrarySet::Library load_library(const CommandContext& context, const LibrarySource& source,
                                 Reply& error) {
  return context.services().lua.load_library(source, Clock::now() + kLoadTimeMax, error);
}

std::optional<LibrarySet> load_payload(const CommandContext& context,
                                       std::string_view payload_bytes, Reply& error) {
  LuaHost& lua = context.services().lua;
  LibraryPayloadReader payload(payload_bytes, lua.memory_bytes_max());
  if (!payload.is_intact()) {
    error = function_errors::payload_checksum();
    return std::nullopt;
  }
  LibrarySet libraries;
  const Clock::time_point last_deadline = Clock::now() + kRestoreTimeMax;
  while (!payload.at_end()) {
    const std::optional<std::string> code = payload.next(error);
    if (!code) return std::nullopt;
    const std::optional<LibrarySource> source = parse_library(*code, error);
    if (!source) return std::nullopt;
    if (libraries.contains(source->name)) {
      error = function_errors::library_exists(source->name);
      return std::nullopt;
    }
    const Clock::time_point deadline = std::min(Clock::now() + kLoadTimeMax, last_deadline);
    auto library = lua.load_library(*source, deadline, error);
    if (library == nullptr) return std::nullopt;
    if (auto refusal = add_library(context, libraries, std::move(library))) {
      error = *std::move(refusal);
      return std::nullopt;
    }
  }
  return libraries;
}

std::optional<Reply> add_library(const CommandContext& context, LibrarySet& libraries,
                                 LibrarySet::Library library) {
  if (libraries.is_full()) return function_errors::too_many_libraries();
  if (libraries.functions() + library->functions().size() > LibrarySet::kFunctionsMax)
    return function_errors::too_many_functions();
  for (const LuaFunction& function : library->functions()) {
    if (context.services().natives.knows_in_any_case(function.name))
      return function_errors::function_exists(function.name);
  }
  if (const LuaFunction* const taken = libraries.find_taken(*library))
    return function_errors::function_exists(taken->name);
  libraries.insert(std::move(library));
  return std::nullopt;
}

void set_libraries(const CommandContext& context, LibrarySet libraries) {
  function_registry(context).replace(std::move(libraries), context.keyspace().changes());
}

}  // namespace rushgate
