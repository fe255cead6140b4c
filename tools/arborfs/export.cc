// export and open: a session as one file, and its page in a browser.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/entry/names.h"
#include "core/entry/people_path.h"
#include "core/entry/views.h"
#include "core/json/base64.h"
#include "core/json/document.h"
#include "core/json/utf8.h"
#include "core/os/state_dir.h"
#include "core/os/submounts.h"
#include "core/os/temp_file.h"
#include "core/redact/redactor.h"
#include "core/views/conversation_page.h"
#include "core/views/session_views.h"
#include "core/views/trajectory.h"
#include "tools/arborfs/access.h"
#include "tools/arborfs/programs.h"
#include "tools/arborfs/removal.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/table.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

using ContentPtr = std::shared_ptr<const Content>;

constexpr std::uint64_t kMostOfAnImage = std::uint64_t{8} << 20U;
constexpr std::uint64_t kWritten = 1 << 20;
constexpr mode_t kFileMode = 0666;
constexpr mode_t kPrivateMode = 0600;

/// The images of a session as data: addresses; "" for those that are too long or of no known type.
ImageSource images_inside(const SessionPtr& session, const Catalog& catalog) {
  return [session, &catalog](const ImageFiles::File& file) -> std::string {
    const std::string type(names::image_media_type(file.extension));
    if (type.empty()) {
      return "";
    }
    const auto image = make_view(*session, item_views::image, file.at, catalog);
    if (!image || image->content->size() > kMostOfAnImage) {
      return "";
    }
    const auto bytes = image->content->read_all();
    return bytes ? "data:" + type + ";base64," + json::encode_base64(*bytes) : "";
  };
}

/// A page of its own. The pages of sub-agents within it have ids of their own. With a redactor, images are left out:
/// nobody looks through them.
class AlonePage : public std::enable_shared_from_this<AlonePage> {
 public:
  AlonePage(const CommandLine& line, const Catalog& catalog, redact::Redactor* redactor)
      : line_(line), catalog_(catalog), redactor_(redactor) {}

  PagePlace place_of(const SessionPtr& session) {
    PagePlace place;
    place.is_alone = true;
    if (redactor_ == nullptr) {
      place.images = images_inside(session, catalog_);
    } else {
      place.images = [](const ImageFiles::File& /*file*/) { return std::string(); };
      place.filter = {
          [redactor = redactor_](std::string_view record, std::string_view where) {
            return redactor->redact_json(record, where);
          },
          [redactor = redactor_](std::string_view words) { return redactor->redact(words, "titles and names"); }};
    }
    place.branches = line_.all_branches ? PagePlace::Branches::inside : PagePlace::Branches::none;
    place.id_prefix = pages_ == 0 ? "" : "s" + std::to_string(pages_) + "-";
    ++pages_;
    if (line_.children) {
      place.started = started_by(*catalog_.view(), *session);
      place.inside = [self = shared_from_this()](const StartedSession& one) -> Result<PagePlace> {
        RETURN_IF_ERROR(one.session->refresh(Depth::details));
        return self->place_of(one.session);
      };
    }
    return place;
  }

 private:
  const CommandLine& line_;
  const Catalog& catalog_;
  redact::Redactor* const redactor_;
  std::size_t pages_ = 0;
};

/// Adds the transcript of a branch, and with `children` those of the sessions that it started below headings.
Result<void> add_markdown(const CommandLine& line, const Catalog& catalog, const SessionPtr& session,
                          const std::vector<Ordinal>& ends, Content& content) {
  for (const Ordinal end : ends) {
    ASSIGN_OR_RETURN(const auto transcript, transcript_document(*session, end, ""));
    if (ends.size() > 1) {
      ASSIGN_OR_RETURN(const auto guard, session->read_index());
      content.add_text("# Branch " + names::branch_stem(guard.index(), end) + "\n\n");
    }
    content.add_rendered(transcript->size(), [transcript] { return transcript->read_all(); });
  }
  if (line.children) {
    for (const StartedSession& one : started_by(*catalog.view(), *session)) {
      RETURN_IF_ERROR(one.session->refresh(Depth::details));
      content.add_text("# Sub-agent " + names::encode(one.id) + "\n\n");
      RETURN_IF_ERROR(add_markdown(line, catalog, one.session, {kNoEntry}, content));
    }
  }
  return {};
}

