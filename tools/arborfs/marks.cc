// arborfs archive, unarchive, pin and unpin: marks that an agent's own lists of sessions go by.
#include "core/entry/text.h"
#include "core/formats/registry.h"
#include "tools/arborfs/access.h"
#include "tools/arborfs/json_text.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

constexpr std::size_t kIdCharacters = 200;  // characters of an id

int run_mark(const CommandLine& line, Mark mark, bool is_set, Terminal& io) {
  const auto catalog = open_catalog(line, io);
  if (!catalog) {
    return fail(io, catalog.error());
  }
  const auto sessions = listed_all(**catalog, line.sessions);
  if (!sessions) {
    return fail(io, sessions.error());
  }
  const auto writer = make_writer(**catalog, write_settings(line));
  writer->take_back_parts();
  auto rows = JsonText::lines();
  int status = kDone;
  for (const Listed& of : *sessions) {
    if (const auto done = writer->set_mark(of.session, mark, is_set, line.force); !done) {
      status = fail(io, {done.error().code, of.id + ": " + done.error().message});
      continue;
    }
    rows.item_json(JsonText::object().add("session", of.id).add(mark_name(mark), is_set).str());
    io.out << (line.json ? ""
                         : visible_line(of.id, kIdCharacters) + (is_set ? " is " : " is not ") +
                               std::string(mark_name(mark)) + "\n");
  }
  io.out << (line.json ? terminal_safe_json(rows.str()) + "\n" : "");
  return status;
}

}  // namespace

int run_archive(const CommandLine& line, Terminal& io) {
  return run_mark(line, Mark::archived, true, io);
}

int run_unarchive(const CommandLine& line, Terminal& io) {
  return run_mark(line, Mark::archived, false, io);
}

int run_pin(const CommandLine& line, Terminal& io) {
  return run_mark(line, Mark::pinned, true, io);
}

int run_unpin(const CommandLine& line, Terminal& io) {
  return run_mark(line, Mark::pinned, false, io);
}

}  // namespace arborfs::cli
