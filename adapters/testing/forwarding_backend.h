// A client and a backend that forward every call: base classes for tests that watch or change
// requests.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <rushgate/backend.h>
#include <rushgate/client.h>

namespace rushgate::testing {

/// Forwards to another client, which it owns.
class ForwardingClient : public Client {
 public:
  explicit ForwardingClient(std::unique_ptr<Client> client) : client_(std::move(client)) {}

  void submit(Request request, Completion completion) override {
    client_->submit(std::move(request), std::move(completion));
  }
  Reply call(Request request) override { return client_->call(std::move(request)); }
  std::vector<Reply> pipeline(std::span<const Request> requests) override {
    return client_->pipeline(requests);
  }
  void unblock() override { client_->unblock(); }
  Reply sync() override { return client_->sync(); }
  [[nodiscard]] bool inside_callback() const override { return client_->inside_callback(); }
  [[nodiscard]] Request script_request(const Script& script, std::span<const std::string_view> keys,
                                       std::span<const std::string_view> arguments) const override {
    return client_->script_request(script, keys, arguments);
  }

 protected:
  [[nodiscard]] Client& client() const { return *client_; }

 private:
  const std::unique_ptr<Client> client_;
};

/// Forwards to another backend, which must outlive it.
class ForwardingBackend : public Backend {
 public:
  explicit ForwardingBackend(Backend& inner) : inner_(inner) {}

  using Backend::open_client;
  [[nodiscard]] std::unique_ptr<Client> open_client(const ClientOptions& options) override {
    return inner_.open_client(options);
  }
  [[nodiscard]] const Clock& clock() const override { return inner_.clock(); }
  [[nodiscard]] Scheduler& scheduler() override { return inner_.scheduler(); }
  [[nodiscard]] absl::Status health() const override { return inner_.health(); }
  [[nodiscard]] Capabilities capabilities() const override { return inner_.capabilities(); }
  void add_native_scripts(std::span<const NamedScript> scripts) override {
    inner_.add_native_scripts(scripts);
  }
  void add_connection_check(std::weak_ptr<const ConnectionCheck> check) override {
    inner_.add_connection_check(std::move(check));
  }

 private:
  Backend& inner_;
};

}  // namespace rushgate::testing
