#include "core/os/own_list.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/base/log.h"
#include "core/base/words.h"
#include "core/os/file.h"
#include "core/os/state_dir.h"

namespace arborfs {
namespace {

constexpr std::uint64_t kLongestList = 1 << 20;

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find('\t', at), line.size());
    fields.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return fields;
}

}  // namespace

std::string_view ListRow::operator[](std::string_view column) const {
  const auto at = static_cast<std::size_t>(std::find(columns_.begin(), columns_.end(), column) - columns_.begin());
  return at < fields_.size() && at < columns_.size() ? fields_[at] : std::string_view();
}

Result<void> read_list(std::string_view list, std::initializer_list<const char*> needed,
                       const std::function<std::string(const ListRow&)>& take) {
  std::optional<std::vector<std::string_view>> columns;
  Result<void> done;
  const auto refuse = [&done](std::size_t line, const std::string& what) {
    done = done ? Result<void>(Errc::invalid_argument, "line " + std::to_string(line) + ": " + what) : done;
  };
  for (std::size_t number = 1; !list.empty(); ++number) {
    std::string_view line = take_line(list);
    line = line.substr(0, line.find_last_not_of('\r') + 1);
    if (line.empty() || line.starts_with('#')) {
      continue;
    }
    if (columns) {
      if (const std::string wrong = take(ListRow(*columns, fields_of(line))); !wrong.empty()) {
        refuse(number, wrong);
      }
      continue;
    }
    columns = fields_of(line);
    const bool has_all = std::all_of(needed.begin(), needed.end(), [&](const char* name) {
      return std::find(columns->begin(), columns->end(), name) != columns->end();
    });
    if (!has_all) {
      refuse(number, "the first line names the columns, among them " + join_words({needed.begin(), needed.end()}) +
                         ", with tabs between them");
      break;
    }
  }
  return done;
}

OwnList read_own_list(const std::string& name, const std::function<Result<void>(std::string_view)>& add) {
  OwnList own;
  const auto dir = Dir::open_root(config_path(""));
  const auto file = dir ? File::open_in(*dir, name) : Result<File>(dir.error());
  if (!file && file.error().code == Errc::not_found) {
    return own;
  }
  own.path = config_path(name);
  auto text = file ? file->read(0, kLongestList + 1) : Result<std::string>(file.error());
  if (text && text->size() > kLongestList) {
    text = Error{Errc::too_large, "the file is too long"};
  }
  if (const auto added = text ? add(*text) : Result<void>(text.error()); !added) {
    own.problem = own.path + ": " + added.error().message;
    write_log(LogLevel::warning, own.problem);
  }
  return own;
}

}  // namespace arborfs
