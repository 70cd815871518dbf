#include "engine/redis/script/function_library.h"

#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "engine/core/base/letter_case.h"
#include "engine/redis/script/lua_context.h"

namespace rushgate {

FunctionLibrary::FunctionLibrary(std::shared_ptr<LuaContext> context, std::string name,
                                 std::string code)
    : context_(std::move(context)), name_(std::move(name)), code_(std::move(code)) {}

FunctionLibrary::~FunctionLibrary() {
  for (const LuaFunction& function : functions_) {
    luaL_unref(context_->lua, LUA_REGISTRYINDEX, function.function);
  }
  context_->memory.discharge(charged_bytes_);
  context_->has_library_garbage = true;
}

bool FunctionLibrary::charge(std::size_t bytes) {
  if (!context_->memory.charge(bytes)) return false;
  charged_bytes_ += bytes;
  return true;
}

bool FunctionLibrary::add(LuaFunction function) {
  constexpr std::size_t kOverheadBytes = 192;  // of its places in the containers
  const std::size_t text_bytes =
      function.name.size() + (function.description ? function.description->size() : 0);
  if (!charge(sizeof(LuaFunction) + kOverheadBytes + text_bytes)) return false;
  functions_.push_back(std::move(function));
  try {
    names_.insert(functions_.back().name);
  } catch (...) {
    functions_.pop_back();
    throw;
  }
  return true;
}

std::size_t NameHash::operator()(std::string_view name) const {
  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) {
    const char lower = absl::ascii_tolower(static_cast<unsigned char>(c));
    hash = (hash ^ static_cast<unsigned char>(lower)) * 0x100000001b3;
  }
  return hash;
}

bool SameName::operator()(std::string_view a, std::string_view b) const {
  return equal_in_any_case(a, b);
}

std::size_t LibrarySet::functions() const {
  std::size_t functions = 0;
  for (const auto& [name, library] : libraries_) functions += library->functions().size();
  return functions;
}

const LuaFunction* LibrarySet::find_taken(const FunctionLibrary& library) const {
  for (const LuaFunction& function : library.functions()) {
    if (find(function.name) != nullptr) return &function;
  }
  return nullptr;
}

void LibrarySet::insert(Library library) {
  const FunctionLibrary& added = *library;
  libraries_.emplace(added.name(), std::move(library));
  // Of two names that differ in case alone, the first one counts.
  for (const LuaFunction& function : added.functions())
    functions_.emplace(function.name, &function);
}

bool LibrarySet::erase(std::string_view name) {
  const auto found = libraries_.find(name);
  if (found == libraries_.end()) return false;
  for (const LuaFunction& function : found->second->functions()) functions_.erase(function.name);
  libraries_.erase(found);
  return true;
}

}  // namespace rushgate
