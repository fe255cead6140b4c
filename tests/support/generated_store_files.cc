// The files of a generated store, and the links in it (generated_store.h).
#include <sys/stat.h>
#include <zstd.h>

#include <algorithm>
#include <fstream>

#include "core/formats/registry.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "tests/support/generated_store.h"
#include "tests/support/sqlite_program.h"

namespace arborfs::testing {

namespace fs = std::filesystem;

namespace {

std::string zstd_of(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 1));
  return out;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line + "\n";
  }
  return text;
}

/// A header and items (codex/FORMAT.md B6).
std::string document_of(const std::vector<std::string>& lines) {
  std::string items;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    items += (i == 1 ? "    " : ",\n    ") + lines[i];
  }
  return "{\n  \"session\": " + lines.front() + ",\n  \"items\": [\n" + items + "\n  ]\n}";
}

/// As OpenCode's own programs move a file to the database (opencode/FORMAT.md B3).
std::string row_of_file(const fs::path& path, std::string text) {
  for (std::size_t at = text.find('\''); at != std::string::npos; at = text.find('\'', at + 2)) {
    text.insert(at, "'");
  }
  const std::string kind = path.parent_path().parent_path().filename().string();
  const std::string id = "'" + path.stem().string() + "'";
  const std::string parent = "'" + path.parent_path().filename().string() + "'";
  const std::string from = " FROM (SELECT '" + text + "' AS j);";
  if (kind == "message") {
    return "INSERT INTO message SELECT " + id + "," + parent +
           ",ifnull(j->>'$.time.created',1),1,"
           "json_remove(j,'$.id','$.sessionID')" +
           from;
  }
  if (kind == "part") {
    return "INSERT INTO part SELECT " + parent + "||" + id + "," + parent +
           ",j->>'$.sessionID',1,1,"
           "json_remove(j,'$.id','$.sessionID','$.messageID')" +
           from;
  }
  return "INSERT INTO session(id,project_id,parent_id,slug,directory,title,version,time_created,time_updated) SELECT " +
         id + ",'p',j->>'$.parentID','s','/w/p',j->>'$.title','1.2.1',1,2" + from;
}

constexpr const char* kTables =
    "PRAGMA journal_mode=wal; PRAGMA synchronous=off; BEGIN;"
    "CREATE TABLE project(id text PRIMARY KEY, worktree text, time_created integer, time_updated integer);"
    "CREATE TABLE session(id text PRIMARY KEY, project_id text, parent_id text, slug text, directory text, title text,"
    " version text, time_created integer, time_updated integer);"
    "CREATE TABLE message(id text PRIMARY KEY, session_id text, time_created integer, time_updated integer, data text);"
    "CREATE TABLE part(id text PRIMARY KEY, message_id text, session_id text, time_created integer,"
    " time_updated integer, data text);"
    "INSERT INTO project VALUES('p','/w/p',1,1);";

}  // namespace

/// Adds the rows of a shape to the log, or to the files that they name.
void GeneratedStore::write_rows(const Session& session, const std::string& shape, const Values& own, Lines& log) {
  const std::string text = filled(shape, own, session.values);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) {
      log.push_back(line);
    } else if (const std::string path = line.substr(0, tab); path.ends_with(".json")) {
      files_[path] = {line.substr(tab + 1)};
    } else {
      files_[path].push_back(line.substr(tab + 1));
    }
    at = end + 1;
  }
}

void GeneratedStore::write_session(const Session& session) {
  const std::string path = filled(session.log_shape, session.values);
  Lines& log = files_[path];
  Values common = {{"time", json::iso_time(kStart_ms + session.number * 1000)},
                   {"session_cost", json::number_text(session.cost)},
                   {"last", session.last}};
  write_rows(session, session.head, common, log);
  heads_of_[path] = log.size();
  for (const Row& row : session.rows) {
    write_rows(session, row.shape, row.values, log);
  }
  if (additions_.repeats && agent_.has_row_ids) {
    copy_lines(log, heads_of_[path]);
  }
  if (!session.title.empty() && !session.ways->title_row.empty()) {
    common["id"] = "t" + std::to_string(++serial_);
    common["parent"] = id_or_null(session.last);
    write_rows(session, session.ways->title_row, common, log);
  }
  names_.insert(dir_ / path);
}

/// Repeats rows after themselves and before the last one.
void GeneratedStore::copy_lines(Lines& log, std::size_t head) {
  for (std::size_t more = below(4); more > 0 && log.size() > head + 1; --more) {
    const std::size_t from = head + below(log.size() - head - 1);
    const std::string line = log[from];
    log.insert(log.begin() + static_cast<std::ptrdiff_t>(from + 1 + below(log.size() - from - 1)), line);
  }
}

