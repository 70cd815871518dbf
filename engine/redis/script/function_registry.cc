#include "engine/redis/script/function_registry.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/redis/keyspace/changes.h"
#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/records.h"
#include "engine/redis/keyspace/removal_records.h"
#include "engine/redis/script/function_errors.h"
#include "engine/redis/script/library_source.h"
#include "engine/redis/script/lua_host.h"

namespace rushgate {
namespace {

void record_difference(const LibrarySet& before, const LibrarySet& after, StoreBatch& batch) {
  if (after.libraries().empty() && before.libraries().size() > kSingleRemovalsMax) {
    return remove_prefix(batch, library_key({}));
  }
  for (const auto& [name, library] : before.libraries()) {
    if (!after.contains(name)) batch.remove(library_key(name));
  }
  for (const auto& [name, library] : after.libraries()) {
    const auto found = before.libraries().find(name);
    if (found != before.libraries().end() && found->second == library) continue;
    batch.put(library_key(name), library->code());
  }
}

absl::Status not_loaded(std::string_view name, std::string_view reason) {
  return absl::DataLossError("the store holds a function library that cannot be loaded: '" +
                             std::string(name) + "': " + std::string(reason));
}

}  // namespace

absl::Status FunctionRegistry::open(LuaHost& host, std::span<const StoredLibrary> stored) {
  if (stored.empty()) return absl::OkStatus();
  LibrarySet libraries;
  for (const auto& [name, code] : stored) {
    Reply error;
    const std::optional<LibrarySource> source = parse_library(code, error);
    if (!source) return not_loaded(name, error.text());
    if (source->name != name) return not_loaded(name, "its source has another name");
    // It has been loaded within the time limit before, perhaps on a faster machine.
    const auto library = host.load_library(*source, std::nullopt, error);
    if (library == nullptr) return not_loaded(name, error.text());
    if (const LuaFunction* const taken = libraries.find_taken(*library)) {
      return not_loaded(name, function_errors::function_exists(taken->name).text());
    }
    libraries.insert(library);
  }
  current_ = std::make_shared<const LibrarySet>(std::move(libraries));
  return absl::OkStatus();
}

void FunctionRegistry::replace(LibrarySet libraries, Changes& changes) {
  auto next = std::make_shared<const LibrarySet>(std::move(libraries));
  changes.reserve_undo();
  record_difference(*current_, *next, changes.records());
  current_.swap(next);
  changes.push_undo([this, before = std::move(next)]() mutable noexcept { current_.swap(before); });
}

}  // namespace rushgate
