// Waits in a call for the result of a callback.
#pragma once

#include <future>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include <rushgate/client.h>

namespace rushgate {

/// Suspends the caller, as `method` does, until the callback that `begin` gets has run. Returns the
/// callback's argument. Null: the calling thread sleeps.
template <class Result>
Result wait_for(const WaitMethod* method,
                absl::FunctionRef<void(absl::AnyInvocable<void(Result)>)> begin) {
  if (method == nullptr) {
    const auto result = std::make_shared<std::promise<Result>>();
    begin([result](Result value) { result->set_value(std::move(value)); });
    return result->get_future().get();
  }
  Result result{};
  method->wait([&](WaitMethod::Event& done) {
    begin([&](Result value) {
      result = std::move(value);
      done.happen();
    });
  });
  return result;
}

}  // namespace rushgate
