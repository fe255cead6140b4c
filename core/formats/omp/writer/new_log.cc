#include "core/formats/omp/writer/new_log.h"

#include <cstdlib>
#include <filesystem>
#include <set>

#include "core/base/clock.h"
#include "core/base/result_macros.h"
#include "core/formats/omp/log/omp_reader.h"
#include "core/formats/omp/store/log_files.h"
#include "core/formats/omp/store/session_dir.h"
#include "core/formats/omp/write/dialect_rules.h"
#include "core/formats/omp/write/ids.h"
#include "core/formats/omp/writer/append_batch.h"
#include "core/formats/omp/writer/entry_copy.h"
#include "core/formats/omp/writer/entry_fields.h"
#include "core/formats/omp/writer/log_rewrite.h"
#include "core/formats/omp/writer/writable_state.h"
#include "core/log/log_index.h"
#include "core/model/tree.h"
#include "core/session/write_marks.h"
#include "core/writer/new_file.h"

namespace arborfs {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBuffer = 1 << 20;

std::string resolved(const std::string& path) {
  std::error_code failed;
  const auto whole = fs::weakly_canonical(path, failed);
  std::string text = failed ? path : whole.string();
  while (text.size() > 1 && text.ends_with('/')) {
    text.pop_back();
  }
  return text;
}

/// os.tmpdir() of the agents' engine.
std::string temporary_folder() {
  for (const char* name : {"TMPDIR", "TMP", "TEMP"}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') {
      return value;
    }
  }
  return "/tmp";
}

/// One entry of a fork: its bytes in the source, and the parent that replaces its own.
struct Copied {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::optional<EntryMigration> migration;
  std::optional<EntryId> parent;
};

/// The parts of a fork, taken from one state of the source.
struct Source {
  Header header;
  Dialect dialect = Dialect::omp13;
  std::shared_ptr<const LogSource> log;
  std::vector<Copied> entries;
  std::string added;  // lines of new entries: labels, and the title if it is an entry
};

/// Turns ordinals of one state of a log into entries to copy.
class Copies {
 public:
  explicit Copies(const LogIndex& index) : index_(index) {
    if (index.header().migrated) {
      migration_.emplace(index);
    }
  }
  [[nodiscard]] Copied of(Ordinal ordinal) const {
    return {index_.entry(ordinal).offset, index_.length(ordinal),
            migration_ ? std::optional(migration_->of(ordinal)) : std::nullopt, std::nullopt};
  }

 private:
  const LogIndex& index_;
  std::optional<LogMigration> migration_;
};

void take_all(const LogIndex& index, Source& source, AppendBatch& added) {
  const Copies copies(index);
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    source.entries.push_back(copies.of(ordinal));
  }
  if (index.size() != kNoEntry) {
    added.set_leaf(index.id(index.size()));
  }
}

/// A new label entry for each label in effect on a copied entry.
Result<void> add_labels(const LogIndex& index, const std::set<std::string>& copied, AppendBatch& added) {
  for (const Label& label : index.labels()) {
    const std::string target = id_json(label.target);
    if (!copied.contains(target)) {
      continue;
    }
    ASSIGN_OR_RETURN(auto draft,
                     EntryFields("label").value("targetId", target).text("label", label.text).draft(dialect_of(index)));
    added.add(draft);
  }
  return {};
}

/// Takes the path without label entries. The child of a label entry becomes a child of the entry before it; the agents
/// forget to do that (omp/FORMAT.md I3).
Result<void> take_path(const LogIndex& index, Ordinal end, Source& source, AppendBatch& added) {
  const Copies copies(index);
  std::set<std::string> ids;
  EntryId leaf;
  bool skipped = false;
  for (const Ordinal ordinal : path_to(index, end)) {
    if (index.entry(ordinal).type == EntryType::label) {
      skipped = true;
      continue;
    }
    source.entries.push_back(copies.of(ordinal));
    if (skipped) {
      source.entries.back().parent = leaf;
    }
    leaf = index.id(ordinal);
    ids.insert(id_json(leaf));
    skipped = false;
  }
  added.set_leaf(leaf);
  return add_labels(index, ids, added);
}

/// "" for the title that the copied entries give.
std::string wanted_title(const ForkPlan& plan, const std::string& title, Dialect dialect) {
  if (!plan.title) {
    return "";
  }
  const std::string wanted = clean_title(*plan.title);
  return wanted.empty() ? title_of_fork(title, dialect) : wanted;
}

Result<void> add_name(const ForkPlan& plan, const Source& source, AppendBatch& added) {
  const std::string title = wanted_title(plan, source.header.title, source.dialect);
  if (title.empty() || (plan.what == ForkOf::all && title == source.header.title)) {
    return {};
  }
  ASSIGN_OR_RETURN(const auto draft, EntryFields("session_info").text("name", title).draft(source.dialect));
  added.add(draft);
  return {};
}

Result<Source> take_source(const Session& session, const ForkPlan& plan, std::int64_t time) {
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  RETURN_IF_ERROR(check_writable(guard));
  Source source;
  source.header = guard.index().header();
  source.dialect = dialect_of(guard.index());
  source.log = guard.log();
  AppendBatch added(guard.index(), kNoEntry, time);
  if (plan.what == ForkOf::all) {
    take_all(guard.index(), source, added);
  } else {
    RETURN_IF_ERROR(take_path(guard.index(), plan.leaf, source, added));
  }
  if (rules_of(source.dialect).names_by_entry) {
    RETURN_IF_ERROR(add_name(plan, source, added));
  }
  source.added = added.take_lines();
  return source;
}

