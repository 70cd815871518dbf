// Fixture of the tests of commands: a keyspace over a store in memory, and the checks that every
// command must pass.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "engine/core/base/numbers.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_table.h"
#include "engine/redis/commands/dispatch.h"
#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/script/lua_host.h"
#include "engine/redis/script/native_host.h"
#include "tests/unit/commands/lone_services.h"
#include <rushgate/memory_store.h>
#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate {

/// Tests commands with rollback and reload.
///
/// run() executes a command twice, with a rollback in between. The rollback must restore the old
/// contents, and the second reply must equal the first unless the command draws at random. After
/// each test, a second keyspace loads the store and must equal the first.
class CommandTest : public ::testing::Test {
 protected:
  static constexpr std::int64_t kStartMs = 1'700'000'000'123;

  CommandTest() { keyspace_.set_now_ms(kStartMs); }

  void TearDown() override { expect_reload_equals(); }

  /// Commits, and loads a second keyspace from the store.
  void expect_reload_equals() {
    commit();
    Keyspace loaded(store_, kSeed);
    ASSERT_TRUE(loaded.load().ok());
    loaded.set_now_ms(keyspace_.now_ms());
    EXPECT_EQ(dump(loaded), dump(keyspace_)) << "the store and the memory differ";
  }

  /// Runs a command: run("SET", "key", 5). By value, so that literals of all lengths share the templates.
  template <class... Args>
  Reply run(Args... args) {
    return run_request(Request::of(args...));
  }

  /// Runs a command and returns its reply as to_debug_string() formats it.
  template <class... Args>
  std::string text(Args... args) {
    return to_debug_string(run(args...));
  }

  /// Runs a command once, without the checks of run(), which read the whole keyspace.
  template <class... Args>
  Reply run_unchecked(Args... args) {
    return run_once(Request::of(args...));
  }

  Reply run_request(const Request& request) {
    const auto before = dump(keyspace_);
    const Session session_before = session_;
    const Random random_before = keyspace_.random();
    const auto savepoint = keyspace_.changes().savepoint();
    const Reply first = run_once(request);
    EXPECT_TRUE(!first.is_error() || dump(keyspace_) == before)
        << "a failed command changed the keyspace";
    keyspace_.changes().roll_back_to(savepoint);
    EXPECT_EQ(dump(keyspace_), before) << "a rollback did not restore the keyspace";
    session_ = session_before;
    keyspace_.random() = random_before;
    Reply second = run_once(request);
    if (draws(request)) {
      EXPECT_EQ(second.kind(), first.kind());
    } else {
      EXPECT_EQ(second, first) << to_debug_string(second) << " after a rollback, "
                               << to_debug_string(first) << " before";
    }
    return second;
  }

  void advance_ms(std::int64_t duration_ms) {
    keyspace_.set_now_ms(keyspace_.now_ms() + duration_ms);
  }

  /// Commits, so that earlier changes can no longer be undone.
  void commit() { ASSERT_TRUE(keyspace_.commit().ok()); }

  /// Returns all visible data, without expired keys and fields: database and key -> expiry and value.
  std::map<std::string, std::string> contents() { return dump(keyspace_); }

  Keyspace& keyspace() { return keyspace_; }
  Session& session() { return session_; }
  CommandServices& services() { return services_; }

 private:
  static constexpr std::uint64_t kSeed = 7;

  struct NeverStop final : BusyMonitor {
    bool poll() override { return false; }
  };

  /// Returns true if the command draws at random. Its choice depends on places in a table, and a
  /// rollback changes these.
  static bool draws(const Request& request) {
    const CommandSpec* const spec = find_command(request.views()[0]);
    if (spec == nullptr) return false;
    const auto is = [spec](std::string_view name) { return spec->name == name; };
    return is("spop") || is("srandmember") || is("hrandfield") || is("randomkey");
  }

  Reply run_once(const Request& request) {
    CommandContext context(services_, session_, request, CommandContext::Origin::kClient, false);
    return run_command(context);
  }

  static std::map<std::string, std::string> dump(Keyspace& keyspace) {
    std::map<std::string, std::string> all;
    for (std::size_t i = 0; i < Keyspace::kDatabases; ++i) {
      keyspace.db(i).for_each([&](Object& object) {
        if (keyspace.db(i).has_expired(object)) return;
        all[std::to_string(i) + ' ' + std::string(object.key())] =
            std::to_string(object.expire_at_ms()) + ' ' + dump_value(object, keyspace.now_ms());
      });
    }
    return all;
  }

  static std::string dump_value(Object& object, std::int64_t now_ms) {
    std::map<std::string, std::string> elements;
    std::size_t size = 0;
    switch (object.type()) {
      case ValueType::kString:
        return object.string().bytes();
      case ValueType::kHash:
        size = object.hash().size();
        object.hash().for_each([&](std::string_view field, std::string_view value) {
          const auto expire_at_ms = object.hash().expiry(field);
          if (expire_at_ms && *expire_at_ms <= now_ms) {
            --size;  // no longer visible
          } else {
            elements.emplace(field, std::string(value) + expiry_text(expire_at_ms));
          }
        });
        break;
      case ValueType::kSet:
        object.set().for_each([&](std::string_view member) { elements.emplace(member, ""); });
        size = object.set().size();
        break;
      case ValueType::kSortedSet: {
        const SortedSetValue& value = object.sorted_set();
        value.for_each(0, value.size(), [&](const ScoredElement& element) {
          EXPECT_EQ(value.score(element.member), element.score);
          elements.emplace(element.member, DoubleText(element.score).view());
        });
        size = value.size();
        break;
      }
      case ValueType::kStream:
        return "a stream";
      case ValueType::kList:
        return dump_list(object.list());
    }
    EXPECT_EQ(elements.size(), size);
    EXPECT_NE(size, 0U) << "an empty collection remains at " << object.key();
    std::string text(type_name(object.type()));
    for (const auto& [element, value] : elements) {
      text.append(" [").append(element).append("][").append(value).append("]");
    }
    return text;
  }

  static std::string expiry_text(std::optional<std::int64_t> expire_at_ms) {
    return expire_at_ms ? " until " + std::to_string(*expire_at_ms) : "";
  }

  static std::string dump_list(const ListValue& list) {
    EXPECT_NE(list.size(), 0U) << "an empty list remains";
    std::string text = "list";
    list.for_each(0, list.size(), [&](ListPosition position, const std::string& element) {
      text.append(" [").append(std::to_string(position)).append("][").append(element).append("]");
    });
    return text;
  }

  MemoryStore store_{{.keep_state = true}};
  Keyspace keyspace_{store_, kSeed};
  NeverStop never_stop_;
  LuaHost lua_{LuaLimits{}, never_stop_, nullptr};
  NativeHost natives_;
  Session session_;
  LoneServices lone_services_{keyspace_, lua_, natives_};
  CommandServices& services_ = lone_services_.get();
};

inline constexpr const char* kWrongType =
    "(error) WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr const char* kNotAnInteger = "(error) ERR value is not an integer or out of range";
inline constexpr const char* kSyntaxError = "(error) ERR syntax error";

}  // namespace rushgate
