#include "core/views/file_changes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <utility>

#include "core/entry/unified_diff.h"

namespace arborfs {
namespace {

constexpr std::uint64_t kMostKept = std::uint64_t{64} << 20U;  // bytes of all texts of a session
constexpr std::string_view kNoNumbers = "the numbers of its lines are not recorded: patch finds them by their text";

using Lines = std::vector<std::string>;

bool is_odd(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == '\x7f' || c == '"' || c == '\\';
}

/// A name as git writes it.
std::string quoted(std::string name) {
  if (std::none_of(name.begin(), name.end(), is_odd)) {
    return name;
  }
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') {
      text.append("\\").append(1, c);
    } else if (is_odd(c)) {
      std::array<char, 5> octal{};
      std::snprintf(octal.data(), octal.size(), "\\%03o", static_cast<unsigned>(static_cast<unsigned char>(c)));
      text += octal.data();
    } else {
      text += c;
    }
  }
  return text + "\"";
}

std::string name_of(char side, std::string_view path) {
  return quoted(std::string(1, side) + (path.starts_with('/') ? "" : "/") + std::string(path));
}

/// The name of a file that is renamed, which has no side.
std::string bare_name(std::string_view path) {
  return quoted(std::string(path.substr(path.starts_with('/') ? 1 : 0)));
}

/// The same for a line that begins with --- or +++, where a tab ends a name with spaces.
std::string header_name(char side, std::string_view path) {
  std::string name = name_of(side, path);
  return name.find(' ') == std::string::npos || name.front() == '"' ? name : name + "\t";
}

/// Only for what ---/+++ lines cannot say: `patch` writes such files last, and then does not find what it did before.
/// In this line it takes a space for the end of a name that has no quotes.
std::string git_line(std::string_view before, std::string_view after) {
  const auto closed = [](std::string name) {
    return name.find(' ') == std::string::npos || name.front() == '"' ? name : "\"" + name + "\"";
  };
  return "diff --git " + closed(name_of('a', before)) + " " + closed(name_of('b', after)) + "\n";
}

std::string header_lines(std::string_view path) {
  return "--- " + header_name('a', path) + "\n+++ " + header_name('b', path) + "\n";
}

/// Writes hunks that follow one another. Their numbers are those of a file that begins with the first of them.
class HunkWriter {
 public:
  /// A hunk of which `is_alone` is true has unchanged lines around the others, equally many at both ends, because
  /// `patch` takes one with fewer at its end for the end of a file. Others have none, because it looks for the next
  /// hunk in them.
  void add(std::span<const std::string> before, std::span<const std::string> after, bool is_alone) {
    const std::size_t most = std::min(before.size(), after.size());
    std::size_t lead = 0;
    while (lead < most && before[lead] == after[lead]) {
      ++lead;
    }
    std::size_t tail = 0;
    while (tail < most - lead && before[before.size() - tail - 1] == after[after.size() - tail - 1]) {
      ++tail;
    }
    const std::size_t kept = is_alone ? std::min(lead, tail) : 0;
    begin(before.size(), after.size());
    put(' ', before.first(kept));
    put('-', before.subspan(kept, before.size() - 2 * kept));
    put('+', after.subspan(kept, after.size() - 2 * kept));
    put(' ', before.last(kept));
  }
  /// A line that must stand above what follows.
  void pass(const std::string& line) {
    begin(1, 1);
    put('-', {&line, 1});
    put('+', {&line, 1});
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void begin(std::size_t before, std::size_t after) {
    text_ += "@@ -" + std::to_string(before_) + "," + std::to_string(before) + " +" + std::to_string(after_) + "," +
             std::to_string(after) + " @@\n";
    before_ += before;
    after_ += after;
  }
  void put(char sign, std::span<const std::string> lines) {
    for (const std::string& line : lines) {
      text_.append(1, sign).append(line).append("\n");
    }
  }

  std::string text_;
  std::size_t before_ = 1;
  std::size_t after_ = 1;
};

/// Both texts of a replacement as whole lines, if they can be such.
std::optional<std::pair<Lines, Lines>> lines_of(const EditedText& replacement) {
  const bool ends_line = replacement.before.ends_with('\n');
  const bool joins_lines = ends_line && !replacement.after.empty() && !replacement.after.ends_with('\n');
  if (replacement.is_all || replacement.before.empty() || joins_lines) {
    return std::nullopt;
  }
  const bool takes_line = replacement.takes_line_feed && replacement.after.empty();
  const std::string before = std::string(replacement.before) + (ends_line ? "" : "\n");
  const std::string after = std::string(replacement.after) + (ends_line || takes_line ? "" : "\n");
  return std::pair(lines_in(before), lines_in(after));
}

/// The text after a replacement; nothing if it has not the one place for it that agents ask for.
std::optional<std::string> replaced(const std::string& text, const EditedText& replacement) {
  const auto spans_lines = [](std::string_view part) { return part.find('\n') != std::string_view::npos; };
  const bool has_other_ends = text.find('\r') != std::string::npos;
  if (replacement.before.empty() ||
      (has_other_ends && (spans_lines(replacement.before) || spans_lines(replacement.after)))) {
    return std::nullopt;
  }
  std::string wanted(replacement.before);
  if (replacement.takes_line_feed && replacement.after.empty() && !wanted.ends_with('\n') &&
      text.find(wanted + "\n") != std::string::npos) {
    wanted += '\n';
  }
  std::string result;
  std::size_t count = 0;
  std::size_t from = 0;
  for (std::size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, from)) {
    result.append(text, from, at - from).append(replacement.after);
    from = at + wanted.size();
    ++count;
  }
  if (count == 0 || (count > 1 && !replacement.is_all)) {
    return std::nullopt;
  }
  return result.append(text, from);
}

