#include "core/views/session_changes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/base/words.h"
#include "core/entry/text.h"
#include "core/json/document.h"
#include "core/store/format.h"
#include "core/views/tool_calls.h"
#include "core/views/tool_patch.h"

namespace arborfs {
namespace {

using Does = ToolShape::Does;

constexpr std::size_t kNoteCharacters = 4096;
constexpr std::size_t kMostNamed = 20;                            // entries in one line
constexpr std::uint64_t kMostWaiting = std::uint64_t{64} << 20U;  // bytes of calls without a result so far

/// The member that a way with dots leads to.
const json::Value* follow(const json::Value* value, std::string_view way) {
  while (value != nullptr && !way.empty()) {
    const std::size_t end = std::min(way.find('.'), way.size());
    value = json::member(*value, way.substr(0, end));
    way.remove_prefix(std::min(end + 1, way.size()));
  }
  return value;
}

/// What a record tells of one file.
struct Told {
  std::string path;  // "" if the record does not name it
  std::optional<std::string> before;
  std::optional<std::string> after;
  bool is_created = false;
  std::string numbered;
  std::optional<std::string> replaced;
  std::optional<std::string> by;
};

/// A call whose result has not come yet.
struct WaitingCall {
  EntryOf entry;
  std::size_t session = 0;
  std::size_t number = 0;  // in the order of the calls
  const ToolShape* shape = nullptr;
  std::string arguments;  // as JSON
};

class ChangeTaker final : public CallTaker {
 public:
  ChangeTaker(std::span<const CallsOf> sessions, std::vector<std::string> folders)
      : sessions_(sessions), folders_(std::move(folders)) {}

  bool take_call(const CallEntry& entry, const TurnPart& call, const ToolShape& shape,
                 const json::Value& arguments) override {
    if (shape.does == Does::reads) {
      return false;
    }
    if (shape.does == Does::runs && !is_patch(command_of(subject_of(shape, arguments)))) {
      commands_.push_back(entry.of);
      return false;
    }
    WaitingCall waiting{entry.of, entry.session, ++calls_, &shape, call.text};
    if (call.call_id.empty()) {
      tell_unknown(waiting, arguments);
      return false;
    }
    if (waiting_bytes_ + call.text.size() > kMostWaiting) {
      ++left_out_;
      return false;
    }
    waiting_bytes_ += call.text.size();
    const auto [place, is_new] = waiting_.try_emplace(Id(entry.session, call.call_id));
    if (!is_new) {  // the result is that of one of them
      waiting_bytes_ -= place->second.arguments.size();
      tell_unknown(place->second);
    }
    place->second = std::move(waiting);
    return true;
  }

  void take_result(const CallEntry& entry, const TurnPart& result) override {
    const auto found = waiting_.find(Id(entry.session, result.call_id));
    const WaitingCall call = std::move(found->second);
    waiting_.erase(found);
    waiting_bytes_ -= call.arguments.size();
    if (result.is_error || result.text.find(call.shape->success) == std::string::npos) {
      return;
    }
    json::Document arguments;
    json::parse(call.arguments, arguments);
    const auto told = told_by(entry, result.call_id);
    if (call.shape->does == Does::patches || call.shape->does == Does::runs) {
      patch(call, arguments, told);
    } else {
      change(call, arguments, told);
    }
  }

  SessionChanges take(std::uint64_t too_long) && {
    std::vector<WaitingCall> left;
    for (auto& [id, call] : waiting_) {
      left.push_back(std::move(call));
    }
    std::sort(left.begin(), left.end(),
              [](const WaitingCall& one, const WaitingCall& other) { return one.number < other.number; });
    for (const WaitingCall& call : left) {
      tell_unknown(call);
    }
    const std::uint64_t left_out = too_long + left_out_ + changes_.left_out();
    return {std::move(changes_).take(), std::move(commands_), left_out};
  }

 private:
  using Id = std::pair<std::size_t, std::string>;  // of a call: its session, and its own id

  static const json::Value& subject_of(const ToolShape& shape, const json::Value& arguments) {
    return shape.subject.empty() ? arguments : *json::member(arguments, shape.subject);
  }

  static Told told_in(const ResultShape& shape, const json::Value& object) {
    const auto text = [&](std::string_view key) {
      const auto value = key.empty() ? std::nullopt : json::string_member(object, key);
      return value ? std::optional<std::string>(*value) : std::nullopt;
    };
    Told told;
    told.path = text(shape.path).value_or("");
    told.before = text(shape.before);
    told.after = text(shape.after);
    const json::Value* const created = shape.created.empty() ? nullptr : json::member(object, shape.created);
    told.is_created = created != nullptr && json::stringify(*created) == shape.created_is;
    told.numbered = text(shape.numbered).value_or("");
    told.replaced = text(shape.replaced);
    told.by = text(shape.by);
    return told;
  }

