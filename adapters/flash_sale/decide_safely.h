// Calls of a sale on threads that no exception may leave.
#pragma once

#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rushgate {

inline constexpr const char* kThrewNoException =
    "the order store threw something that is no exception";

/// Returns the results that `decide` returns for the requests. An exception of a user's order store
/// becomes the result `unknown` of all, with the reason.
template <class Request, class Result, class Decide>
std::vector<Result> decide_safely(std::span<const Request> requests, Result unknown,
                                  const Decide& decide) {
  try {
    return decide(requests);
  } catch (const std::exception& error) {
    unknown.detail = error.what();
  } catch (...) {
    unknown.detail = kThrewNoException;
  }
  return std::vector<Result>(requests.size(), std::move(unknown));
}

}  // namespace rushgate