/// A record without the data of its images. Errors: stale, io.
Result<std::string> without_images(const Session::Guard& guard, Ordinal ordinal) {
  ASSIGN_OR_RETURN(auto raw, guard.log()->read(guard.index().entry(ordinal).offset, guard.index().length(ordinal)));
  const auto& images = guard.details().images();
  for (auto image = images.rbegin(); image != images.rend(); ++image) {
    if (image->ordinal == ordinal && image->blob.empty() && image->data_offset + image->data_length <= raw.size()) {
      raw.replace(image->data_offset, image->data_length, redact::kImageLabel);
    }
  }
  return json::is_valid_utf8(raw) ? raw : json::decode_utf8(raw);
}

/// {"session":…,"entries":[…]}: session.json and the records of the path, or all.
Result<ContentPtr> json_of(const CommandLine& line, const SessionPtr& session, Ordinal end, const Catalog& catalog) {
  const bool all = line.all_branches;
  ASSIGN_OR_RETURN(const auto header, make_view(*session, *find_view("session.json"), 0, catalog));
  ASSIGN_OR_RETURN(const auto text, header.content->read_all());
  auto content = std::make_shared<Content>();
  content->add_text("{\"session\":" + text + ",\"entries\":[");
  const auto found = session->read();
  if (!found || !found->has_details()) {
    return session_changed();
  }
  const Session::Guard& guard = *found;
  std::vector<Ordinal> entries = all ? std::vector<Ordinal>() : people_entries(guard.index(), end);
  for (Ordinal ordinal = 1; all && ordinal <= guard.index().size(); ++ordinal) {
    entries.push_back(ordinal);
  }
  std::string_view before = "\n";
  for (const Ordinal ordinal : entries) {
    content->add_text(std::exchange(before, ",\n"));
    if (line.redact) {
      ASSIGN_OR_RETURN(const auto record, without_images(guard, ordinal));
      content->add_text(record);
      continue;
    }
    RETURN_IF_ERROR(content->add_json(guard.log(), guard.index().entry(ordinal).offset, guard.index().length(ordinal)));
  }
  content->add_text("\n]}\n");
  return ContentPtr(content);
}

/// The ends of the branches that are exported, that of the leaf first; kNoEntry alone for a session without entries.
Result<std::vector<Ordinal>> ends_of(const CommandLine& line, const Session& session) {
  ASSIGN_OR_RETURN(const Ordinal end, find_branch(session, line.branch));
  std::vector<Ordinal> ends = {end};
  if (line.all_branches) {
    ASSIGN_OR_RETURN(const auto guard, session.read_index());
    for (const Ordinal other : conversation_ends(guard.index(), end)) {
      if (other != end) {
        ends.push_back(other);
      }
    }
  }
  return ends;
}

/// What is exported, before its secrets are taken out where that is not a page.
Result<ContentPtr> document_of(const CommandLine& line, const Opened& opened, redact::Redactor* redactor) {
  const SessionPtr& session = opened.of.session;
  ASSIGN_OR_RETURN(const auto ends, ends_of(line, *session));
  if (line.atif) {
    return trajectory(*session, ends.front(), started_by(*opened.catalog->view(), *session));
  }
  if (line.json) {
    return json_of(line, session, ends.front(), *opened.catalog);
  }
  if (line.markdown) {
    auto content = std::make_shared<Content>();
    RETURN_IF_ERROR(add_markdown(line, *opened.catalog, session, ends, *content));
    return ContentPtr(content);
  }
  return conversation_page(*session, ends.front(),
                           std::make_shared<AlonePage>(line, *opened.catalog, redactor)->place_of(session));
}