  std::vector<Told> told_by(const CallEntry& entry, const std::string& call_id) {
    std::vector<Told> told;
    const std::span<const ResultShape> shapes = sessions_[entry.session].session.format().results;
    if (shapes.empty()) {
      return told;
    }
    if (!(record_entry_ == entry.of)) {  // a record of OpenCode has many results
      record_ = json::Document();
      json::parse(entry.raw, record_);
      record_entry_ = entry.of;
    }
    for (const ResultShape& shape : shapes) {
      const json::Value* item = &std::as_const(record_);
      if (!shape.results.empty()) {
        const json::Value* const list = follow(item, shape.results);
        item = nullptr;
        if (list != nullptr && list->IsArray()) {
          for (const json::Value& one : list->GetArray()) {
            item = json::is_string(json::member(one, shape.id), call_id) ? &one : item;
          }
        }
      }
      const json::Value* const object = follow(item, shape.object);
      const json::Value* const files = object == nullptr || shape.files.empty() ? nullptr
                                       : shape.files == "."                     ? object
                                                                                : json::member(*object, shape.files);
      if (files != nullptr && files->IsArray()) {
        for (const json::Value& file : files->GetArray()) {
          told.push_back(told_in(shape, file));
        }
      } else if (object != nullptr && object->IsObject()) {
        told.push_back(told_in(shape, *object));
      }
    }
    return told;
  }

  /// Joins what a record tells of one file in several places.
  [[nodiscard]] static Told told_of(const std::vector<Told>& told, const std::string& folder, const std::string& path,
                                    bool is_of_call) {
    Told all;
    for (const Told& one : told) {
      if (one.path.empty() ? is_of_call : whole_path(one.path, folder) == path) {
        all.before = one.before ? one.before : all.before;
        all.after = one.after ? one.after : all.after;
        all.is_created = all.is_created || one.is_created;
        all.numbered = one.numbered.empty() ? all.numbered : one.numbered;
        all.replaced = one.replaced ? one.replaced : all.replaced;
        all.by = one.by ? one.by : all.by;
      }
    }
    return all;
  }

  void tell_before(const ChangeStep& step, const Told& told) {
    if (told.is_created) {
      changes_.found(step, std::nullopt);
    } else if (told.before) {
      changes_.found(step, told.before);
    }
  }

  /// An edit or a write.
  void change(const WaitingCall& call, const json::Value& arguments, const std::vector<Told>& told) {
    const json::Value& subject = subject_of(*call.shape, arguments);
    if (!subject.IsString() || !is_path(json::as_string(subject))) {
      return;
    }
    const std::string& folder = folders_[call.session];
    const ChangeStep step{call.entry, whole_path(json::as_string(subject), folder)};
    const Told about = told_of(told, folder, step.path, true);
    tell_before(step, about);
    if (about.after) {
      changes_.write(step, *about.after);
      return;
    }
    if (call.shape->does == Does::writes) {
      if (const auto contents = json::string_member(arguments, call.shape->after)) {
        changes_.write(step, std::string(*contents));
      } else {
        tell_unknown(call, arguments, "wrote it; what is not recorded");
      }
      return;
    }
    if (!changes_.is_known(step.path) && !about.numbered.empty() && changes_.lines(step, about.numbered)) {
      return;
    }
    auto replacements = replacements_of(*call.shape, arguments);
    if (replacements.size() == 1 && about.replaced && about.by) {
      replacements.front().before = *about.replaced;
      replacements.front().after = *about.by;
    }
    if (replacements.empty()) {
      tell_unknown(call, arguments, "changed it; how is not recorded");
    } else {
      changes_.edit(step, replacements);
    }
  }

  static std::vector<EditedText> replacements_of(const ToolShape& shape, const json::Value& arguments) {
    std::vector<EditedText> replacements;
    const auto add = [&](const json::Value& edit) {
      const auto before = shape.before.empty() ? std::nullopt : json::string_member(edit, shape.before);
      const auto after = shape.after.empty() ? std::nullopt : json::string_member(edit, shape.after);
      if (!before || !after) {
        return false;
      }
      const bool is_all = !shape.all.empty() && json::is_truthy(json::member(edit, shape.all));
      replacements.push_back({*before, *after, is_all, shape.takes_line_feed});
      return true;
    };
    const json::Value* const list = shape.list.empty() ? nullptr : json::member(arguments, shape.list);
    if (list == nullptr) {
      add(arguments);
    } else if (list->IsArray()) {
      for (const json::Value& edit : list->GetArray()) {
        if (!add(edit)) {
          return {};
        }
      }
    }
    return replacements;
  }

