#include "engine/redis/script/lua_tables.h"

#include <algorithm>
#include <cstddef>

#include "engine/redis/script/lua_context.h"
#include "engine/redis/script/lua_guarded_functions.h"
#include "engine/redis/script/lua_sandbox.h"

namespace rushgate {
namespace {

// ---- foreach, foreachi ----

/// Calls the function at position 2 with the key and the value on top of the stack, and pops the
/// value. Returns true, with the result on top, if that is not nil.
bool visit(lua_State* lua) {
  LuaContext::of(lua).spend(lua, 1);  // functions of C come to no look
  lua_pushvalue(lua, 2);
  lua_insert(lua, -2);
  lua_pushvalue(lua, -3);
  lua_insert(lua, -2);
  lua_call(lua, 2, 1);
  if (!lua_isnil(lua, -1)) return true;
  lua_pop(lua, 1);
  return false;
}

/// foreach(table, function)
int foreach (lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  luaL_checktype(lua, 2, LUA_TFUNCTION);
  if (push_guarded(lua, 1)) lua_replace(lua, 1);
  LuaContext::of(lua).spend_on_table(lua);
  lua_pushnil(lua);
  while (lua_next(lua, 1) != 0) {
    if (visit(lua)) return 1;
  }
  return 0;
}

/// foreachi(list, function)
int foreachi(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  const int size = static_cast<int>(lua_objlen(lua, 1));
  luaL_checktype(lua, 2, LUA_TFUNCTION);
  for (int i = 1; i <= size; ++i) {
    lua_pushinteger(lua, i);
    lua_rawgeti(lua, 1, i);
    if (visit(lua)) return 1;
    lua_pop(lua, 1);
  }
  return 0;
}

// ---- insert, remove, maxn ----

/// insert(list, position, value), where the position may be far below the list. With two arguments
/// it is Lua's own.
int insert(lua_State* lua) {
  refuse_guard(lua, 1);
  luaL_checktype(lua, 1, LUA_TTABLE);
  if (lua_gettop(lua) != 3) return call_wrapped(lua);
  const int end = static_cast<int>(lua_objlen(lua, 1)) + 1;
  const int position = luaL_checkint(lua, 2);
  LuaContext& context = LuaContext::of(lua);
  for (int i = std::max(end, position); i > position; --i) {
    context.spend(lua, 1);
    lua_rawgeti(lua, 1, i - 1);
    lua_rawseti(lua, 1, i);
  }
  lua_rawseti(lua, 1, position);
  return 0;
}

/// A function that moves or traverses a whole list once.
int walk(lua_State* lua) {
  if (lua_istable(lua, 1)) LuaContext::of(lua).spend(lua, lua_objlen(lua, 1));
  return call_wrapped(lua);
}

// ---- sort ----

/// Sorts the list at position 1 by the function at position 2, or by `<` if that is nil. Compares
/// and exchanges in the order of Lua's own sort, so equal elements and contradictory functions give
/// the same results.
class Sorter {
 public:
  explicit Sorter(lua_State* lua)
      : lua_(lua), context_(LuaContext::of(lua)), has_function_(!lua_isnil(lua, 2)) {}

  /// Sorts the elements from `first` to `last`, by quicksort.
  void sort(int first, int last) {
    while (first < last) {
      const int middle = first + (last - first) / 2;
      order(first, last);
      if (last - first == 1) return;
      if (!order(first, middle)) order(middle, last);
      if (last - first == 2) return;
      const int pivot = partition(first, middle, last);
      // The smaller part by recursion, which is therefore not deep.
      if (pivot - first < last - pivot) {
        sort(first, pivot - 1);
        first = pivot + 1;
      } else {
        sort(pivot + 1, last);
        last = pivot - 1;
      }
    }
  }

 private:
  /// Exchanges the elements if the later one is less; returns whether it did.
  bool order(int earlier, int later) {
    lua_rawgeti(lua_, 1, earlier);
    lua_rawgeti(lua_, 1, later);
    const bool exchanges = is_less(-1, -2);
    if (exchanges) {
      put_both(earlier, later);
    } else {
      lua_pop(lua_, 2);
    }
    return exchanges;
  }

  /// Moves the elements less than the pivot, initially the middle element, before it, and the rest
  /// behind it. Returns its position. The outer elements are in order already.
  int partition(int first, int middle, int last) {
    lua_rawgeti(lua_, 1, middle);
    lua_pushvalue(lua_, -1);
    lua_rawgeti(lua_, 1, last - 1);
    put_both(middle, last - 1);
    int up = first;
    int down = last - 1;
    while (true) {
      while (push_and_compare(++up, true)) {
        check_order(up <= last);
        lua_pop(lua_, 1);
      }
      while (push_and_compare(--down, false)) {
        check_order(down >= first);
        lua_pop(lua_, 1);
      }
      if (down < up) break;
      put_both(up, down);
    }
    lua_pop(lua_, 3);  // the pivot, and the two elements that ended the loops
    lua_rawgeti(lua_, 1, last - 1);
    lua_rawgeti(lua_, 1, up);
    put_both(last - 1, up);
    return up;
  }

  /// Pushes the element. Returns true if it is less than the pivot, or the other way round.
  bool push_and_compare(int position, bool element_first) {
    lua_rawgeti(lua_, 1, position);
    const int pivot = element_first ? -2 : -3;
    return element_first ? is_less(-1, pivot) : is_less(pivot, -1);
  }

  void check_order(bool holds) {
    if (!holds) luaL_error(lua_, "invalid order function for sorting");
  }

  /// Pops two elements: the upper one goes to `upper`.
  void put_both(int upper, int lower) {
    lua_rawseti(lua_, 1, upper);
    lua_rawseti(lua_, 1, lower);
  }

  bool is_less(int left, int right) {
    context_.spend(lua_, 1);
    if (!has_function_) return is_less_by_itself(left, right);
    lua_pushvalue(lua_, 2);
    lua_pushvalue(lua_, left - 1);
    lua_pushvalue(lua_, right - 2);
    lua_call(lua_, 2, 1);
    const bool less = lua_toboolean(lua_, -1) != 0;
    lua_pop(lua_, 1);
    return less;
  }

  bool is_less_by_itself(int left, int right) {
    if (lua_type(lua_, left) == LUA_TSTRING) {
      context_.spend_on_bytes(lua_, lua_objlen(lua_, left));
    }
    return lua_lessthan(lua_, left, right) != 0;
  }

  lua_State* const lua_;
  LuaContext& context_;
  const bool has_function_;
};

/// sort(list [, function])
int sort(lua_State* lua) {
  constexpr int kStackNeeded = 40;  // two slots for each level of recursion, and for the elements
  luaL_checktype(lua, 1, LUA_TTABLE);
  const int size = static_cast<int>(lua_objlen(lua, 1));
  luaL_checkstack(lua, kStackNeeded, "");
  if (!lua_isnoneornil(lua, 2)) luaL_checktype(lua, 2, LUA_TFUNCTION);
  lua_settop(lua, 2);
  Sorter(lua).sort(1, size);
  return 0;
}

// ---- Installing ----

constexpr luaL_Reg kTableFunctions[] = {
    {"foreach", &foreach},
    {"foreachi", &foreachi},
    {"sort", &sort},
    {nullptr, nullptr},
};

}  // namespace

void install_table_functions(lua_State* lua) {
  luaL_register(lua, nullptr, kTableFunctions);
  wrap_function(lua, "insert", &insert);
  wrap_function(lua, "maxn", &walk);
  wrap_function(lua, "remove", &walk);
}

}  // namespace rushgate