bool is_page(const CommandLine& line) {
  return !line.atif && !line.json && !line.markdown;
}

/// The document without secrets, which does not refer to the redactor.
Result<ContentPtr> redacted(const CommandLine& line, const Opened& opened, redact::Redactor& redactor) {
  ASSIGN_OR_RETURN(const auto document, document_of(line, opened, &redactor));
  ASSIGN_OR_RETURN(auto text, document->read_all());
  if (!is_page(line)) {
    text = line.markdown ? redactor.redact(text, "the transcript") : redactor.redact_json(text, "the document");
  }
  return literal_content(text);
}

/// What was taken, on standard error.
void report(const redact::Redactor& redactor, Terminal& io) {
  constexpr std::size_t kPlacesShown = 4;
  const auto all = redactor.taken();
  Table table({{"RULE"}, {"TAKEN", true}, {"SECRETS", true}, {"WHERE", false, true}});
  for (const redact::Taken& one : all) {
    std::string places;
    for (std::size_t at = 0; at < std::min(one.places.size(), kPlacesShown); ++at) {
      places += (at == 0 ? "" : ", ") + one.places[at].name;
    }
    places += one.places.size() > kPlacesShown ? " and more" : "";
    table.add({one.rule, grouped(one.count), grouped(one.secrets), places});
  }
  if (all.empty()) {
    io.err << "arborfs: no rule found anything\n";
    return;
  }
  for (const std::string& row : table.lines(io.err_is_terminal ? io.width : 0)) {
    io.err << row << "\n";
  }
}

/// Goes through the document once, shows what it took and asks; the second time, secrets are known that show what they
/// are only later. Errors: interrupted if the user does not agree; invalid_argument for rules of the user that are
/// wrong.
Result<ContentPtr> redacted_and_agreed(const CommandLine& line, const Opened& opened, Terminal& io) {
  const auto rules = redact::Rules::in_force(redact::Person::here(home_of(io)));
  if (!rules->problem().empty()) {
    return Error{Errc::invalid_argument, rules->problem() + "; nothing is redacted without all rules"};
  }
  redact::Redactor redactor(rules);
  RETURN_IF_ERROR(redacted(line, opened, redactor));
  report(redactor, io);
  if (is_page(line) || line.json) {
    const auto guard = opened.of.session->read();
    const std::size_t images = guard && guard->has_details() ? guard->details().images().size() : 0;
    io.err << (images == 0 ? ""
                           : "arborfs: " + counted(images, "image") + " left out, which no rule can look through\n");
  }
  if (!line.yes) {
    RETURN_IF_ERROR(ask("write the session without these", "nothing written", io));
  }
  return redacted(line, opened, redactor);
}

/// Writes a file that has its name once it is whole. Errors: those of the disk.
Result<void> write_file(const std::string& path, mode_t mode, const Content& content) {
  const std::filesystem::path at(path);
  const std::string folder = at.has_parent_path() ? at.parent_path().string() : ".";
  ASSIGN_OR_RETURN(const auto dir, Dir::open_root(folder));
  ASSIGN_OR_RETURN(const auto file, TempFile::create(Disk::real(), dir, mode));
  for (std::uint64_t offset = 0; offset < content.size(); offset += kWritten) {
    ASSIGN_OR_RETURN(const auto piece, content.read(offset, kWritten));
    RETURN_IF_ERROR(file->write(piece));
  }
  RETURN_IF_ERROR(file->finish(true));
  return file->publish(dir, at.filename().string(), Disk::Existing::replace);
}

}  // namespace