void note_lines(std::vector<std::string>& notes, char sign, std::string_view text) {
  for (const std::string& line : lines_in(text)) {
    notes.push_back(sign + line);
  }
}

/// A line of ResultShape::numbered.
struct NumberedLine {
  char sign = ' ';
  std::size_t number = 0;  // 0: lines are left out here
  std::string text;
};

std::optional<NumberedLine> numbered_line(std::string_view line) {
  constexpr std::string_view kSigns = " +-";
  if (line.empty() || kSigns.find(line.front()) == std::string_view::npos) {
    return std::nullopt;
  }
  NumberedLine read{line.front(), 0, ""};
  line.remove_prefix(std::min(line.find_first_not_of(' ', 1), line.size()));
  if (line == "...") {
    return read.sign == ' ' ? std::optional(read) : std::nullopt;
  }
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), read.number);
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (error != std::errc() || read.number == 0 || line.empty() || (line.front() != ' ' && line.front() != '|')) {
    return std::nullopt;
  }
  read.text = line.substr(1);
  return read;
}

/// Makes hunks of numbered lines. Their context has the numbers that it had before.
std::optional<std::string> hunks_of(std::string_view numbered) {
  std::string text;
  std::string hunk;
  std::array<std::size_t, 2> first{};  // the first line of the hunk, before and after
  std::array<std::size_t, 2> next{};
  std::size_t added = 0;  // lines, in all hunks
  std::size_t removed = 0;
  const auto close = [&] {
    if (!hunk.empty()) {
      const auto range = [&](std::size_t side) {
        const std::size_t count = next[side] - first[side];
        return std::to_string(count == 0 ? first[side] - 1 : first[side]) + "," + std::to_string(count);
      };
      text += "@@ -" + range(0) + " +" + range(1) + " @@\n" + hunk;
      hunk.clear();
    }
  };
  for (const std::string& raw : lines_in(numbered)) {
    const auto line = numbered_line(raw);
    if (!line) {
      return std::nullopt;
    }
    if (line->number == 0) {
      close();
      continue;
    }
    if (hunk.empty()) {
      const bool is_new = line->sign == '+';
      if (line->number + (is_new ? removed : added) <= (is_new ? added : removed)) {
        return std::nullopt;
      }
      first = {is_new ? line->number + removed - added : line->number,
               is_new ? line->number : line->number + added - removed};
      next = first;
    }
    if (line->number != next[line->sign == '+' ? 1 : 0]) {
      return std::nullopt;
    }
    next[0] += line->sign == '+' ? 0 : 1;
    next[1] += line->sign == '-' ? 0 : 1;
    added += line->sign == '+' ? 1 : 0;
    removed += line->sign == '-' ? 1 : 0;
    hunk.append(1, line->sign).append(line->text).append("\n");
  }
  close();
  return added + removed == 0 ? std::nullopt : std::optional(text);
}

std::size_t size_of(const FileChanges::Contents& contents) {
  return contents ? contents->size() : 0;
}

std::string entry_word(const EntryOf& entry) {
  return "entry " + number_of(entry);
}

}  // namespace

bool FileChanges::is_known(const std::string& path) const {
  return open_.contains(path);
}

FileChanges::Part* FileChanges::open_part(const ChangeStep& step) {
  const auto open = open_.find(step.path);
  return open == open_.end() ? nullptr : &parts_[open->second];
}

