#include "core/formats/opencode/json_texts.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/opencode/json_files.h"
#include "core/json/json_cursor.h"

namespace arborfs::opencode {
namespace {

constexpr std::uint64_t kLongestFile = std::uint64_t{64} << 20U;

Result<std::vector<std::string>> none_if_missing(const Error& error) {
  return error.code == Errc::not_found ? Result<std::vector<std::string>>(std::vector<std::string>()) : error;
}

}  // namespace

std::vector<std::string> ids_in(const Result<Dir>& dir) {
  const auto entries = dir ? dir->list() : Result<std::vector<DirEntry>>(dir.error());
  return entries ? ids_among(*entries) : std::vector<std::string>();
}

Result<std::vector<std::string>> all_ids_in(const Result<Dir>& dir) {
  return dir ? all_ids_in(*dir) : none_if_missing(dir.error());
}

Result<std::vector<std::string>> all_ids_in(const Dir& dir) {
  const auto entries = dir.list();
  return entries ? Result<std::vector<std::string>>(ids_among(*entries)) : none_if_missing(entries.error());
}

Result<std::string> whole_text_in(const Dir& dir, std::string_view id) {
  const std::string name = file_of_id(id);
  if (!is_plain_name(name)) {
    return Error{Errc::not_found, "no such file"};
  }
  FileStat st;
  ASSIGN_OR_RETURN(const auto file, File::follow_in(dir, name, &st));
  if (st.size > kLongestFile) {
    return Error{Errc::too_large, "the file " + name + " is longer than 64 MiB"};
  }
  return file.read(0, st.size);
}

std::string text_in(const Dir& dir, std::string_view id) {
  auto text = whole_text_in(dir, id);
  return text ? *std::move(text) : "";
}

std::string text_in(const Result<Dir>& dir, std::string_view id) {
  return dir ? text_in(*dir, id) : "";
}

double created_in(std::string_view message) {
  const std::string_view created = skim::member(skim::member(message, "time"), "created");
  double time = 0;
  const auto [end, failed] = std::from_chars(created.data(), created.data() + created.size(), time);
  return !created.empty() && failed == std::errc() ? time : std::numeric_limits<double>::infinity();
}

bool is_answer(std::string_view message) {
  return skim::member(message, "role") == "\"assistant\"";
}

bool has_end(std::string_view answer) {
  return !skim::member(skim::member(answer, "time"), "completed").empty() || !skim::member(answer, "error").empty();
}

}  // namespace arborfs::opencode
