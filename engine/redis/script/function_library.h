// Libraries of functions in Lua (FUNCTION LOAD), and the set of all libraries of an engine.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "engine/redis/script/script_flags.h"

namespace rushgate {

struct LuaContext;

/// A function that a library has registered.
struct LuaFunction {
  std::string name;
  std::optional<std::string> description;
  ScriptFlags flags;
  // The host's.
  int function;  // reference in the interpreter
};

/// A library in the interpreter, which it keeps alive. Its source and the names of its functions
/// count towards the memory of scripts.
class FunctionLibrary {
 public:
  FunctionLibrary(std::shared_ptr<LuaContext> context, std::string name, std::string code);
  ~FunctionLibrary();
  FunctionLibrary(const FunctionLibrary&) = delete;
  FunctionLibrary& operator=(const FunctionLibrary&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Returns its source, with the first line.
  [[nodiscard]] const std::string& code() const { return code_; }
  /// Returns its functions, in the order of their registration.
  [[nodiscard]] const std::deque<LuaFunction>& functions() const { return functions_; }

  // ---- For the host, while the library is loaded ----

  /// Counts the source. Returns false if the memory of scripts does not suffice.
  bool charge_code() { return charge(code_.size()); }
  /// Returns true if it has a function of exactly this name.
  [[nodiscard]] bool has(std::string_view name) const { return names_.contains(name); }
  /// Adds a function, and takes over its reference. Returns false, and does neither, if the memory
  /// of scripts does not suffice.
  bool add(LuaFunction function);

 private:
  bool charge(std::size_t bytes);

  const std::shared_ptr<LuaContext> context_;
  const std::string name_;
  const std::string code_;
  std::deque<LuaFunction> functions_;
  std::unordered_set<std::string_view> names_;  // point into functions_
  std::size_t charged_bytes_ = 0;
};

/// Names of functions are equal in any case, as those of commands.
struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view name) const;
};
struct SameName {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const;
};

/// A value. Copies share the libraries.
class LibrarySet {
 public:
  static constexpr std::size_t kLibrariesMax = 1'024;
  static constexpr std::size_t kFunctionsMax = 4'096;

  using Library = std::shared_ptr<const FunctionLibrary>;
  using Libraries = std::map<std::string_view, Library>;

  /// Returns the libraries in the order of their names.
  [[nodiscard]] const Libraries& libraries() const { return libraries_; }
  [[nodiscard]] bool contains(std::string_view name) const { return libraries_.contains(name); }
  /// Returns the function of this name, in any case; null if there is none.
  [[nodiscard]] const LuaFunction* find(std::string_view function) const {
    const auto found = functions_.find(function);
    return found == functions_.end() ? nullptr : found->second;
  }

  [[nodiscard]] std::size_t functions() const;
  [[nodiscard]] bool is_full() const { return libraries_.size() >= kLibrariesMax; }
  /// Returns the first function of `library` whose name is taken; null if there is none.
  [[nodiscard]] const LuaFunction* find_taken(const FunctionLibrary& library) const;

  /// Adds a library, whose name and functions must be new.
  void insert(Library library);
  /// Removes a library. Returns false if there is none of this name.
  bool erase(std::string_view name);

 private:
  Libraries libraries_;  // keys point into the libraries
  std::unordered_map<std::string_view, const LuaFunction*, NameHash, SameName> functions_;
};

}  // namespace rushgate