FileChanges::Part& FileChanges::add_part(const ChangeStep& step) {
  const auto move = moves_.find(step.path);
  Part& part = parts_.emplace_back();
  part.name = move == moves_.end() ? step.path : move->second.from;
  part.change.path = step.path;
  part.change.entries.push_back(step.entry);
  for (const auto& [path, other] : moves_) {
    if (other.from == step.path && path != step.path) {
      part.change.notes.push_back("before that, the file of this name moved to " + path +
                                  ": it must be moved before this is applied");
    }
  }
  return part;
}

FileChanges::Part FileChanges::part_of(const std::string& path, const Move& move) {
  Part part;
  part.is_last = true;
  part.change.path = path;
  part.change.entries = move.entries;
  part.change.diff =
      git_line(move.from, path) + "rename from " + bare_name(move.from) + "\nrename to " + bare_name(path) + "\n";
  return part;
}

bool FileChanges::has_room(const ChangeStep& step, std::size_t bytes) {
  if (bytes > kMostKept || kept_ > kMostKept - bytes) {
    open_.erase(step.path);
    ++left_out_;
    return false;
  }
  kept_ += bytes;
  return true;
}

void FileChanges::found(const ChangeStep& step, Contents contents) {
  const Part* const open = open_part(step);
  if (open != nullptr && open->after == contents) {
    return;
  }
  if (!has_room(step, 2 * size_of(contents))) {
    return;
  }
  const EntryOf last = open == nullptr ? EntryOf() : open->change.entries.back();
  Part& part = add_part(step);
  if (last.ordinal != kNoEntry) {
    part.change.notes.push_back("something else changed it after " + entry_word(last) + ": how is not recorded");
  }
  part.is_known = true;
  part.before = contents;
  part.after = std::move(contents);
  open_[step.path] = parts_.size() - 1;
}

void FileChanges::set(const ChangeStep& step, Contents contents) {
  const Part* const open = open_part(step);
  const std::size_t had = open == nullptr ? 0 : size_of(open->after);
  kept_ -= had;
  if (!has_room(step, size_of(contents))) {
    return;
  }
  if (open == nullptr) {
    add_part(step).is_known = true;
    open_[step.path] = parts_.size() - 1;
  }
  Part& part = *open_part(step);
  if (!contents) {
    moves_.erase(step.path);
  }
  part.after = std::move(contents);
  if (part.change.entries.back() != step.entry) {
    part.change.entries.push_back(step.entry);
  }
}

void FileChanges::write(const ChangeStep& step, std::string contents) {
  const bool was_known = is_known(step.path);
  set(step, std::move(contents));
  if (Part* const part = open_part(step); part != nullptr && !was_known) {
    part->change.notes.push_back("what it held before " + entry_word(step.entry) +
                                 ", if it was there, is not recorded: shown as a new file");
  }
}

void FileChanges::edit(const ChangeStep& step, std::span<const EditedText> replacements) {
  const bool creates = replacements.size() == 1 && replacements.front().before.empty();
  const Part* const open = open_part(step);
  if (creates && (open == nullptr || size_of(open->after) == 0)) {
    write(step, std::string(replacements.front().after));
    return;
  }
  if (open == nullptr || !open->after) {
    show_edit(step, replacements);
    return;
  }
  std::optional<std::string> text = *open->after;
  for (const EditedText& replacement : replacements) {
    text = text ? replaced(*text, replacement) : std::nullopt;
  }
  if (text) {
    set(step, std::move(text));
    return;
  }
  unknown(step, entry_word(step.entry) + " changed it, but not the text that is known: from here on it is not known");
  show_edit(step, replacements);
}

void FileChanges::show_edit(const ChangeStep& step, std::span<const EditedText> replacements) {
  for (const EditedText& replacement : replacements) {
    if (!has_room(step, replacement.before.size() + replacement.after.size())) {
      return;
    }
    Part& part = add_part(step);
    DiffPart& change = part.change;
    if (const auto lines = lines_of(replacement)) {
      HunkWriter hunks;
      hunks.add(lines->first, lines->second, true);
      change.notes.push_back(std::string(kNoNumbers) + "; its first and last line may be parts of lines");
      change.diff = header_lines(part.name) + hunks.text();
      continue;
    }
    change.notes.emplace_back(replacement.is_all ? "each place with this text was replaced; where is not recorded:"
                                                 : "this text was replaced; the lines around it are not recorded:");
    note_lines(change.notes, '-', replacement.before);
    note_lines(change.notes, '+', replacement.after);
  }
}

