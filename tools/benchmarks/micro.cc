// arborfs-micro: Google benchmarks of the basic operations, without a mount: finding newlines (the limit of any scan),
// reading a log's index, also with the sizes of its texts, making a context, appending, redacting all logs of the agent
// dir as text and line by line as JSON, on one thread.
//
//   arborfs-micro AGENT_DIR [--benchmark_... option]...
//
// The agent dir is only read, and of several sessions the newest is measured but for redacting; appends go to a store
// of their own. With ITERATIONS=n in the environment each benchmark runs n times. Under `valgrind --tool=callgrind
// --instr-atstart=no` only the timed parts are counted, on all threads.
#include <benchmark/benchmark.h>
#include <valgrind/callgrind.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "core/base/words.h"
#include "core/formats/omp/context/context.h"
#include "core/formats/omp/edit/writer.h"
#include "core/formats/omp/store/store.h"
#include "core/redact/redactor.h"
#include "core/session/catalog.h"
#include "core/write/writer.h"

namespace arborfs {
namespace {

constexpr const char* kHome = "/home/nobody";

void fail(const std::string& what, const Error& error) {
  std::fprintf(stderr, "arborfs-micro: %s: %s\n", what.c_str(), error.message.c_str());
  std::exit(1);
}

/// Counts instructions during its lifetime if a profiler is attached.
class Counted {
 public:
  Counted() { CALLGRIND_START_INSTRUMENTATION; }
  ~Counted() { CALLGRIND_STOP_INSTRUMENTATION; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
};

/// A catalog as after a new mount, and its most recently changed session.
class Opened {
 public:
  explicit Opened(const std::string& agent_dir) : catalog_(omp::open_store(agent_dir), kHome, "") {
    catalog_.rescan();
    const auto recent = catalog_.recent(1);
    if (recent.empty()) {
      fail(agent_dir, {Errc::not_found, "no session"});
    }
    session_ = recent.front();
  }
  void read(Depth depth) {
    if (const auto done = session_->refresh(depth); !done) {
      fail("reading the session", done.error());
    }
  }
  [[nodiscard]] Catalog& catalog() { return catalog_; }
  [[nodiscard]] const SessionPtr& session() const { return session_; }
  [[nodiscard]] std::int64_t log_bytes() const { return static_cast<std::int64_t>(session_->stat().size); }

