# Run by ctest: see CMakeLists.txt.
cmake_minimum_required(VERSION 3.25)
set(prefix ${SCRATCH}/prefix)
set(project ${SCRATCH}/project)

function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\n${output}")
  endif()
endfunction()

# Configures the CMakeLists.txt in `folder`. It must find the installed package.
function(configure folder)
  run(${CMAKE_COMMAND} -S ${folder} -B ${folder}/build -G ${GENERATOR}
    -D CMAKE_PREFIX_PATH=${prefix}
    -D CMAKE_CXX_COMPILER=${COMPILER}
    -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}
    -D CMAKE_CXX_FLAGS=${FLAGS})
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
string(REPLACE "," ";" MODULES ${MODULES})
foreach(module IN LISTS MODULES)
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix} --component ${module})
endforeach()

# The headers in the folders include/rushgate are installed, and no others.
file(GLOB_RECURSE installed RELATIVE ${prefix}/include ${prefix}/include/*)
file(GLOB_RECURSE public RELATIVE ${SOURCE}
  ${SOURCE}/engine/*.h ${SOURCE}/storage/*.h ${SOURCE}/adapters/*.h)
list(FILTER public INCLUDE REGEX "/include/rushgate/[^/]*$")
list(TRANSFORM public REPLACE ".*/include/" "")
set(private ${installed})
list(REMOVE_ITEM private ${public})
if(private)
  message(FATAL_ERROR "private headers are installed: ${private}")
endif()
set(optional rocksdb sqlite postgresql mysql redis resp_server fiber)
list(REMOVE_ITEM optional ${MODULES})
list(REMOVE_ITEM public ${installed})
if(public AND NOT optional)
  message(FATAL_ERROR "public headers are not installed: ${public}")
endif()

# Every module is found with its dependencies.
file(WRITE ${SCRATCH}/all/CMakeLists.txt "
  cmake_minimum_required(VERSION 3.25)
  project(every_module LANGUAGES CXX)
  find_package(rushgate 0.1 REQUIRED COMPONENTS ${MODULES})
  find_package(rushgate REQUIRED)
  find_package(rushgate QUIET COMPONENTS engine no_such_module)
  if(rushgate_FOUND)
    message(FATAL_ERROR \"found an unknown module\")
  endif()
  file(CONFIGURE OUTPUT empty.cc CONTENT \"int main() {}\")
  add_executable(every_module \${CMAKE_CURRENT_BINARY_DIR}/empty.cc)
  foreach(module ${MODULES})
    target_link_libraries(every_module PRIVATE rushgate::\${module})
  endforeach()
  find_package(GTest REQUIRED)  # included by headers of the testing kit
  target_link_libraries(every_module PRIVATE GTest::gmock)

  # A shared library can be linked from all of them.
  file(CONFIGURE OUTPUT exported.cc CONTENT \"extern int exported; int exported = 1;\")
  add_library(shared_modules SHARED \${CMAKE_CURRENT_BINARY_DIR}/exported.cc)
  set(archives)
  foreach(module ${MODULES})
    list(APPEND archives \$<TARGET_FILE:rushgate::\${module}>)
    target_link_libraries(shared_modules PRIVATE rushgate::\${module})
  endforeach()
  target_link_options(shared_modules PRIVATE
    LINKER:--whole-archive \${archives} LINKER:--no-whole-archive)

  # The installed headers need nothing that is not installed, in either order, and define nothing that
  # two files of a program would both define. (That each compiles alone is a part of `./dev check`.) A
  # header with a suite of tests is in one file alone.
  file(GLOB headers RELATIVE ${prefix}/include ${prefix}/include/rushgate/*.h)
  set(forward \"\")
  set(backward \"\")
  foreach(header \${headers})
    string(APPEND forward \"#include <\${header}>\\n\")
    if(NOT header MATCHES _contract)
      string(PREPEND backward \"#include <\${header}>\\n\")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT forward.cc CONTENT \"\${forward}\")
  file(CONFIGURE OUTPUT backward.cc CONTENT \"\${backward}\")
  target_sources(every_module PRIVATE
    \${CMAKE_CURRENT_BINARY_DIR}/forward.cc \${CMAKE_CURRENT_BINARY_DIR}/backward.cc)
  if(NOT rushgate/engine.h IN_LIST headers)
    message(FATAL_ERROR \"no public headers in ${prefix}/include\")
  endif()
")
configure(${SCRATCH}/all)
run(${CMAKE_COMMAND} --build ${SCRATCH}/all/build)

# With a missing dependency it is not found. A QUIET search continues.
file(WRITE ${SCRATCH}/lacking/CMakeLists.txt "
  cmake_minimum_required(VERSION 3.25)
  project(lacking LANGUAGES CXX)
  set(CMAKE_DISABLE_FIND_PACKAGE_spdlog TRUE)
  find_package(rushgate QUIET COMPONENTS engine)
  if(rushgate_FOUND OR TARGET rushgate::engine)
    message(FATAL_ERROR \"found without spdlog\")
  endif()
")
configure(${SCRATCH}/lacking)

# The same with an untested version of RocksDB.
file(WRITE ${SCRATCH}/other/rocksdb.pc "Name: rocksdb\nDescription: another\nVersion: 10.1.1\n")
file(WRITE ${SCRATCH}/other/CMakeLists.txt "
  cmake_minimum_required(VERSION 3.25)
  project(other LANGUAGES CXX)
  set(ENV{PKG_CONFIG_PATH} ${SCRATCH}/other)
  find_package(rushgate QUIET COMPONENTS rocksdb)
  if(rushgate_FOUND OR NOT rushgate_NOT_FOUND_MESSAGE MATCHES \"rocksdb 10.1.1 was found.*from 7.8\")
    message(FATAL_ERROR \"found with RocksDB 10: \${rushgate_NOT_FOUND_MESSAGE}\")
  endif()
")
if(rocksdb IN_LIST MODULES)
  configure(${SCRATCH}/other)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${SCRATCH}/other
      ${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH}/refused -G ${GENERATOR}
      -D CMAKE_CXX_COMPILER=${COMPILER} -D RUSHGATE_TESTS=OFF -D RUSHGATE_BENCH=OFF
    OUTPUT_QUIET ERROR_VARIABLE refusal RESULT_VARIABLE status)
  if(status EQUAL 0 OR NOT refusal MATCHES "rocksdb 10.1.1 was found")
    message(FATAL_ERROR "configured with RocksDB 10.1.1: ${refusal}")
  endif()
endif()

# A project that tests its own script.
file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/shop_project.cmake ${SCRATCH}/CMakeLists.txt)
file(MAKE_DIRECTORY ${project})
file(RENAME ${SCRATCH}/CMakeLists.txt ${project}/CMakeLists.txt)
file(COPY ${CMAKE_CURRENT_LIST_DIR}/shop_test.cc DESTINATION ${project})
configure(${project})
run(${CMAKE_COMMAND} --build ${project}/build)
run(${CMAKE_CTEST_COMMAND} --test-dir ${project}/build --no-tests=error --output-on-failure)

# The first program of README.md, linked as README.md shows.
if(flash_sale IN_LIST MODULES)
  set(first ${SCRATCH}/first)
  file(MAKE_DIRECTORY ${first})
  file(COPY_FILE ${SOURCE}/tests/project/readme/embed.cc ${first}/embed.cc)
  file(WRITE ${first}/CMakeLists.txt "
    cmake_minimum_required(VERSION 3.25)
    project(first LANGUAGES CXX)
    find_package(rushgate REQUIRED COMPONENTS flash_sale)
    add_executable(first embed.cc)
    target_link_libraries(first PRIVATE rushgate::flash_sale)
  ")
  configure(${first})
  run(${CMAKE_COMMAND} --build ${first}/build)
  run(${first}/build/first ${first}/shop)
endif()

# A file that includes the header of a whole sale, and nothing else, takes at most 2 s of processor time
# on a machine on which reference.cc takes 1.33 s. When this was written, it took 1.0 s there with GCC 12,
# and 1.6 s with GCC 14 and the libraries of Debian 13.
function(time_of variable file)
  file(REMOVE ${SCRATCH}/times)
  run(${CMAKE_COMMAND} -E env RUSHGATE_TIMES=${SCRATCH}/times ${build_time}/timed
    ${COMPILER} -std=c++20 -fsyntax-only -I ${prefix}/include ${file})
  file(READ ${SCRATCH}/times seconds)
  string(REGEX REPLACE "^([0-9]+)\\.([0-9][0-9]).*" "\\1\\2" hundredths "${seconds}")
  set(${variable} ${hundredths} PARENT_SCOPE)
endfunction()
if(flash_sale IN_LIST MODULES)
  set(build_time ${SOURCE}/tests/bench/build_time)
  file(WRITE ${SCRATCH}/header.cc "#include <rushgate/flash_sale.h>\n")
  foreach(attempt RANGE 1 3)  # other programs may disturb one
    time_of(header ${SCRATCH}/header.cc)
    time_of(reference ${build_time}/reference.cc)
    message(STATUS "<rushgate/flash_sale.h> took 0.01 * ${header} s, reference.cc 0.01 * ${reference} s")
    math(EXPR bound "${reference} * 200 / 133")
    if(NOT header GREATER bound)
      break()
    endif()
  endforeach()
  if(header GREATER bound)
    message(FATAL_ERROR "<rushgate/flash_sale.h> takes too long to compile")
  endif()
endif()
