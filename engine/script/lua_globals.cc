#include "engine/script/lua_globals.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/script/lua_context.h"
#include "engine/script/lua_redis_api.h"
#include "engine/script/lua_sandbox.h"

namespace rushgate {
namespace {

// ---- Compiled code, as lua_dump writes it: a part of Lua 5.1 that changes no more ----

constexpr std::string_view kHeader("\x1bLua\x51\0\1\4\x8\4\x8\0", 12);
static_assert(sizeof(int) == 4 && sizeof(std::size_t) == 8 && sizeof(lua_Number) == 8);

enum Opcode : std::uint32_t {
  kMove = 0,
  kLoadConstant = 1,
  kGetUpvalue = 4,
  kGetGlobal = 5,
  kGetTable = 6,
  kSetGlobal = 7,
  kLength = 20,
  kConcatenate = 21,
  kJump = 22,
  kCall = 28,
  kTailCall = 29,
  kForLoop = 31,
  kIteratorLoop = 33,
  kClosure = 36,
};

/// Fields of an instruction's 32 bits.
struct Instruction {
  static constexpr std::uint32_t kNoDistance = 131'071;  // of a jump

  std::uint32_t bits;

  static Instruction at(const char* code) {
    Instruction found{};
    std::memcpy(&found, code, sizeof(Instruction));
    return found;
  }
  static Instruction get_upvalue(std::uint32_t a, std::uint32_t b) {
    return {kGetUpvalue | a << 6 | b << 23};
  }

  [[nodiscard]] std::uint32_t opcode() const { return bits & 0x3F; }
  [[nodiscard]] std::uint32_t a() const { return bits >> 6 & 0xFF; }
  [[nodiscard]] std::uint32_t b() const { return bits >> 23; }
  [[nodiscard]] std::uint32_t c() const { return bits >> 14 & 0x1FF; }
  [[nodiscard]] std::uint32_t bx() const { return bits >> 14; }
};

// ---- The upvalues that a main part gets; compiled from a text it has none ----

enum Upvalue : std::uint32_t { kKeys, kArguments, kRedis, kRedisWithoutAnswers };
constexpr std::string_view kUpvalueNames[] = {"KEYS", "ARGV", "redis", "redis"};

/// Latches the first error, after which everything reads as zero or empty.
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

using Constants = std::vector<std::string_view>;  // empty for what is no text

/// Follows one dump from function to function.
class Search {
 public:
  explicit Search(std::string& dump) : dump_(dump), reader_(dump) {}

  GlobalUse run() {
    if (reader_.bytes(kHeader.size()) != kHeader) return {};
    read_function(true);
    return reader_.ok() ? use_ : GlobalUse{};
  }

  /// Writes into the dump of a script that needs no guard what spares its main part look-ups. False
  /// if there is nothing.
  bool rewrite() {
    if (!use_.keeps_lists) {
      std::erase_if(changes_, [](const Change& change) { return change.is_list; });
    }
    if (changes_.empty() || dump_[upvalue_count_at_] != 0) return false;
    for (const auto& [at, instruction, is_list] : changes_) {
      std::memcpy(dump_.data() + at, &instruction, sizeof(instruction));
    }
    dump_[upvalue_count_at_] = static_cast<char>(std::size(kUpvalueNames));
    write_upvalue_names();
    return true;
  }

 private:
  struct Change {
    std::size_t at;  // in the dump
    Instruction instruction;
    bool is_list;
  };

  void read_function(bool is_main);
  Constants read_constants();
  void skip_debug_information();
  void judge(std::string_view code, const Constants& constants, bool is_main);
  void judge_list(const char* at, Upvalue list, Instruction read, Instruction next, bool is_main);
  void change(const char* at, Instruction instruction, bool is_list) {
    changes_.push_back({static_cast<std::size_t>(at - dump_.data()), instruction, is_list});
  }
  void write_upvalue_names();
  template <class T>
  void write(T value) {
    dump_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }

