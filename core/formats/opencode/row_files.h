// The rows of one session in OpenCode's database, for ShownFiles: `<table>/<key>.json` is one row as a JSON object of
// its columns, generated on request. Only tables with sessions are read (opencode/FORMAT.md A3). Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/sqlite/database.h"
#include "core/store/shown_files.h"

namespace arborfs::opencode {

class RowFiles final : public ShownFiles {
 public:
  /// `database` outlives it.
  RowFiles(const sqlite::Database& database, std::string session) : database_(database), session_(std::move(session)) {}

  [[nodiscard]] bool takes_long(const std::string& path) const override { return !path.empty(); }
  [[nodiscard]] Result<Stat> stat(const std::string& path) const override;
  [[nodiscard]] Result<bool> is_folder(const std::string& path) const override;
  [[nodiscard]] Result<std::vector<Item>> list(const std::string& path) const override;
  [[nodiscard]] Result<Content> open(const std::string& path) const override;

 private:
  struct Table;
  struct RowText;
  static const std::vector<Table>& tables();
  [[nodiscard]] static const Table* table_of(std::string_view path);
  /// Which rows of the session a query is about.
  struct Wanted {
    std::string_view columns;
    std::string_view key;  // "" for all
    bool only_one = false;
  };
  template <class Value, class Convert>
  [[nodiscard]] Result<std::vector<Value>> select(const Table& table, const Wanted& wanted,
                                                  const Convert& convert) const;
  [[nodiscard]] Result<bool> has_row(const Table& table, std::string_view key) const;
  [[nodiscard]] Result<RowText> row_text(const std::string& path) const;
  const sqlite::Database& database_;
  const std::string session_;
};

}  // namespace arborfs::opencode
