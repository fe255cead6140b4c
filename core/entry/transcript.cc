#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/columns.h"
#include "core/entry/names.h"
#include "core/entry/people_path.h"
#include "core/entry/text.h"
#include "core/entry/views.h"

namespace arborfs {
namespace {

constexpr std::size_t kHeadingWord = 40;
constexpr std::size_t kHeadingId = 80;

/// 2026-02-16 10:20:30 +0100 in local time, or "" if JavaScript would not print the time.
std::string clock_time(std::int64_t milliseconds) {
  constexpr std::int64_t kLastDate = 8'640'000'000'000'000;
  if (milliseconds == Entry::kNoTime || milliseconds < -kLastDate || milliseconds > kLastDate) {
    return "";
  }
  return local_time(milliseconds, "%Y-%m-%d %H:%M:%S %z");
}

/// Words of a heading, in which nothing is markup.
std::string heading_words(std::string_view text, std::size_t columns) {
  constexpr std::string_view kMarkup = "\\`*{}[]()#+!|<>~$&@^=\"'";
  std::string words;
  char before = ' ';
  for (const char c : visible_line(text, columns)) {
    const bool is_pair = c == before && (c == '-' || c == '.' || c == '_');
    const bool is_edge = c == '_' && before == ' ';
    words.append(is_pair || is_edge || kMarkup.find(c) != std::string_view::npos ? "\\" : "").push_back(c);
    before = c;
  }
  return words;
}

}  // namespace

std::string entry_heading(const LogIndex& index, Ordinal ordinal) {
  std::string heading = "## " + heading_words(index.role(ordinal), kHeadingWord);
  const std::string time = clock_time(index.entry(ordinal).timestamp_ms);
  if (!time.empty()) {
    heading += " · " + time;
  }
  const EntryId id = index.id(ordinal);
  if (id.kind != EntryId::Kind::missing) {
    heading += " · " + heading_words(id.text, kHeadingId);
  }
  return heading + "\n\n";
}

std::string break_sentence(const PeopleStep& step) {
  switch (step.before) {
    case PeopleStep::Break::compaction:
      return "Compacted: of what is above, the agent sends the model only a summary and what it kept.";
    case PeopleStep::Break::gap:
      break;
    case PeopleStep::Break::none:
      return "";
  }
  if (step.earlier == 0) {
    return "The log does not have what came before this.";
  }
  const std::string earlier =
      step.earlier == 1 ? "1 earlier entry is" : std::to_string(step.earlier) + " earlier entries are";
  return earlier + " not connected with what follows, and the agent does not send them.";
}

std::string image_link(const LogIndex& index, const ImageRef& image, std::string_view images) {
  return "![image " + std::to_string(image.number) + "](" + std::string(images) +
         names::address(names::image_file(index, image)) + ")\n\n";
}

std::vector<TranscriptStep> transcript_steps(const LogIndex& index, const std::vector<PeopleStep>& path,
                                             const TranscriptParts& parts) {
  std::vector<TranscriptStep> steps;
  steps.reserve(path.size());
  std::string breaks;
  for (const PeopleStep& step : path) {
    const std::string sentence = break_sentence(step);
    breaks += sentence.empty() ? "" : "*" + sentence + "*\n\n";
    if (!parts.shows(index.name(step.ordinal))) {
      continue;
    }
    steps.push_back({step.ordinal, index.entry(step.ordinal), index.length(step.ordinal), parts.text_size(step.ordinal),
                     breaks + entry_heading(index, step.ordinal),
                     parts.image_links ? parts.image_links(step.ordinal) : ""});
    breaks.clear();
  }
  return steps;
}

std::shared_ptr<const Content> build_transcript(std::vector<TranscriptStep> steps, std::shared_ptr<const LogSource> log,
                                                const RecordRenderer& renderer) {
  auto content = std::make_shared<Content>();
  for (const TranscriptStep& step : steps) {
    content->add_text(step.heading);
    content->add_rendered(step.text_size,
                          [log, &renderer, type = step.entry.type, offset = step.entry.offset, length = step.length] {
                            return read_text(renderer, *log, type, offset, length);
                          });
    content->add_text("\n" + step.images);
  }
  return content;
}

// TreeDrawing, draw_tree: makes lines from the nodes in pre-order. A node is in the column of its parent unless it has
// siblings that begin branches too, so only branch points move the drawing to the right.

namespace {

constexpr std::size_t kMaxLevels = 40;  // drawn; deeper ones are shown as a number
constexpr std::size_t kWordColumns = 60;
constexpr std::size_t kIdColumns = 40;
constexpr std::size_t kLabelColumns = 80;
constexpr std::size_t kShortId = 8;      // columns of an id on a screen
constexpr std::size_t kRoomForIds = 60;  // columns of a screen on which lines have times and ids
constexpr std::size_t kNoNode = static_cast<std::size_t>(-1);

}  // namespace

class TreeDrawing::Lines {
 public:
  Lines(const LogIndex& index, Ordinal leaf, TreeLook look)
      : look_(std::move(look)), leaf_(leaf), is_talk_(index.size() + std::size_t{1}), continues_(is_talk_.size()) {
    for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
      is_talk_[ordinal] = is_talk(index, ordinal) || index.is_aside(ordinal);
      continues_[ordinal] = index.parent(ordinal) == kNoEntry && before_for_people(index, ordinal) != kNoEntry;
    }
    for (const Label& label : index.labels()) {
      labels_.insert_or_assign(key_of(label.target), visible_line(label.text, kLabelColumns));
    }
  }

