// Early returns of errors.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

/// Returns from the function if the absl::Status is an error:
///   RETURN_IF_ERROR(store.commit());
#define RETURN_IF_ERROR(...)                                         \
  do {                                                               \
    if (absl::Status rg_status_ = (__VA_ARGS__); !rg_status_.ok()) { \
      return rg_status_;                                             \
    }                                                                \
  } while (false)

/// Declares or assigns `target`, the value of an absl::StatusOr, or returns its error from the
/// function. It is several statements, so it does not follow an `if` without braces:
///   ASSIGN_OR_RETURN(const Order order, orders.read(id));
#define ASSIGN_OR_RETURN(target, ...) \
  RUSHGATE_ASSIGN_OR_RETURN_(RUSHGATE_JOIN_(rg_result_, __LINE__), target, __VA_ARGS__)

#define RUSHGATE_ASSIGN_OR_RETURN_(result, target, ...) \
  auto result = (__VA_ARGS__);                          \
  if (!result.ok()) return std::move(result).status();  \
  target = *std::move(result)

#define RUSHGATE_JOIN_(a, b) RUSHGATE_JOIN_NOW_(a, b)
#define RUSHGATE_JOIN_NOW_(a, b) a##b