  [[nodiscard]] std::string folder_of_call(const WaitingCall& call, const json::Value& arguments) const {
    const std::string_view key = call.shape->folder;
    const std::string own = key.empty() ? "" : json::text_member(arguments, key);
    const std::string& folder = folders_[call.session];
    return own.empty() ? folder : whole_path(own, folder);
  }

  void patch(const WaitingCall& call, const json::Value& arguments, const std::vector<Told>& told) {
    const std::string folder = folder_of_call(call, arguments);
    const auto files = files_of_patch(command_of(subject_of(*call.shape, arguments)));
    for (const PatchedFile& file : files) {
      if (!is_path(file.path)) {
        continue;
      }
      const ChangeStep step{call.entry, whole_path(file.path, folder)};
      const Told about = told_of(told, folders_[call.session], step.path, files.size() == 1);
      tell_before(step, about);
      const std::string moved_to = file.moved_to.empty() ? "" : whole_path(file.moved_to, folder);
      if (about.after && moved_to.empty() && file.does == PatchedFile::Does::updates) {
        changes_.write(step, *about.after);
      } else {
        changes_.patch(step, file, moved_to);
      }
    }
    if (!files.empty()) {
      return;
    }
    for (const Told& one : told) {
      if (!is_path(one.path)) {
        continue;
      }
      const ChangeStep step{call.entry, whole_path(one.path, folder)};
      tell_before(step, one);
      if (one.after && (one.before || one.is_created)) {
        changes_.write(step, *one.after);
      } else if (!changes_.lines(step, one.numbered)) {
        changes_.unknown(step, "entry " + number_of(call.entry) + " changed it; how is not recorded");
      }
    }
  }

  void tell_unknown(const WaitingCall& call, const json::Value& arguments) {
    tell_unknown(call, arguments, "has no result: whether it changed the file is not recorded");
  }

  void tell_unknown(const WaitingCall& call) {
    json::Document arguments;
    json::parse(call.arguments, arguments);
    tell_unknown(call, arguments);
  }

  void tell_unknown(const WaitingCall& call, const json::Value& arguments, std::string_view what) {
    const json::Value& subject = subject_of(*call.shape, arguments);
    const std::string note = "entry " + number_of(call.entry) + " " + std::string(what);
    if (call.shape->does == Does::patches || call.shape->does == Does::runs) {
      for (const PatchedFile& file : files_of_patch(command_of(subject))) {
        if (is_path(file.path)) {
          changes_.unknown({call.entry, whole_path(file.path, folder_of_call(call, arguments))}, note);
        }
      }
    } else if (subject.IsString() && is_path(json::as_string(subject))) {
      changes_.unknown({call.entry, whole_path(json::as_string(subject), folders_[call.session])}, note);
    }
  }

  const std::span<const CallsOf> sessions_;
  const std::vector<std::string> folders_;  // their working directories
  json::Document record_;                   // that of record_entry_
  EntryOf record_entry_;
  FileChanges changes_;
  std::vector<EntryOf> commands_;
  std::map<Id, WaitingCall> waiting_;
  std::size_t calls_ = 0;
  std::uint64_t waiting_bytes_ = 0;
  std::uint64_t left_out_ = 0;
};

std::string entries_text(const std::vector<EntryOf>& entries) {
  std::string text = entries.size() == 1 ? "entry " : "entries ";
  for (std::size_t at = 0; at < std::min(entries.size(), kMostNamed); ++at) {
    text += (at == 0 ? "" : ", ") + number_of(entries[at]);
  }
  return text + (entries.size() > kMostNamed ? ", …" : "");
}

}  // namespace

Result<SessionChanges> session_changes(std::span<const CallsOf> sessions) {
  ASSIGN_OR_RETURN(auto folders, folders_of(sessions));
  ChangeTaker taker(sessions, std::move(folders));
  ASSIGN_OR_RETURN(const auto too_long, read_tool_calls(sessions, taker));
  return std::move(taker).take(too_long);
}

std::string changes_diff(const SessionChanges& changes) {
  std::string text;
  if (!changes.commands.empty()) {
    text += "# What " + counted(changes.commands.size(), "command", "commands") + " changed is not recorded (" +
            entries_text(changes.commands) + "): see commands.txt\n";
  }
  if (changes.left_out != 0) {
    text += "# " + counted(changes.left_out, "entry or change", "entries or changes") + " too long to be looked at\n";
  }
  for (const DiffPart& change : changes.changes) {
    text += text.empty() ? "" : "\n";
    text += "# " + visible_line(change.path, kNoteCharacters) + " · " + entries_text(change.entries) + "\n";
    for (const std::string& note : change.notes) {
      text += "# " + visible_line(note, kNoteCharacters) + "\n";
    }
    text += change.diff;
  }
  return text;
}

}  // namespace arborfs
