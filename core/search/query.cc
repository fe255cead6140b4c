#include "core/search/query.h"

#include <algorithm>
#include <iterator>

#include "core/base/error.h"
#include "core/base/suggestion.h"
#include "core/entry/text.h"
#include "core/json/text_bytes.h"
#include "core/json/utf8.h"
#include "core/search/period.h"
#include "core/search/touched.h"

namespace arborfs::search {

namespace {

constexpr std::string_view kFilters[] = {"agent", "project", "title", "tag",   "path",
                                         "role",  "tool",    "label", "after", "before"};
constexpr std::size_t kShown = 40;  // characters of a word in an error

/// One part of a query: a word or a phrase, perhaps with the name of a filter before it.
struct Part {
  bool is_unwanted = false;
  std::string filter;
  std::string value;
  bool is_open = false;  // its quotation mark is not closed
};

class Parts {
 public:
  explicit Parts(std::string_view text) : rest_(text) {}

  std::optional<Part> next() {
    skip_blanks();
    if (rest_.empty()) {
      return std::nullopt;
    }
    Part part;
    if (rest_.size() > 1 && rest_.front() == '-' && !json::is_space(rest_[1])) {
      part.is_unwanted = true;
      rest_.remove_prefix(1);
    }
    if (rest_.front() != '"') {
      part.filter = take_filter();
    }
    part.is_open = rest_.front() == '"' && rest_.find('"', 1) == std::string_view::npos;
    part.value = take_value();
    return part;
  }

 private:
  void skip_blanks() {
    while (!rest_.empty() && json::is_space(rest_.front())) {
      rest_.remove_prefix(1);
    }
  }
  std::string take_filter() {
    for (const std::string_view name : kFilters) {
      if (rest_.starts_with(name) && rest_.size() > name.size() + 1 && rest_[name.size()] == ':' &&
          rest_[name.size() + 1] != ':' && !json::is_space(rest_[name.size() + 1])) {
        rest_.remove_prefix(name.size() + 1);
        return std::string(name);
      }
    }
    return "";
  }
  /// A phrase up to its closing quote, or to the end if there is none; else a word.
  std::string take_value() {
    if (rest_.front() == '"') {
      const std::size_t end = rest_.find('"', 1);
      std::string phrase(rest_.substr(1, end == std::string_view::npos ? end : end - 1));
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      return phrase;
    }
    const auto end = std::find_if(rest_.begin(), rest_.end(), json::is_space);
    std::string word(rest_.begin(), end);
    rest_.remove_prefix(word.size());
    return word;
  }
  std::string_view rest_;
};

Result<void> set_once(std::string& filter, const Part& part, std::string value) {
  if (!filter.empty()) {
    return {Errc::invalid_argument, "the filter " + part.filter + ": may be given only once"};
  }
  filter = std::move(value);
  return {};
}

Result<void> set_time(std::optional<std::int64_t>& filter, const Part& part) {
  const auto time = start_of(part.value);
  if (!time) {
    return {Errc::invalid_argument, part.filter + ": " + no_time(part.value)};
  }
  if (filter) {
    return {Errc::invalid_argument, "the filter " + part.filter + ": may be given only once"};
  }
  filter = time;
  return {};
}

Result<void> take_filter(Query& query, const Part& part) {
  if (part.is_unwanted) {
    return {Errc::invalid_argument, "a filter cannot be excluded with '-'"};
  }
  if (part.filter == "after" || part.filter == "before") {
    return set_time(part.filter == "after" ? query.after_ms : query.before_ms, part);
  }
  std::string& filter = part.filter == "agent"     ? query.agent
                        : part.filter == "project" ? query.project
                        : part.filter == "title"   ? query.title
                        : part.filter == "tag"     ? query.tag
                        : part.filter == "path"    ? query.path
                        : part.filter == "role"    ? query.role
                        : part.filter == "tool"    ? query.tool
                                                   : query.label;
  if (part.filter == "path" && !PathFilter(part.value).is_name()) {
    return {Errc::invalid_argument, "path: needs a file, or a folder with a slash at its end"};
  }
  const bool is_folded = part.filter == "title" || part.filter == "tool";
  return set_once(filter, part, is_folded ? folded(part.value) : part.value);
}

bool is_empty(const Query& query) {
  return query.wanted.empty() && query.agent.empty() && query.project.empty() && query.title.empty() &&
         query.tag.empty() && query.path.empty() && !query.filters_entries();
}

}  // namespace

Result<Query> parse_query(std::string_view text) {
  if (text.size() > kMostQueryBytes) {
    return Error{Errc::too_large, "a query may have at most 1024 bytes"};
  }
  if (!json::is_valid_utf8(text)) {
    return Error{Errc::not_utf8, "the query is not UTF-8"};
  }
  Query query;
  Parts parts(text);
  while (const auto part = parts.next()) {
    if (part->is_open) {
      return Error{Errc::invalid_argument, "the quotation mark before '" + visible_line(part->value, kShown) +
                                               "' is not closed; write one behind the phrase, too"};
    }
    if (!part->filter.empty()) {
      RETURN_IF_ERROR(take_filter(query, *part));
    } else if (!part->value.empty()) {
      (part->is_unwanted ? query.unwanted : query.wanted).push_back(folded(part->value));
    }
  }
  if (query.wanted.size() + query.unwanted.size() > kMostWords) {
    return Error{Errc::too_large, "a query may have at most 32 words"};
  }
  if (is_empty(query)) {
    return Error{Errc::invalid_argument, "the query has no word to search for"};
  }
  return query;
}

std::string query_named(std::string_view name) {
  std::string query;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const std::string_view three = name.substr(at, 3);
    const bool is_slash = three == "%2F" || three == "%2f";
    const bool is_spelled = is_slash || three == "%25";
    query += is_slash ? '/' : is_spelled ? '%' : name[at];
    at += is_spelled ? 2 : 0;
  }
  return query;
}

std::string misspelt_filter(const Query& query) {
  const std::vector<std::string> names(std::begin(kFilters), std::end(kFilters));
  for (const std::string& word : query.wanted) {
    const std::size_t colon = word.find(':');
    const bool has_value = colon != std::string::npos && colon + 1 < word.size() && word[colon + 1] != '/';
    const std::string name = word.substr(0, has_value ? colon : 0);
    if (const std::string meant = nearest(name, names); !meant.empty() && meant != name) {
      return "'" + visible_line(name, kShown) + ":' is no filter" + did_you_mean(meant + ":");
    }
  }
  return "";
}

}  // namespace arborfs::search