void FileChanges::patch(const ChangeStep& step, const PatchedFile& file, const std::string& moved_to) {
  const bool was_known = is_known(step.path);
  if (file.does == PatchedFile::Does::adds) {
    write(step, file.added);
    return;
  }
  if (file.does == PatchedFile::Does::removes) {
    set(step, std::nullopt);
    if (Part* const part = open_part(step); part != nullptr && !was_known) {
      part->change.notes.push_back(entry_word(step.entry) + " removed it; what it held is not recorded");
    }
    return;
  }
  const Part* const open = open_part(step);
  const bool is_there = open != nullptr && open->after;
  auto text = is_there ? patched(*open->after, file.chunks) : std::nullopt;
  if (!text) {
    if (is_there) {
      unknown(step, entry_word(step.entry) + " patched other lines than are known: from here on it is not known");
    }
    show_chunks(step, file, moved_to);
    return;
  }
  if (moved_to.empty()) {
    set(step, std::move(text));
    return;
  }
  set(step, std::nullopt);
  write({step.entry, moved_to}, *std::move(text));
}

void FileChanges::show_chunks(const ChangeStep& step, const PatchedFile& file, const std::string& moved_to) {
  std::size_t bytes = 0;
  for (const PatchChunk& chunk : file.chunks) {
    for (const Lines* lines : {&chunk.before, &chunk.after}) {
      for (const std::string& line : *lines) {
        bytes += line.size() + 1;
      }
    }
  }
  if (!has_room(step, bytes)) {
    return;
  }
  Part& part = add_part(step);
  DiffPart& change = part.change;
  HunkWriter hunks;
  for (const PatchChunk& chunk : file.chunks) {
    if (chunk.below) {
      hunks.pass(*chunk.below);
    }
    if (!chunk.before.empty()) {
      hunks.add(chunk.before, chunk.after, file.chunks.size() == 1 && !chunk.below);
      continue;
    }
    change.notes.emplace_back("these lines were added at its end; where that is is not recorded:");
    for (const std::string& line : chunk.after) {
      change.notes.push_back("+" + line);
    }
  }
  if (!hunks.text().empty()) {
    change.notes.emplace_back(kNoNumbers);
    change.diff = header_lines(part.name) + hunks.text();
  }
  if (moved_to.empty()) {
    return;
  }
  Move move{part.name, {}};
  if (const auto earlier = moves_.find(step.path); earlier != moves_.end()) {
    move = std::move(earlier->second);
    moves_.erase(earlier);
  }
  move.entries.push_back(step.entry);
  moves_[moved_to] = std::move(move);
  open_.erase(moved_to);
}

bool FileChanges::lines(const ChangeStep& step, std::string_view numbered) {
  const auto hunks = hunks_of(numbered);
  if (!hunks) {
    return false;
  }
  open_.erase(step.path);
  if (has_room(step, hunks->size())) {
    Part& part = add_part(step);
    part.change.diff = header_lines(part.name) + *hunks;
  }
  return true;
}

void FileChanges::unknown(const ChangeStep& step, std::string note) {
  open_.erase(step.path);
  add_part(step).change.notes.push_back(std::move(note));
}

std::vector<DiffPart> FileChanges::take() && {
  for (const auto& [path, move] : moves_) {
    if (move.from != path) {
      parts_.push_back(part_of(path, move));
    }
  }
  for (Part& part : parts_) {
    DiffPart& change = part.change;
    if (part.is_known && part.before != part.after) {
      const std::string before = part.before.value_or("");
      const std::string after = part.after.value_or("");
      if ((before + after).find('\0') != std::string::npos) {
        change.notes.emplace_back("it is binary: its change is not shown");
      } else {
        part.is_last = before.empty() && after.empty();
        if (part.is_last) {
          change.diff =
              git_line(part.name, part.name) + (part.after ? "new file mode 100644\n" : "deleted file mode 100644\n");
        }
        const std::string old_name = part.before ? header_name('a', part.name) : "";
        const std::string new_name = part.after ? header_name('b', part.name) : "";
        change.diff += unified_diff({old_name, new_name}, before, after);
      }
    }
    part.before.reset();
    part.after.reset();
  }
  std::stable_partition(parts_.begin(), parts_.end(), [](const Part& part) { return !part.is_last; });
  std::vector<DiffPart> changes;
  for (Part& part : parts_) {
    if (!part.change.diff.empty() || !part.change.notes.empty()) {
      changes.push_back(std::move(part.change));
    }
  }
  return changes;
}

}  // namespace arborfs
