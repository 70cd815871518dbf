// The .lua files of a module, compared with a real redis-server.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/redis_server/redis_server.h"
#include <rushgate/redis_backend.h>
#include <rushgate/script.h>

namespace rushgate::testing {

/// Fails unless redis-server compiles each whole script below `folder`, as redis-cli reads it, and
/// gives it the SHA of the embedded text. `files` is a list of all.lua.h.
inline void expect_same_scripts(
    const std::filesystem::path& folder,
    std::span<const std::pair<std::string_view, std::string_view>> files) {
  RedisServer server;
  const auto backend = RedisBackend::open(*RedisOptions::from_url(server.url()));
  ASSERT_TRUE(backend.ok()) << backend.status();
  const auto client = (*backend)->open_client();
  for (const auto& [path, text] : files) {
    std::ifstream in(folder / path, std::ios::binary);
    ASSERT_TRUE(in) << path;
    const std::string whole{std::istreambuf_iterator<char>(in), {}};
    const Reply loaded = (*client)("SCRIPT", "LOAD", whole);
    EXPECT_EQ(loaded, Reply::bulk(Script(std::string(text)).sha1())) << path;
  }
}

}  // namespace rushgate::testing
