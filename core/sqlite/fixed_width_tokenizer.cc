#include "core/sqlite/fixed_width_tokenizer.h"

#include <sqlite3.h>

#include "core/base/error.h"

namespace arborfs::sqlite {
namespace {

int create(void* /*context*/, const char** /*arguments*/, int /*count*/, Fts5Tokenizer** made) {
  static char only_one;  // it has no state
  *made = reinterpret_cast<Fts5Tokenizer*>(&only_one);
  return SQLITE_OK;
}

void destroy(Fts5Tokenizer* /*tokenizer*/) {}

using TakeToken = int (*)(void*, int, const char*, int, int, int);

int tokenize(Fts5Tokenizer* /*tokenizer*/, void* context, int /*flags*/, const char* text, int size, TakeToken take) {
  constexpr int kBytes = kTokenBytes;
  for (int at = 0; at + kBytes <= size; at += kBytes) {
    if (const int code = take(context, 0, text + at, kBytes, at, at + kBytes); code != SQLITE_OK) {
      return code;
    }
  }
  return SQLITE_OK;
}

Error no_full_text_search() {
  return {Errc::unsupported, "this SQLite has no full-text search"};
}

/// How SQLite hands out the functions of FTS5.
fts5_api* full_text_search(sqlite3* connection) {
  fts5_api* found = nullptr;
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(connection, "SELECT fts5(?1)", -1, &statement, nullptr) == SQLITE_OK) {
    sqlite3_bind_pointer(statement, 1, static_cast<void*>(&found), "fts5_api_ptr", nullptr);
    sqlite3_step(statement);
  }
  sqlite3_finalize(statement);
  return found;
}

}  // namespace

Result<void> add_fixed_width_tokenizer(const Connection& connection) {
  fts5_api* const search = full_text_search(connection.handle());
  fts5_tokenizer tokenizer{create, destroy, tokenize};
  const bool is_known =
      search != nullptr && search->xCreateTokenizer(search, "fixed_width", nullptr, &tokenizer, nullptr) == SQLITE_OK;
  return is_known ? Result<void>() : Result<void>(no_full_text_search());
}

}  // namespace arborfs::sqlite
