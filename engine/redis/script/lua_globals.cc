#include "engine/redis/script/lua_globals.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "engine/redis/script/lua_context.h"
#include "engine/redis/script/lua_sandbox.h"

namespace rushgate {
namespace {

// ---- Compiled code, as lua_dump writes it: a part of Lua 5.1 that changes no more ----

constexpr std::string_view kHeader("\x1bLua\x51\0\1\4\x8\4\x8\0", 12);
static_assert(sizeof(int) == 4 && sizeof(std::size_t) == 8 && sizeof(lua_Number) == 8);

enum Opcode : std::uint32_t {
  kGetGlobal = 5,
  kGetTable = 6,
  kSetGlobal = 7,
  kLength = 20,
  kSetList = 34,
};

/// Fields of an instruction's 32 bits.
struct Instruction {
  std::uint32_t bits;

  static Instruction at(const char* code) {
    Instruction found{};
    std::memcpy(&found, code, sizeof(Instruction));
    return found;
  }

  [[nodiscard]] std::uint32_t opcode() const { return bits & 0x3F; }
  [[nodiscard]] std::uint32_t a() const { return bits >> 6 & 0xFF; }
  [[nodiscard]] std::uint32_t b() const { return bits >> 23; }
  [[nodiscard]] std::uint32_t c() const { return bits >> 14 & 0x1FF; }
  [[nodiscard]] std::uint32_t bx() const { return bits >> 14; }

  /// Returns true if the next word is a number, not an instruction.
  [[nodiscard]] bool has_extra_word() const { return opcode() == kSetList && c() == 0; }
};

/// Latches the first error; after it everything reads as 0 or empty.
class DumpReader {
 public:
  explicit DumpReader(std::string_view bytes) : left_(bytes) {}

  [[nodiscard]] bool ok() const { return ok_; }

  std::string_view bytes(std::size_t count) {
    if (count > left_.size()) {
      ok_ = false;
      left_ = {};
      return {};
    }
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }
  template <class T>
  T value() {
    const std::string_view taken = bytes(sizeof(T));
    T value{};
    if (ok_) std::memcpy(&value, taken.data(), sizeof(T));
    return value;
  }
  std::size_t count() { return static_cast<std::size_t>(value<std::uint32_t>()); }
  /// With the zero byte at its end; empty if there is none.
  std::string_view text() { return bytes(value<std::size_t>()); }

 private:
  std::string_view left_;
  bool ok_ = true;
};

using Constants = std::vector<std::string_view>;  // empty for other constants

/// Analyses a dump, function by function. After an unexpected dump a script counts as needing
/// guards.
class Search {
 public:
  explicit Search(std::string_view dump) : reader_(dump) {}

  GlobalUse run() {
    if (reader_.bytes(kHeader.size()) != kHeader) return {};
    read_function();
    return reader_.ok() ? use_ : GlobalUse{};
  }

 private:
  void read_function();
  Constants read_constants();
  void skip_debug_information();
  void judge(std::string_view code, const Constants& constants);
  void judge_read(std::string_view name, Instruction read, Instruction next);

  DumpReader reader_;
  GlobalUse use_{.needs_no_guard = true, .keeps_lists = true};
};

void Search::read_function() {
  constexpr std::size_t kCounts = 4;  // upvalues, parameters, variable arguments, registers
  reader_.text();                     // source
  reader_.bytes(2 * sizeof(int));     // lines
  reader_.bytes(kCounts);
  const std::string_view code = reader_.bytes(reader_.count() * sizeof(Instruction));
  const Constants constants = read_constants();
  if (!reader_.ok()) return;
  judge(code, constants);
  for (std::size_t left = reader_.count(); left > 0 && reader_.ok(); --left) read_function();
  skip_debug_information();
}

Constants Search::read_constants() {
  Constants constants;
  for (std::size_t left = reader_.count(); left > 0 && reader_.ok(); --left) {
    std::string_view text;
    switch (reader_.value<std::uint8_t>()) {
      case LUA_TBOOLEAN:
        reader_.bytes(1);
        break;
      case LUA_TNUMBER:
        reader_.bytes(sizeof(lua_Number));
        break;
      case LUA_TSTRING:
        text = reader_.text();
        text.remove_suffix(std::min<std::size_t>(1, text.size()));
        break;
      default:
        break;
    }
    constants.push_back(text);
  }
  return constants;
}

void Search::skip_debug_information() {
  reader_.bytes(reader_.count() * sizeof(int));  // a line for each instruction
  for (std::size_t left = reader_.count(); left > 0 && reader_.ok(); --left) {
    reader_.text();  // a local's name
    reader_.bytes(2 * sizeof(int));
  }
  for (std::size_t left = reader_.count(); left > 0 && reader_.ok(); --left) reader_.text();
}

/// Returns true if `next`, which follows `read`, overwrites the register that `read` filled. Then
/// no local holds the table.
bool replaces(Instruction next, Instruction read) {
  return next.b() == read.a() && next.a() == read.a();
}

void Search::judge(std::string_view code, const Constants& constants) {
  // The last instruction returns, so each other has a next one.
  for (std::size_t i = 0; i + sizeof(Instruction) < code.size(); i += sizeof(Instruction)) {
    const Instruction current = Instruction::at(code.data() + i);
    if (current.has_extra_word()) i += sizeof(Instruction);
    if (current.opcode() == kSetGlobal) use_.needs_no_guard = false;
    if (current.opcode() != kGetGlobal) continue;
    const Instruction next = Instruction::at(code.data() + i + sizeof(Instruction));
    judge_read(current.bx() < constants.size() ? constants[current.bx()] : "_G", current, next);
  }
}

void Search::judge_read(std::string_view name, Instruction read, Instruction next) {
  const bool is_list = name == "KEYS" || name == "ARGV";
  const bool is_indexed = next.opcode() == kGetTable && replaces(next, read);
  const bool is_measured = next.opcode() == kLength && replaces(next, read);
  if (name == "_G") {
    use_ = {};
  } else if (is_list && !is_indexed && !is_measured) {
    use_.keeps_lists = false;
  } else if (std::ranges::count(kSharedTables, name) > 0 && !is_indexed) {
    use_.needs_no_guard = false;
  }
}

int append(lua_State*, const void* piece, std::size_t size, void* dump) {
  try {
    static_cast<std::string*>(dump)->append(static_cast<const char*>(piece), size);
    return 0;
  } catch (const std::bad_alloc&) {
    return 1;
  }
}

}  // namespace

GlobalUse resolve_globals(lua_State* lua) {
  std::string dump;
  if (lua_dump(lua, &append, &dump) != 0) return {};
  const GlobalUse use = Search(dump).run();
  if (use.needs_no_guard) {
    lua_rawgeti(lua, LUA_REGISTRYINDEX, LuaContext::of(lua).plain_globals);
    lua_setfenv(lua, -2);
  }
  return use;
}

}  // namespace rushgate
