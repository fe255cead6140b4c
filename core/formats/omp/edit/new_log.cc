#include "core/formats/omp/edit/new_log.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/entry/tree.h"
#include "core/formats/omp/edit/entry_draft.h"
#include "core/formats/omp/edit/header_text.h"
#include "core/formats/omp/edit/log_rewrite.h"
#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/log/reader.h"
#include "core/formats/omp/store/agent_dir.h"
#include "core/formats/omp/store/format.h"
#include "core/formats/omp/store/log_files.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/log/log_index.h"
#include "core/session/store_state.h"
#include "core/write/new_file.h"

namespace arborfs::omp {

namespace {

constexpr std::size_t kMostLookedAt = 50;
constexpr std::string_view kPi = "pi";

// A Snowflake, the id that omp and arborfs assign (omp/FORMAT.md F2).
bool is_id_of_omp(std::string_view id) {
  return id.size() == 16 &&
         std::all_of(id.begin(), id.end(), [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
}

bool is_log_of_omp(const Header& header) {
  const bool has_own_title = !header.title.empty() && !header.is_named;
  return header.valid && (header.has_slot || has_own_title || is_id_of_omp(header.id));
}

// Reads the whole log, as far as it can be read.
bool is_log_of_pi(const SessionPtr& session) {
  const Session::Use use(session);
  if (!session->refresh(Depth::index)) {
    return false;
  }
  const auto guard = session->read();
  return guard && dialect_of(guard->index()) == Dialect::pi;
}

Error of_pi() {
  return {Errc::read_only,
          "the agent's folder belongs to pi, which would misread a session in omp's format; create a session of pi"};
}

/// True if the agent's folder, or the one with its data, exists: then it is in use.
bool has_folder(const arborfs::Store& store) {
  const std::string data = std::filesystem::path(store.paths().sessions).parent_path().string();
  return Dir::stat_root(store.paths().agent_dir) || Dir::stat_root(data);
}

/// The store that pi itself would use.
std::optional<std::uint8_t> store_of_pi(const StoreSet& stores) {
  for (std::size_t store = 0; store < stores.size(); ++store) {
    if (stores.at(store)->format().agent == kPi && is_session_dir(stores.at(store)->paths())) {
      return static_cast<std::uint8_t>(store);
    }
  }
  return stores.first_of(kPi);
}

Error no_store_of(std::string_view agent) {
  return {Errc::read_only, "no store of " + std::string(agent) + " is open"};
}

namespace fs = std::filesystem;

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

/// The parts of a fork, taken from one state of the source.
struct Source {
  Header header;
  Dialect dialect = Dialect::omp13;
  std::shared_ptr<const LogSource> log;
  std::vector<LogEdit> entries;  // of the source, changed
  std::string added;             // lines of new entries: labels, and the title if it is an entry
};

LogEdit copy_of(const LogIndex& index, const LogMigration& migration, Ordinal ordinal) {
  const std::uint64_t offset = index.entry(ordinal).offset;
  return {offset, offset + index.length(ordinal), "", migration.of(ordinal)};
}

void take_all(const LogIndex& index, Source& source, AppendBatch& added) {
  const LogMigration migration(index);
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    source.entries.push_back(copy_of(index, migration, ordinal));
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
  const LogMigration migration(index);
  std::set<std::string> ids;
  EntryId leaf;
  bool skipped = false;
  for (const Ordinal ordinal : path_to(index, end)) {
    if (index.entry(ordinal).type == EntryType::label) {
      skipped = true;
      continue;
    }
    source.entries.push_back(copy_of(index, migration, ordinal));
    if (skipped) {
      source.entries.back().entry->parent_json = id_json(leaf);
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

Result<void> write_fork_to(TempFile& draft, const Source& source, const NewHeader& header, const IdOfValue& id_of) {
  RETURN_IF_ERROR(draft.write(new_header_lines(header)));
  const ByteSink write = [&](std::string_view bytes) { return draft.write(bytes); };
  for (const LogEdit& copied : source.entries) {
    const std::uint64_t length = copied.end - copied.offset;
    RETURN_IF_ERROR(copy_entry(*source.log, copied.offset, length, *copied.entry, id_of, write));
    RETURN_IF_ERROR(draft.write("\n"));
  }
  return draft.write(source.added);
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

Result<LogPlace> publish(Catalog& catalog, TempFile& draft, const LogPlace& place, bool sync) {
  const auto& store = catalog.stores().at(place.store);
  RETURN_IF_ERROR(draft.finish(sync));
  RETURN_IF_ERROR(log_files(*store).publish(draft, place, Disk::Existing::keep, sync));
  if (const auto made = store->stat(place)) {
    catalog.state(place.store).marks.note_made(place.file, *made);
  }
  catalog.rescan_folder(place.in());
  return place;
}

using Kind = TurnPart::Kind;

/// The name of an unknown provider or model.
constexpr std::string_view kUnknown = "unknown";

std::string literal(std::string_view text) {
  return json::stringify_string(text);
}

std::string literal_or_unknown(const std::string& text) {
  return literal(text.empty() ? kUnknown : std::string_view(text));
}

/// `members` are those after the stamp: `"message":{…}`.
EntryDraft adopted_entry(std::string_view type, std::string_view members, std::int64_t time_ms) {
  EntryDraft draft;
  draft.before = "{\"type\":" + literal(type);
  draft.after = "," + std::string(members) + "}";
  draft.time_ms = time_ms;
  return draft;
}

EntryDraft adopted_message(std::string_view members, std::int64_t time_ms) {
  return adopted_entry(
      "message", "\"message\":{" + std::string(members) + ",\"timestamp\":" + std::to_string(time_ms) + "}", time_ms);
}

std::string text_block(std::string_view text) {
  return R"({"type":"text","text":)" + literal(text) + "}";
}

std::string image_block(const TurnImage& image) {
  return R"({"type":"image","data":)" + literal(image.base64) + R"(,"mimeType":)" + literal(image.media_type) + "}";
}

std::string block_of(const TurnPart& part) {
  switch (part.kind) {
    case Kind::reasoning:
      return R"({"type":"thinking","thinking":)" + literal(part.text) + "}";
    case Kind::tool_call:
      return R"({"type":"toolCall","id":)" + literal(part.call_id) + R"(,"name":)" + literal(part.tool) +
             R"(,"arguments":)" + part.text + "}";
    case Kind::image:
      return image_block(part.images.front());
    default:
      return text_block(part.text);
  }
}

std::string blocks_of(const Turn& turn) {
  std::string blocks;
  for (const TurnPart& part : turn.parts) {
    blocks.append(blocks.empty() ? "" : ",").append(block_of(part));
  }
  return R"("content":[)" + blocks + "]";
}

/// The agents need members of an answer that another agent does not record. They contain no tokens, so that each token
/// is counted where it was spent.
std::string answer_of(const Turn& turn) {
  const bool calls = std::any_of(turn.parts.begin(), turn.parts.end(),
                                 [](const TurnPart& part) { return part.kind == Kind::tool_call; });
  return R"("role":"assistant",)" + blocks_of(turn) + R"(,"api":"unknown","provider":)" +
         literal_or_unknown(turn.provider) + R"(,"model":)" + literal_or_unknown(turn.model) +
         R"(,"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,)"
         R"("cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":)" +
         (calls ? R"("toolUse")" : R"("stop")");
}

std::string result_message(const TurnPart& result) {
  std::string blocks = result.text.empty() && !result.images.empty() ? "" : text_block(result.text);
  for (const TurnImage& image : result.images) {
    blocks.append(blocks.empty() ? "" : ",").append(image_block(image));
  }
  return R"("role":"toolResult","toolCallId":)" + literal(result.call_id) + R"(,"toolName":)" + literal(result.tool) +
         R"(,"content":[)" + blocks + R"(],"isError":)" + (result.is_error ? "true" : "false");
}

void add_turn(const Turn& turn, std::vector<EntryDraft>& entries) {
  if (turn.speaker == Turn::Speaker::assistant) {
    entries.push_back(adopted_message(answer_of(turn), turn.time_ms));
  } else if (turn.speaker == Turn::Speaker::user) {
    entries.push_back(adopted_message(R"("role":"user",)" + blocks_of(turn), turn.time_ms));
  } else {
    for (const TurnPart& result : turn.parts) {
      entries.push_back(adopted_message(result_message(result), turn.time_ms));
    }
  }
}

}  // namespace

Result<void> check_takes_logs(const Catalog& catalog, std::uint8_t store) {
  for (const auto& [id, session] : catalog.view()->by_id) {
    if (session->store_number() == store && is_log_of_omp(session->head().header)) {
      return {};
    }
  }
  std::size_t looked_at = 0;
  for (const auto& session : catalog.recent(SIZE_MAX)) {
    if (session->store_number() == store && looked_at++ < kMostLookedAt && is_log_of_pi(session)) {
      return of_pi();
    }
  }
  return catalog.stores().at(store)->format().agent == kPi ? Result<void>(of_pi()) : Result<void>();
}

Result<NewLogs> store_for_new_logs(const Catalog& catalog, std::string_view agent) {
  const auto omps = catalog.stores().first_of(omp::format().agent);
  const auto pis = store_of_pi(catalog.stores());
  if (agent == kPi && pis) {
    return NewLogs{*pis, Dialect::pi};
  }
  if (!omps && !pis) {
    return no_store_of(agent.empty() ? omp::format().agent : agent);
  }
  const bool has_no_omp = !omps || (agent.empty() && pis && !has_folder(*catalog.stores().at(*omps)));
  const std::uint8_t store = has_no_omp ? *pis : *omps;
  const auto takes_omps = check_takes_logs(catalog, store);
  if (agent == kPi && takes_omps) {
    return no_store_of(kPi);
  }
  if (!takes_omps && agent == omp::format().agent) {
    return takes_omps.error();
  }
  return NewLogs{store, takes_omps ? Dialect::omp13 : Dialect::pi};
}

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

Result<LogPlace> write_new_log(Catalog& catalog, std::uint8_t store, const NewHeader& header,
                               const std::vector<EntryDraft>& entries, bool sync, mode_t permissions) {
  const LogPlace place{folder_for(header.cwd, header.dialect, catalog, store),
                       log_file_name(header.timestamp_ms, header.id), store};
  ASSIGN_OR_RETURN(auto draft, log_files(*catalog.stores().at(store)).draft(place, permissions));
  ASSIGN_OR_RETURN(const auto nothing, omp::reader().index(*log_from_bytes(""), {}));
  AppendBatch batch(*nothing, kNoEntry, header.timestamp_ms);
  RETURN_IF_ERROR(draft->write(new_header_lines(header)));
  for (const EntryDraft& entry : entries) {
    batch.add(entry);
    RETURN_IF_ERROR(draft->write(batch.take_lines()));
  }
  return publish(catalog, *draft, place, sync);
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

Result<LogPlace> write_adopted_log(Catalog& catalog, const NewLogs& where, const Conversation& conversation,
                                   bool sync) {
  const bool names_by_entry = rules_of(where.dialect).names_by_entry;
  const std::int64_t first_ms = conversation.turns.front().time_ms;
  std::vector<EntryDraft> entries;
  entries.push_back(adopted_entry("custom",
                                  R"("customType":"foreign_session_import","data":{"source":)" +
                                      literal(conversation.agent) + R"(,"sourceId":)" + literal(conversation.id) + "}",
                                  first_ms));
  if (names_by_entry && !conversation.title.empty()) {
    entries.push_back(adopted_entry("session_info", "\"name\":" + literal(conversation.title), first_ms));
  }
  for (const Turn& turn : conversation.turns) {
    add_turn(turn, entries);
  }
  NewHeader header;
  header.dialect = where.dialect;
  header.timestamp_ms = now_ms();
  header.id = new_session_id(where.dialect, header.timestamp_ms);
  ASSIGN_OR_RETURN(header.cwd, resolved_cwd(conversation.cwd));
  header.title = names_by_entry ? "" : clean_title(conversation.title);
  return write_new_log(catalog, where.store, header, entries, sync, conversation.permissions);
}

}  // namespace arborfs::omp
