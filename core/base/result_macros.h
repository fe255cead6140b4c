// Macros that return the error of a Result to the caller. Internal: they have no prefix, so no public header of a
// library may include this one.
//
//   RETURN_IF_ERROR(disk.sync(fd));                          // an expression of type Result<T>; drops its value
//   ASSIGN_OR_RETURN(const FileStat stat, file.stat());      // declares `stat`, of type FileStat
//   ASSIGN_OR_RETURN(stat, file.stat());                     // assigns it
//
// The enclosing function returns a Result or an Error.
#pragma once

#include <utility>

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
