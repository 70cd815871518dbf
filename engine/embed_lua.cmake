# Makes a header of each .lua file: cmake -DROOT=… -DTO=… -DFOLDER=… -P embed_lua.cmake.
#
# For FOLDER/x/token_bucket.lua (a path below ROOT) it writes, if the contents differ,
#   TO/FOLDER/x/token_bucket.lua    the whole script, for redis-cli and luacheck
#   TO/FOLDER/x/token_bucket.lua.h  the same text as rushgate::lua::kTokenBucket
# and TO/FOLDER/all.lua.h, a list of all of them.
#
# A line `-- #include "common.lua"` stands for the text of that file, in the folder of the including
# one or below ROOT. A file that is included twice stands at the first place only. Nothing else
# changes: a script without such lines is embedded byte for byte, so its SHA is that of the file.
#
# What Lua and C++ share is written once, in Lua:
#   local SOLD_OUT = 1                      rushgate::lua::<file>::kSoldOut
#   local voucher, stock = unpack(KEYS)     rushgate::lua::<File>Keys, a struct of these keys
#                                           (of voucher_keys.lua: VoucherKeys)
cmake_minimum_required(VERSION 3.25)

# to_camel(<result> <name>): token_bucket and TOKEN_BUCKET become TokenBucket.
function(to_camel result name)
  string(TOLOWER ${name} lower)
  string(REPLACE "_" ";" words ${lower})
  set(camel "")
  foreach(word IN LISTS words)
    string(SUBSTRING ${word} 0 1 first)
    string(SUBSTRING ${word} 1 -1 rest)
    string(TOUPPER ${first} first)
    string(APPEND camel ${first}${rest})
  endforeach()
  set(${result} ${camel} PARENT_SCOPE)
endfunction()

# assemble(<file>): appends the file and what it includes to the variable `text`.
function(assemble file)
  if(NOT EXISTS ${file})
    message(FATAL_ERROR "${including} includes ${file}, which does not exist")
  endif()
  set(including ${file})
  list(APPEND included ${file})
  file(READ ${file} rest)
  cmake_path(GET file PARENT_PATH folder)
  while(rest MATCHES "(^|\n)(-- #include \"([a-z_/]+\\.lua)\"\n)")
    set(line "${CMAKE_MATCH_2}")
    set(name ${CMAKE_MATCH_3})
    string(FIND "${rest}" "${line}" at)
    string(SUBSTRING "${rest}" 0 ${at} before)
    string(APPEND text "${before}")
    string(LENGTH "${line}" length)
    math(EXPR at "${at} + ${length}")
    string(SUBSTRING "${rest}" ${at} -1 rest)
    set(other ${folder}/${name})
    if(name MATCHES "/")
      set(other ${ROOT}/${name})
    endif()
    if(NOT other IN_LIST included)
      assemble(${other})
    endif()
  endwhile()
  string(APPEND text "${rest}")
  set(text "${text}" PARENT_SCOPE)
  set(included ${included} PARENT_SCOPE)
endfunction()

# describe_constants(<result> <file>): the constants of a file in C++.
function(describe_constants result file)
  cmake_path(GET file STEM stem)
  file(READ ${file} source)
  string(REGEX MATCHALL "\nlocal [A-Z][A-Z0-9_]* = -?[0-9]+" lines "\n${source}")
  set(constants "")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "local ([A-Z0-9_]+) = (-?[0-9]+)" line "${line}")
    set(value ${CMAKE_MATCH_2})
    to_camel(name ${CMAKE_MATCH_1})
    string(APPEND constants "inline constexpr int k${name} = ${value};\n")
  endforeach()
  if(constants)
    set(constants "\nnamespace ${stem} {\n${constants}}  // namespace ${stem}\n")
  endif()
  set(${result} "${constants}" PARENT_SCOPE)
endfunction()

# describe_keys(<result> <file> <type>): the keys of a script as a struct.
function(describe_keys result file type)
  file(READ ${file} source)
  set(keys "")
  if(source MATCHES "\nlocal ([a-z_,\n ]+) = unpack\\(KEYS(, 1, [0-9]+)?\\)\n")
    string(REGEX REPLACE "[ \n]" "" names "${CMAKE_MATCH_1}")
    string(REPLACE "," ";" names "${names}")
    list(JOIN names ", " all)
    set(enumerators "")
    foreach(name IN LISTS names)
      to_camel(enumerator ${name})
      list(APPEND enumerators k${enumerator})
    endforeach()
    list(JOIN enumerators ", " enumerators)
    string(REGEX REPLACE "Keys$" "" type ${type})
    string(CONCAT keys "\n/// The keys of ${shown}.\nstruct ${type}Keys {\n"
      "  enum At : std::size_t { ${enumerators}, kCount };  // in KEYS, from 0\n\n")
    foreach(name IN LISTS names)
      string(APPEND keys "  std::string ${name};\n")
    endforeach()
    string(APPEND keys "\n  /// Returns the keys in the script's order. They live as long as this object.\n"
      "  [[nodiscard]] std::array<std::string_view, kCount> in_order() const {\n"
      "    return {${all}};\n  }\n};\n")
  endif()
  set(${result} "${keys}" PARENT_SCOPE)
endfunction()

function(write_if_different path text)
  set(present "")
  if(EXISTS ${path})
    file(READ ${path} present)
  endif()
  if(NOT EXISTS ${path} OR NOT present STREQUAL text)
    file(WRITE ${path} "${text}")
  endif()
endfunction()

file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/${FOLDER}/*.lua)
set(stems "")
set(includes "")
set(list "")
foreach(shown IN LISTS files)
  cmake_path(GET shown STEM stem)
  if(stem IN_LIST stems)
    message(FATAL_ERROR "two .lua files in ${FOLDER} are called ${stem}.lua")
  endif()
  list(APPEND stems ${stem})
  to_camel(type ${stem})
  string(APPEND includes "#include \"${shown}.h\"\n")
  string(APPEND list "    {\"${shown}\", k${type}},\n")
  set(text "")
  set(included "")
  assemble(${ROOT}/${shown})
  describe_constants(constants ${ROOT}/${shown})
  describe_keys(keys ${ROOT}/${shown} ${type})
  write_if_different(${TO}/${shown} "${text}")
  write_if_different(${TO}/${shown}.h "// Made of ${shown}.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace rushgate::lua {

[[maybe_unused]] constexpr char k${type}[] = R\"lua(${text})lua\";
${constants}${keys}
}  // namespace rushgate::lua
")
endforeach()

cmake_path(GET FOLDER FILENAME name)
to_camel(type ${name})
write_if_different(${TO}/${FOLDER}/all.lua.h "// The .lua files of ${FOLDER}.
#pragma once

#include <string_view>
#include <utility>

${includes}
namespace rushgate::lua {

/// Path and text of each.
constexpr std::pair<std::string_view, std::string_view> kAllOf${type}[] = {
${list}};

}  // namespace rushgate::lua
")