void GeneratedStore::copy_anywhere() {
  for (std::size_t more = 1 + below(6); more > 0; --more) {
    const auto& [from, head] = one_of(heads_of_);
    const std::string to = agent_.copies_stay_in_log ? from : one_of(heads_of_).first;
    if (files_[from].size() == head || agent_.agent == "opencode") {
      continue;
    }
    const std::string line = files_[from][head + below(files_[from].size() - head)];
    Lines& lines = files_[to];
    const std::size_t first = heads_of_[to];
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(first + below(lines.size() - first + 1)), line);
  }
}

void GeneratedStore::write_files() const {
  fs::remove_all(scratch_);
  fs::create_directories(dir_);
  if (is_database_) {
    write_database();
  }
  for (const auto& [path, lines] : files_) {
    const fs::path file = dir_ / path;
    // Of a store that was moved to a database, some files stay behind.
    if (is_database_ && path.size() % 3 != 0) {
      continue;
    }
    fs::create_directories(file.parent_path());
    const std::string text = is_document(path) ? document_of(lines) : joined(lines);
    std::ofstream(file, std::ios::binary) << (file.extension() == ".zst" ? zstd_of(text) : text);
  }
}

void GeneratedStore::write_database() const {
  SqliteProgram program((dir_ / "opencode.db").string());
  std::string script = kTables;
  for (const auto& [path, lines] : files_) {
    script += path.starts_with("storage/project/") ? "" : row_of_file(path, lines.front());
  }
  program.run(script + "COMMIT;");
}

std::unique_ptr<Catalog> GeneratedStore::open() const {
  auto stores = open_stores({{agent_.agent, dir_.string(), false}}, Access::look);
  EXPECT_TRUE(stores) << stores.error().message;
  auto catalog = std::make_unique<Catalog>(std::move(*stores), "/home/ann", "");
  catalog->rescan();
  return catalog;
}

fs::path GeneratedStore::new_name() {
  return new_name(one_of(one_of(agent_.generations).logs));
}

fs::path GeneratedStore::new_name(const std::string& shape) {
  const fs::path path = dir_ / filled(shape, {{"session", agent_.id(++serial_ + 2000)}});
  names_.insert(path);
  fs::create_directories(path.parent_path());
  return path;
}

fs::path GeneratedStore::outside_log() {
  const fs::path path = scratch_ / ("log" + std::to_string(++serial_));
  std::ofstream(path) << joined(files_.begin()->second);
  return path;
}

void GeneratedStore::add_links() {
  for (std::size_t more = names_.empty() ? 0 : below(7); more > 0; --more) {
    add_link(below(7));
  }
}

void GeneratedStore::add_link(std::size_t kind) {
  const fs::path other = one_of(names_);
  switch (kind) {
    case 0:
      return fs::create_symlink(outside_log(), new_name());
    case 1:
      return fs::create_symlink(other, new_name());
    case 2:
      return fs::create_symlink(scratch_ / "nowhere", new_name());
    case 3: {
      const fs::path name = new_name();
      return fs::create_symlink(name, name);
    }
    case 4:
      ASSERT_EQ(::mkfifo(new_name().c_str(), 0600), 0);
      return;
    case 5: {
      const fs::path name = new_name();
      return fs::is_regular_file(fs::symlink_status(other)) ? fs::create_hard_link(other, name)
                                                            : fs::create_symlink(other, name);
    }
    default:
      return agent_.agent == "opal" ? void(fs::create_directory(new_name())) : add_linked_folder();
  }
}

/// A folder outside with one log and a link back to the store, where the agent has folders of logs.
void GeneratedStore::add_linked_folder() {
  const fs::path name = new_name(agent_.generations.front().logs.front());
  const fs::path target = scratch_ / ("folder" + std::to_string(++serial_));
  const fs::path link =
      agent_.agent == "goat" ? name.parent_path() : name.parent_path().parent_path() / target.filename();
  names_.erase(name);
  if (agent_.agent == "goat") {
    fs::remove(link);
  }
  fs::create_directories(target);
  fs::create_directory_symlink(dir_, target / "loop");
  std::ofstream(target / name.filename()) << joined(files_.begin()->second);
  fs::create_directory_symlink(target, link);
  names_.insert(link / name.filename());
}

}  // namespace arborfs::testing
