cmake_minimum_required(VERSION 3.25)
project(shop LANGUAGES CXX)

find_package(GTest REQUIRED)
find_package(rushgate REQUIRED COMPONENTS testing)

add_executable(shop_test shop_test.cc)
target_link_libraries(shop_test PRIVATE rushgate::testing GTest::gmock_main)

enable_testing()
add_test(NAME shop_test COMMAND shop_test)
