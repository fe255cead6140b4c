#include "core/formats/opal/dets_translation.h"

#include <array>
#include <string_view>

#include "core/base/result_macros.h"
#include "core/formats/opal/dets_file.h"
#include "core/formats/opal/erlang_term.h"
#include "core/json/json_cursor.h"

namespace arborfs::opal {
namespace {

constexpr std::uint64_t kObjectCount = 32;  // its offset (opal/FORMAT.md D2)
constexpr std::string_view kHeaderKey = "\"__session_meta__\"";

/// The members that Opal writes although they are nil (opal/FORMAT.md B3).
bool is_kept_nil(std::string_view key) {
  return key == "content" || key == "parent_id";
}

/// Appends a map without the members that Opal leaves out of its JSON.
void append_message(std::string_view map, std::string& out) {
  std::string_view before = "{";
  for (skim::Cursor members(map); members.next();) {
    const std::string_view key = members.key();
    const std::string_view value = members.value();
    const bool is_left_out =
        key == "__struct__" || (value == "null" && !is_kept_nil(key)) || (key == "tool_calls" && value == "[]");
    if (!is_left_out) {
      out.append(before).append("\"").append(key).append("\":").append(value);
      before = ",";
    }
  }
  out += before == "{" ? "{}" : "}";
}

/// The members of a header, in the order in which Opal wrote them.
std::string header_from(std::string_view map) {
  std::string out;
  for (const std::string_view key : {"current_id", "metadata", "session_id"}) {
    if (const std::string_view value = skim::member(map, key); !value.empty()) {
      out.append(out.empty() ? "{\"" : ",\"").append(key).append("\":").append(value);
    }
  }
  return out.empty() ? "{}" : out + "}";
}

class Lines {
 public:
  Result<void> take(const DetsFile::Found& found) {
    object_.clear();
    if (!found.problem.empty()) {
      return note(found.offset, found.problem);
    }
    if (!append_term(found.term, object_)) {
      return note(found.offset, "the object has a term that JSON cannot hold, or its bytes are damaged");
    }
    skim::Cursor pair(object_);
    const std::string_view key = object_.front() == '[' && pair.next() ? pair.value() : std::string_view();
    const std::string_view value = pair.next() ? pair.value() : std::string_view();
    if (key.empty() || !value.starts_with('{')) {
      return note(found.offset, "the object is not a message");
    }
    if (key == kHeaderKey) {
      header_ = header_from(value);
      return check();
    }
    append_message(value, messages_);
    messages_ += '\n';
    return check();
  }

  Result<void> note(std::uint64_t offset, std::string_view problem) {
    messages_.append("at byte ").append(std::to_string(offset)).append(": ").append(problem).append("\n");
    return check();
  }

  [[nodiscard]] std::string all() const { return header_ + "\n" + messages_; }

 private:
  [[nodiscard]] Result<void> check() const {
    if (messages_.size() + header_.size() > kLongestTranslation) {
      return Error{Errc::too_large, "the session is too long to be translated"};
    }
    return {};
  }

  std::string header_ = "{}";
  std::string messages_;
  std::string object_;  // as JSON
};

}  // namespace

Result<std::string> translate_dets(const LogSource& file, const std::atomic<bool>* cancelled) {
  ASSIGN_OR_RETURN(const auto table, DetsFile::open(file));
  Lines lines;
  std::uint64_t objects = 0;
  const auto take = [&](const DetsFile::Found& found) {
    objects += found.problem.empty() ? 1 : 0;
    return lines.take(found);
  };
  RETURN_IF_ERROR(table.each(take, cancelled));
  if (!table.is_closed()) {
    RETURN_IF_ERROR(lines.note(0,
                               "a program has the table open, or ended without closing it; its last changes may be "
                               "missing"));
  } else if (objects < table.objects()) {
    RETURN_IF_ERROR(lines.note(kObjectCount, "the table says that it has " + std::to_string(table.objects()) +
                                                 " objects, but only " + std::to_string(objects) + " can be read"));
  }
  return lines.all();
}

}  // namespace arborfs::opal