  void set_tree(Tree tree) {
    tree_ = std::move(tree);
    places_ = places_of(tree_.nodes, roots_);
  }

  bool draw(const LogIndex& index, const FirstWords& first_words, std::size_t most, std::string& out) {
    const std::size_t nodes = tree_.nodes.size();
    const std::size_t all = nodes + tree_.unreachable.size();
    for (const std::size_t end = most < all - next_ ? next_ + most : all; next_ < end; ++next_) {
      if (next_ < nodes) {
        const Place& place = places_[next_];
        const Place& parent = place.parent == kNoNode ? roots_ : places_[place.parent];
        const std::string lines = indent(place.level, is_branch(place, parent), parent.last_child == next_);
        line(index, tree_.nodes[next_].ordinal, first_words, {lines, ""}, out);
      } else {
        line(index, tree_.unreachable[next_ - nodes], first_words, {"", "  (not reachable from any root)"}, out);
      }
    }
    return next_ < all;
  }

 private:
  /// Where a node is in the tree.
  struct Place {
    std::size_t parent = kNoNode;
    std::size_t children = 0;  // that begin branches of the conversation
    std::size_t last_child = kNoNode;
    std::uint32_t level = 0;  // branch points above it
    bool is_in_line = true;   // begins no branch: no talk is below it, or it continues what stands before it
  };
  static bool is_branch(const Place& place, const Place& parent) { return !place.is_in_line && parent.children > 1; }