  std::string& dump_;
  DumpReader reader_;
  GlobalUse use_{.needs_no_guard = true, .keeps_lists = true, .ends_soon = true};
  std::size_t upvalue_count_at_ = 0;
  std::vector<Change> changes_;
};

void Search::read_function(bool is_main) {
  reader_.text();                  // source
  reader_.bytes(2 * sizeof(int));  // lines
  const std::string_view counts = reader_.bytes(4);
  if (is_main) upvalue_count_at_ = static_cast<std::size_t>(counts.data() - dump_.data());
  const std::string_view code = reader_.bytes(reader_.count() * sizeof(Instruction));
  const Constants constants = read_constants();
  if (!reader_.ok()) return;
  judge(code, constants, is_main);
  for (std::size_t left = reader_.count(); left > 0 && reader_.ok(); --left) read_function(false);
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

/// Does it lead back, or make a function that may be called again and again?
bool may_repeat(Instruction instruction) {
  switch (instruction.opcode()) {
    case kForLoop:
    case kIteratorLoop:
    case kClosure:
      return true;
    case kJump:
      return instruction.bx() < Instruction::kNoDistance;
    default:
      return false;
  }
}

/// Does `next`, which follows `read`, put its result where it finds what was read? Then nobody else
/// finds it there: it does not stay in a local.
bool replaces(Instruction next, Instruction read) {
  return next.b() == read.a() && next.a() == read.a();
}

/// The instruction that calls the register, if that is what the code does with it first. (In doubt
/// it is not.)
std::optional<Instruction> find_call(std::string_view code, std::uint32_t reg) {
  for (; !code.empty(); code.remove_prefix(sizeof(Instruction))) {
    const Instruction current = Instruction::at(code.data());
    switch (current.opcode()) {
      case kCall:
      case kTailCall:
        if (current.a() == reg) return current;
        break;
      case kLoadConstant:
      case kGetUpvalue:
      case kGetGlobal:
        break;
      case kMove:
        if (current.b() == reg) return std::nullopt;
        break;
      case kGetTable:
      case kConcatenate:
        if (current.b() == reg || current.c() == reg) return std::nullopt;
        break;
      default:
        return std::nullopt;
    }
    if (current.a() <= reg) return std::nullopt;
  }
  return std::nullopt;
}

/// The code begins with a read of redis, and of a field of it. Is the field "call", and called at
/// once, by somebody who takes no answer?
bool calls_without_answer(std::string_view code, const Constants& constants) {
  constexpr std::uint32_t kIsConstant = 0x100;
  const Instruction next = Instruction::at(code.data() + sizeof(Instruction));
  const std::uint32_t field = next.c() & ~kIsConstant;
  if ((next.c() & kIsConstant) == 0 || field >= constants.size()) return false;
  if (constants[field] != "call") return false;
  const auto call = find_call(code.substr(2 * sizeof(Instruction)), next.a());
  constexpr std::uint32_t kNoResults = 1;
  return call && call->opcode() == kCall && call->c() == kNoResults;
}

void Search::judge(std::string_view code, const Constants& constants, bool is_main) {
  // The last instruction returns, so each other has a next one.
  for (std::size_t i = 0; i + sizeof(Instruction) < code.size(); i += sizeof(Instruction)) {
    const char* const at = code.data() + i;
    const Instruction read = Instruction::at(at);
    if (read.opcode() == kSetGlobal) use_.needs_no_guard = false;
    if (may_repeat(read)) use_.ends_soon = false;
    if (read.opcode() != kGetGlobal) continue;
    const Instruction next = Instruction::at(at + sizeof(Instruction));
    const std::string_view name = read.bx() < constants.size() ? constants[read.bx()] : "_G";
    if (name == "_G") {
      use_ = {};
    } else if (name == "KEYS") {
      judge_list(at, kKeys, read, next, is_main);
    } else if (name == "ARGV") {
      judge_list(at, kArguments, read, next, is_main);
    } else if (name == "load" || name == "loadstring") {
      use_.ends_soon = false;
    } else if (std::ranges::count(kSharedTables, name) > 0) {
      if (next.opcode() != kGetTable || !replaces(next, read)) {
        use_.needs_no_guard = false;
      } else if (is_main && name == "redis") {
        const bool is_silent = calls_without_answer(code.substr(i), constants);
        change(at, Instruction::get_upvalue(read.a(), is_silent ? kRedisWithoutAnswers : kRedis),
               false);
      }
    }
  }
}

void Search::judge_list(const char* at, Upvalue list, Instruction read, Instruction next,
                        bool is_main) {
  const bool is_read = next.opcode() == kGetTable || next.opcode() == kLength;
  if (!is_read || !replaces(next, read)) {
    use_.keeps_lists = false;
  } else if (is_main) {
    change(at, Instruction::get_upvalue(read.a(), list), true);
  }
}

/// They stand at the end of the dump, which says so far that there are none.
void Search::write_upvalue_names() {
  dump_.resize(dump_.size() - sizeof(std::uint32_t));
  write(static_cast<std::uint32_t>(std::size(kUpvalueNames)));
  for (const std::string_view name : kUpvalueNames) {
    write(name.size() + 1);
    dump_.append(name).push_back('\0');
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

const char* read_dump(lua_State*, void* dump, std::size_t* size) {
  auto& left = *static_cast<std::string_view*>(dump);
  *size = left.size();
  return std::exchange(left, {}).data();
}

/// Puts the function that `dump` tells of in the place of the one on top of the stack; false, with
/// nothing changed, if there is no memory for it.
bool replace_function(lua_State* lua, std::string_view dump) {
  if (lua_load(lua, &read_dump, &dump, "") != 0) {
    lua_pop(lua, 1);
    return false;
  }
  lua_replace(lua, -2);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, LuaContext::of(lua).plain_globals);
  lua_getfield(lua, -1, "redis");
  lua_setupvalue(lua, -3, kRedis + 1);
  lua_pop(lua, 1);
  lua_createtable(lua, 0, 1);
  push_call_without_answer(lua);
  lua_setfield(lua, -2, "call");
  lua_setupvalue(lua, -2, kRedisWithoutAnswers + 1);
  return true;
}

}  // namespace

GlobalUse settle_globals(lua_State* lua) {
  std::string dump;
  if (lua_dump(lua, &append, &dump) != 0) return {};
  Search search(dump);
  GlobalUse use = search.run();
  if (!use.needs_no_guard) return use;
  const bool replaced = search.rewrite() && replace_function(lua, dump);
  use.has_list_upvalues = replaced && use.keeps_lists;
  lua_rawgeti(lua, LUA_REGISTRYINDEX, LuaContext::of(lua).plain_globals);
  lua_setfenv(lua, -2);
  return use;
}

void set_list_upvalues(lua_State* lua) {
  lua_setupvalue(lua, -3, kArguments + 1);
  lua_setupvalue(lua, -2, kKeys + 1);
}

}  // namespace rushgate