class Buffered {
 public:
  explicit Buffered(LogDraft& draft) : draft_(draft) {}
  Result<void> write(std::string_view bytes) {
    bytes_ += bytes;
    return bytes_.size() < kBuffer ? Result<void>() : flush();
  }
  Result<void> flush() {
    auto done = draft_.write(bytes_);
    bytes_.clear();
    return done;
  }

 private:
  LogDraft& draft_;
  std::string bytes_;
};

Result<void> write_fork_to(LogDraft& draft, const Source& source, const NewHeader& header, const IdOfValue& id_of) {
  Buffered out(draft);
  RETURN_IF_ERROR(out.write(new_header_lines(header)));
  const ByteSink write = [&](std::string_view bytes) { return out.write(bytes); };
  for (const Copied& entry : source.entries) {
    const EntryChange change{entry.migration, entry.parent ? id_json(*entry.parent) : ""};
    RETURN_IF_ERROR(copy_entry(*source.log, entry.offset, entry.length, change, id_of, write));
    RETURN_IF_ERROR(out.write("\n"));
  }
  RETURN_IF_ERROR(out.write(source.added));
  return out.flush();
}

void put_fork_title(const ForkPlan& plan, const Source& source, NewHeader& header) {
  if (rules_of(source.dialect).names_by_entry) {
    return;
  }
  const std::string wanted = clean_title(plan.title.value_or(""));
  header.title_source = wanted.empty() ? title_source_of(source.header) : "user";
  if (!plan.title) {
    header.title = plan.what == ForkOf::all || source.dialect == Dialect::omp18 ? source.header.title : "";
  } else {
    header.title = wanted_title(plan, source.header.title, header.dialect);
  }
}

Result<LogPlace> publish(Catalog& catalog, LogDraft& draft, const LogPlace& place, bool sync) {
  const auto& store = catalog.stores().at(place.store);
  RETURN_IF_ERROR(draft.finish(sync));
  RETURN_IF_ERROR(log_files(*store).publish(draft, place, Disk::Existing::keep, sync));
  if (const auto made = store->stat(place)) {
    catalog.state(place.store).marks.note_made(place.file, *made);
  }
  catalog.rescan_folder(place.in());
  return place;
}

}  // namespace

std::string folder_for(const std::string& cwd, Dialect dialect, const Catalog& catalog, std::uint8_t store) {
  if (dialect != Dialect::pi) {
    return session_folder_name(cwd, resolved(catalog.home()), resolved(temporary_folder()));
  }
  return is_session_dir(catalog.stores().at(store)->paths()) ? std::string(kSessionsItself)
                                                             : session_folder_name(cwd, "", "");
}

std::string folder_for(const std::string& cwd, Dialect dialect, const Catalog& catalog, const LogPlace& from) {
  return from.folder == kSessionsItself ? from.folder : folder_for(cwd, dialect, catalog, from.store);
}

Result<std::string> resolved_cwd(const std::string& cwd) {
  if (cwd.empty() || cwd.front() != '/') {
    return Error{Errc::invalid_argument, "the working directory must be an absolute path"};
  }
  return resolved(cwd);
}

Result<LogPlace> write_new_log(Catalog& catalog, const LogPlace& place, const NewHeader& header, std::string_view lines,
                               mode_t permissions, bool sync) {
  ASSIGN_OR_RETURN(auto draft, log_files(*catalog.stores().at(place.store)).draft(place, permissions));
  RETURN_IF_ERROR(draft->write(new_header_lines(header)));
  RETURN_IF_ERROR(draft->write(lines));
  return publish(catalog, *draft, place, sync);
}

Result<LogPlace> write_new_log(Catalog& catalog, std::uint8_t store, NewHeader header,
                               const std::vector<EntryDraft>& entries, bool sync) {
  const LogPlace place{folder_for(header.cwd, header.dialect, catalog, store),
                       log_file_name(header.timestamp_ms, header.id), store};
  ASSIGN_OR_RETURN(const auto nothing, omp_reader().index(*log_from_bytes(""), {}));
  AppendBatch lines(*nothing, kNoEntry, header.timestamp_ms);
  for (const EntryDraft& entry : entries) {
    lines.add(entry);
  }
  return write_new_log(catalog, place, header, lines.lines(), kAnyPermissions, sync);
}

Result<LogPlace> write_fork(Catalog& catalog, const Session& session, const ForkPlan& plan, bool sync) {
  const std::int64_t now = now_ms();
  ASSIGN_OR_RETURN(const auto source, take_source(session, plan, now));
  const bool whole = plan.what == ForkOf::all;
  const bool is_18 = source.dialect == Dialect::omp18;
  const LogPlace from = session.place();
  NewHeader header;
  header.dialect = source.header.has_slot ? Dialect::omp18 : Dialect::omp13;
  header.timestamp_ms = now;
  header.id = new_session_id(source.dialect, header.timestamp_ms);
  header.cwd = plan.cwd.value_or(source.header.cwd);
  put_fork_title(plan, source, header);
  const bool names_path = !whole || rules_of(source.dialect).parent_is_path;
  header.parent_session = names_path ? session.store().path_of(from) : source.header.id;
  header.is_fork = whole && !plan.cwd;
  header.prompt_cache_key = whole && is_18 ? source.header.id : "";
  const LogPlace place{folder_for(header.cwd, source.dialect, catalog, from),
                       log_file_name(header.timestamp_ms, header.id), from.store};
  ASSIGN_OR_RETURN(auto draft, log_files(session.store()).draft(place, permissions_of(session)));
  RETURN_IF_ERROR(write_fork_to(*draft, source, header, ids_of(session)));
  return publish(catalog, *draft, place, sync);
}

}  // namespace arborfs