int run_export(const CommandLine& line, Terminal& io) {
  const auto opened = open_session(line, Depth::details, io);
  if (!opened) {
    return fail(io, opened.error());
  }
  const auto document = line.redact ? redacted_and_agreed(line, *opened, io) : document_of(line, *opened, nullptr);
  if (!document) {
    return fail(io, document.error());
  }
  const Form form{.safe_json = io.out_is_terminal && (line.json || line.atif)};
  const auto written = line.output.empty() || line.output == "-" ? write_content(**document, form, io)
                                                                 : write_file(line.output, kFileMode, **document);
  return written ? kDone : fail(io, written.error());
}

namespace {

/// True if a mount shows the store.
bool shows(const std::string& mount, const Store& store) {
  std::ifstream file(mount + "/status.json");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  json::Document status;
  const json::Value* const stores = json::parse(text, status) ? json::member(status, "stores") : nullptr;
  return stores != nullptr && stores->IsArray() &&
         std::any_of(stores->Begin(), stores->End(), [&](const json::Value& one) {
           return json::text_member(one, "place") == store.paths().agent_dir;
         });
}

/// The page of a session in a mount that shows it; "" if none does.
std::string page_in_mount(const std::set<std::string>& mounts, const Session& session, const std::string& id) {
  for (const std::string& mount : mounts) {
    if (!shows(mount, session.store())) {
      continue;
    }
    std::error_code error;
    const auto link = std::filesystem::path(mount) / "by-id" / names::encode(id);
    const auto target = std::filesystem::read_symlink(link, error);
    if (!error) {
      return ((link.parent_path() / target).lexically_normal() / "transcript.html").string();
    }
  }
  return "";
}

/// A page of its own, where no mount shows the session: in a folder that only the user reads. Those of yesterday go.
Result<std::string> page_in_cache(const CommandLine& line, const Opened& opened) {
  constexpr std::int64_t kKeptNs = std::int64_t{24} * 3600 * 1'000'000'000;
  constexpr std::size_t kLongestName = 200;
  const std::string folder = cache_path("pages");
  ASSIGN_OR_RETURN(const auto dir, make_private_folder(Disk::real(), folder, false));
  ASSIGN_OR_RETURN(const auto pages, dir.list());
  for (const auto& page : pages) {
    const auto stat = dir.stat(page.name);
    if (stat && now_ns() - stat->mtime_ns > kKeptNs) {
      static_cast<void>(Disk::real().remove(dir, page.name));
    }
  }
  ASSIGN_OR_RETURN(const auto document, document_of(line, opened, nullptr));
  const std::string path = folder + "/" + names::encode(opened.of.id, kLongestName) + ".html";
  RETURN_IF_ERROR(write_file(path, kPrivateMode, *document));
  return path;
}

int show_page(const std::string& path, Terminal& io) {
  const std::string browser = find_program(io, "xdg-open");
  const bool has_display = io.env("DISPLAY") || io.env("WAYLAND_DISPLAY") || io.env("BROWSER");
  io.out << path << "\n";
  io.out.flush();
  return browser.empty() || !has_display ? kDone : fail(io, become(browser, {"xdg-open", path}));
}

}  // namespace

int run_open(const CommandLine& line, Terminal& io) {
  auto mounts = mount_points_of("fuse.arborfs");
  for (const std::string& silent : FolderPulse().silent(mounts)) {
    mounts.erase(silent);
  }
  if (line.session.empty()) {
    return mounts.empty()
               ? fail(io, {Errc::not_found, "nothing is mounted: run `arborfs mount ~/sessions`, or name a session"})
               : show_page(*mounts.begin() + "/index.html", io);
  }
  const auto opened = open_session(line, Depth::details, io);
  if (!opened) {
    return fail(io, opened.error());
  }
  const std::string mounted = page_in_mount(mounts, *opened->of.session, opened->of.id);
  const auto path = mounted.empty() ? page_in_cache(line, *opened) : Result<std::string>(mounted);
  return path ? show_page(*path, io) : fail(io, path.error());
}

}  // namespace arborfs::cli