  /// `roots` represents the parent of all roots.
  std::vector<Place> places_of(const std::vector<TreeNode>& nodes, Place& roots) const {
    std::vector<Place> places(nodes.size());
    std::vector<std::size_t> open;  // by depth
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      open.resize(std::min<std::size_t>(open.size(), nodes[i].depth));
      places[i].parent = open.empty() ? kNoNode : open.back();
      open.push_back(i);
      places[i].is_in_line = !is_talk_[nodes[i].ordinal];
    }
    const auto parent_of = [&](const Place& place) -> Place& {
      return place.parent == kNoNode ? roots : places[place.parent];
    };
    for (std::size_t i = nodes.size(); i-- > 0;) {
      Place& place = places[i];
      Place& parent = parent_of(place);
      parent.is_in_line = parent.is_in_line && place.is_in_line;
      place.is_in_line = place.is_in_line || continues_[nodes[i].ordinal];
      if (!place.is_in_line && ++parent.children == 1) {
        parent.last_child = i;
      }
    }
    for (Place& place : places) {
      const Place& parent = parent_of(place);
      place.level = parent.level + (is_branch(place, parent) ? 1 : 0);
    }
    return places;
  }

  static std::string key_of(const EntryId& id) { return (id.kind == EntryId::Kind::string ? "s" : "o") + id.text; }

  std::string indent(std::size_t level, bool branches, bool is_last) {
    constexpr std::size_t kLevelColumns = 3;
    if (branches) {
      goes_on_.resize(std::max(goes_on_.size(), level));
    }
    std::string out;
    const std::size_t most = look_.width == 0 ? kMaxLevels : std::min(kMaxLevels, look_.width / (3 * kLevelColumns));
    const std::size_t above = branches ? level - 1 : level;
    for (std::size_t i = 0; i < std::min(above, most); ++i) {
      out += goes_on_[i] ? "│  " : "   ";
    }
    if (above > most) {
      out += "(+" + std::to_string(above - most) + ") ";
    }
    if (branches) {
      out += is_last ? "└─ " : "├─ ";
      goes_on_[level - 1] = !is_last;
    }
    return out;
  }

  using Part = TreeLook::Part;
  struct Piece {
    Part part = Part::plain;
    std::string text;
  };
  struct Around {
    std::string before;
    std::string_view remark;
  };

  void line(const LogIndex& index, Ordinal ordinal, const FirstWords& first_words, const Around& around,
            std::string& out) {
    const bool is_narrow = look_.width > 0 && look_.width < kRoomForIds;
    const EntryId id = index.id(ordinal);
    std::vector<Piece> pieces{{Part::plain, around.before}, {Part::number, names::padded(ordinal)}};
    if (look_.has_times && !is_narrow && index.entry(ordinal).timestamp_ms != Entry::kNoTime) {
      pieces.push_back({Part::time, " " + local_time(index.entry(ordinal).timestamp_ms, "%m-%d %H:%M")});
    } else if (look_.has_times && !is_narrow) {
      pieces.push_back({Part::time, std::string(std::size("02-16 10:20"), ' ')});
    }
    pieces.push_back({Part::name, " " + visible_line(index.role(ordinal), kIdColumns)});
    if (id.kind != EntryId::Kind::missing && !is_narrow) {
      pieces.push_back({Part::id, " " + visible_line(id.text, look_.width == 0 ? kIdColumns : kShortId)});
    }
    const std::size_t words_at = pieces.size();
    const std::size_t most_words = std::max(kWordColumns, look_.width);
    if (std::string words = visible_line(first_words(ordinal), most_words); !words.empty()) {
      pieces.push_back({Part::plain, "  " + words});
    }
    const bool has_words = pieces.size() > words_at;
    const auto label = id.kind == EntryId::Kind::missing ? labels_.end() : labels_.find(key_of(id));
    if (label != labels_.end()) {
      pieces.push_back({Part::label, "  [" + label->second + "]"});
    }
    if (!around.remark.empty()) {
      pieces.push_back({Part::plain, std::string(around.remark)});
    }
    if (ordinal == leaf_) {
      pieces.push_back({Part::leaf, "  <- leaf"});
    }
    if (look_.width > 0) {
      fit(pieces, has_words ? words_at : pieces.size());
    }
    for (const Piece& piece : pieces) {
      out +=
          look_.colour && piece.part != Part::plain ? look_.colour(piece.part, piece.text, index, ordinal) : piece.text;
    }
    out += '\n';
  }

  /// Cuts the words, which are the piece at `words`, if there are any, and then what is at the end of the line.
  void fit(std::vector<Piece>& pieces, std::size_t words) const {
    std::size_t all = 0;
    for (const Piece& piece : pieces) {
      all += columns_of(piece.text);
    }
    if (all > look_.width && words < pieces.size()) {
      const std::size_t had = columns_of(pieces[words].text);
      const std::size_t others = all - had;
      pieces[words].text = others < look_.width ? cut(pieces[words].text, look_.width - others) : "";
    }
    std::size_t left = look_.width;
    for (Piece& piece : pieces) {
      piece.text = cut(piece.text, left);
      left -= std::min(left, columns_of(piece.text));
    }
  }

  const TreeLook look_;
  Ordinal leaf_;
  // By ordinal:
  std::vector<bool> is_talk_;    // of the conversation or of an aside
  std::vector<bool> continues_;  // a root, but not for people
  std::unordered_map<std::string, std::string> labels_;
  Tree tree_;
  Place roots_;
  std::vector<Place> places_;  // of the nodes
  std::size_t next_ = 0;
  std::vector<bool> goes_on_;  // by level: true if another sibling follows
};

TreeDrawing::TreeDrawing(const LogIndex& index, Ordinal leaf, TreeLook look)
    : lines_(std::make_unique<Lines>(index, leaf, std::move(look))) {}

TreeDrawing::~TreeDrawing() = default;

void TreeDrawing::set_tree(Tree tree) {
  lines_->set_tree(std::move(tree));
}

bool TreeDrawing::draw(const LogIndex& index, const FirstWords& first_words, std::size_t most, std::string& out) {
  return lines_->draw(index, first_words, most, out);
}

std::string draw_tree(const LogIndex& index, Ordinal leaf, const FirstWords& first_words) {
  TreeDrawing drawing(index, leaf);
  drawing.set_tree(tree_of(index));
  std::string out;
  drawing.draw(index, first_words, SIZE_MAX, out);
  return out;
}

}  // namespace arborfs