 private:
  Catalog catalog_;
  SessionPtr session_;
};

/// The bytes of a session's log.
std::string log_of(const Session& session) {
  const auto log = session.store().open(session.place());
  if (!log) {
    fail("reading the log", log.error());
  }
  const auto size = (*log)->size();
  auto bytes = size ? (*log)->read(0, *size) : Result<std::string>(size.error());
  if (!bytes) {
    fail("reading the log", bytes.error());
  }
  return *std::move(bytes);
}

void newlines(benchmark::State& state, const std::string& agent_dir) {
  const Opened opened(agent_dir);
  const std::string bytes = log_of(*opened.session());
  for (auto _ : state) {
    const Counted counted;
    std::size_t lines = 0;
    const char* at = bytes.data();
    const char* const end = at + bytes.size();
    while (const void* found = std::memchr(at, '\n', static_cast<std::size_t>(end - at))) {
      at = static_cast<const char*>(found) + 1;
      ++lines;
    }
    benchmark::DoNotOptimize(lines);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

void redact_log(benchmark::State& state, const std::string& agent_dir, bool is_json) {
  Opened opened(agent_dir);
  std::string bytes;
  for (const auto& [id, session] : opened.catalog().view()->by_id) {
    bytes += log_of(*session);
  }
  redact::Redactor redactor(redact::Rules::in_force({}));
  for (auto _ : state) {
    const Counted counted;
    std::size_t length = is_json ? 0 : redactor.redact(bytes).size();
    for (std::string_view rest = bytes; is_json && !rest.empty();) {
      length += redactor.redact_json(take_line(rest)).size();
    }
    benchmark::DoNotOptimize(length);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

void index(benchmark::State& state, const std::string& agent_dir, Depth depth) {
  std::int64_t bytes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto opened = std::make_unique<Opened>(agent_dir);
    state.ResumeTiming();
    {
      const Counted counted;
      opened->read(depth);
    }
    state.PauseTiming();
    bytes += opened->log_bytes();
    opened.reset();
    state.ResumeTiming();
  }
  state.SetBytesProcessed(bytes);
}

void context(benchmark::State& state, const std::string& agent_dir) {
  constexpr std::uint64_t kPiece = 1 << 20;
  Opened opened(agent_dir);
  opened.read(Depth::index);
  std::int64_t bytes = 0;
  for (auto _ : state) {
    const Counted counted;
    const auto guard = opened.session()->read();
    const auto content = omp::build_context(context_path(guard->index(), guard->leaf()), guard->log(),
                                            opened.session()->store().blobs());
    if (!content) {
      fail("making the context", content.error());
    }
    for (std::uint64_t at = 0; at < (*content)->size(); at += kPiece) {
      const auto piece = (*content)->read(at, kPiece);
      benchmark::DoNotOptimize(piece.has_value());
    }
    bytes += static_cast<std::int64_t>((*content)->size());
  }
  state.SetBytesProcessed(bytes);
}

/// A store for the appends, in a folder that the destructor removes.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "arborfs-micro-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      fail(name, {Errc::io, std::strerror(errno)});
    }
    root_ = name;
    std::filesystem::create_directories(root_ + "/sessions");
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const std::string& root() const { return root_; }

 private:
  std::string root_;
};

void append(benchmark::State& state) {
  const Scratch scratch;
  Catalog catalog(omp::open_store(scratch.root()), kHome, scratch.root() + "/state");
  omp::Writer writer(catalog, {Durability::none, false, false, "", scratch.root() + "/trash"});
  const auto made = writer.create({"/srv/bench", "", "", ""});
  if (!made) {
    fail("making a session", made.error());
  }
  const std::string text(200, 'x');
  const auto write = [&] {
    auto command = omp::text_command(text, omp::Dialect::omp18, 1771237231000);
    if (!command) {
      fail("appending", command.error());
    }
    command->force = true;  // otherwise the Writer scans for agents, and counts depend on other processes
    const auto written = writer.append(made->session, std::move(*command));
    if (!written) {
      fail("appending", written.error());
    }
  };
  write();
  for (auto _ : state) {
    const Counted counted;
    write();
  }
  state.SetItemsProcessed(state.iterations());
}

void add_benchmarks(const std::string& agent_dir) {
  const auto add = [](const char* name, auto function) {
    auto* const added = benchmark::RegisterBenchmark(name, function);
    added->Unit(benchmark::kMicrosecond)->UseRealTime();
    if (const char* const iterations = std::getenv("ITERATIONS")) {
      added->Iterations(std::max(1L, std::strtol(iterations, nullptr, 10)));
    }
  };
  add("newlines", [=](benchmark::State& state) { newlines(state, agent_dir); });
  add("index_names", [=](benchmark::State& state) { index(state, agent_dir, Depth::index); });
  add("index_sizes", [=](benchmark::State& state) { index(state, agent_dir, Depth::details); });
  add("context", [=](benchmark::State& state) { context(state, agent_dir); });
  add("append", append);
  add("redact_text", [=](benchmark::State& state) { redact_log(state, agent_dir, false); });
  add("redact_json", [=](benchmark::State& state) { redact_log(state, agent_dir, true); });
}

}  // namespace
}  // namespace arborfs

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::fputs("usage: arborfs-micro AGENT_DIR [--benchmark_... option]...\n", stderr);
    return 2;
  }
  arborfs::add_benchmarks(argv[1]);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
