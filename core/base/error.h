// Errors and results. Every function that can fail for a reason outside the program returns Result<T>;
// exceptions are for bugs and for running out of memory (CONTRACT.md 8.1). The messages are for people: they say
// which operation failed and never contain session content.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace arborfs {

/// The kind of failure. fs/ maps each to one errno, tools/ to an exit status.
enum class Errc {
  not_found,         // no such session, entry, file
  invalid_argument,  // the caller's input is malformed
  not_utf8,          // the caller's input is not UTF-8
  already_exists,
  busy,        // in use by another process, or still locked after the wait
  stale,       // the named object was replaced or has changed
  read_only,   // the mount, a log of an unknown version, or content that cannot be written
  permission,  // the operating system refused
  io,          // the disk failed, or the bytes are not what they should be
  no_space,
  over_quota,
  not_permitted,  // refused for every caller
  too_large,
  interrupted,
  unsupported,
  corrupt,  // something in the store does not match its name or kind
};

struct Error {
  Errc code = Errc::io;
  std::string message;
};

/// Makes an Error from an errno value and the failed operation, such as "cannot open the file".
Error error_from_errno(int errnum, std::string doing);

/// A value or an Error; the member names are those of std::expected, which can replace it later.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)
  Result(Errc code, std::string message) : state_(std::in_place_index<1>, Error{code, std::move(message)}) {}

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  [[nodiscard]] const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), failed_(true) {}  // NOLINT(google-explicit-constructor)
  Result(Errc code, std::string message) : error_{code, std::move(message)}, failed_(true) {}

  [[nodiscard]] bool has_value() const { return !failed_; }
  explicit operator bool() const { return has_value(); }
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  Error error_;
  bool failed_ = false;
};

}  // namespace arborfs

#define RETURN_IF_ERROR(...)                                      \
  do {                                                            \
    if (auto arborfs_result_ = (__VA_ARGS__); !arborfs_result_) { \
      return arborfs_result_.error();                             \
    }                                                             \
  } while (false)

#define ASSIGN_OR_RETURN(declaration, ...) \
  ARBORFS_ASSIGN_OR_RETURN(ARBORFS_JOINED(arborfs_result_, __LINE__), declaration, __VA_ARGS__)

#define ARBORFS_ASSIGN_OR_RETURN(result, declaration, ...) \
  auto result = (__VA_ARGS__);                             \
  if (!result) {                                           \
    return result.error();                                 \
  }                                                        \
  declaration = *std::move(result)

#define ARBORFS_JOINED(a, b) ARBORFS_JOINED_NOW(a, b)
#define ARBORFS_JOINED_NOW(a, b) a##b
