#include "tools/generate/text_pool.h"

#include <algorithm>

namespace arborfs::generate {
namespace {

constexpr std::uint64_t kPoolSeed = 20260216;
constexpr int kPieces = 12000;

constexpr std::string_view kWords[] = {
    "the",     "when",   "cache",   "lookup",  "returns", "stale",  "entry", "because", "parser",  "reads",
    "buffer",  "twice",  "so",      "we",      "keep",    "one",    "index", "per",     "session", "and",
    "rebuild", "it",     "after",   "a",       "write",   "test",   "fails", "on",      "branch",  "label",
    "timeout", "worker", "request", "handler", "path",    "folder", "lock",  "stream",  "token",   "config",
    "option",  "value",  "naïve",   "déjà-vu", "größer",  "файл",   "測試",  "🙂",    "→",       "…",
};

constexpr std::string_view kCodeLines[] = {
    "#include <algorithm>",
    "template <class It> bool sorted(It first, It last) {",
    "\tfor (auto it = first; it != last; ++it) {",
    "    if (line.empty() || line[0] == '#') continue;",
    "    const std::string path = root + \"/\" + name;",
    "  return std::regex_match(text, std::regex(R\"(^\\d+\\.\\d+$)\"));",
    "}",
    "",
    "async function load(name: string): Promise<Entry[]> {",
    "  const rows = await db.query(`select * from entries where name = '${name}'`);",
    "def walk(node, depth=0):",
    "    \"\"\"Yields every child, deepest last.\"\"\"",
    "    yield from (walk(c, depth + 1) for c in node.children)",
    "-rw-r--r-- 1 dev dev   4821 Feb 11 09:14 core/index.cc",
    "drwxr-xr-x 7 dev dev   4096 Feb 11 09:14 tests",
    "[ 43%] Building CXX object CMakeFiles/app.dir/src/store.cc.o",
    "src/store.cc:118:23: error: no matching function for call to ‘open(const char*)’",
    "2026-02-11T09:14:02.331Z WARN  pool[7] slow request path=/api/v1/items ms=412",
    "\x1b[32m✓\x1b[0m parser keeps torn lines (12 ms)",
    "@@ -88,6 +88,9 @@ void Store::flush() {",
    "-  if (dirty_) write();",
    "+  if (dirty_ && !closing_) write();",
    "{\"status\":\"ok\",\"items\":[1,2,3],\"next\":null}",
    "    raise ValueError(f\"bad offset {offset!r} in {self.name}\")",
    "# Überschrift: “Prüfung” – 完了",
};

std::string sentence(Random& random) {
  std::string out(word(random));
  for (std::uint64_t left = 5 + random.below(14); left > 0; --left) {
    out += ' ';
    out += word(random);
  }
  out += random.one_in(7) ? ":\n" : ". ";
  return out;
}

std::string code_line(Random& random) {
  if (random.below(3) != 0) {
    return std::string(random.pick(kCodeLines)) + "\n";
  }
  std::string out = "src/";
  out += word(random);
  out += "_" + std::to_string(random.below(500)) + ".cc:" + std::to_string(random.below(2000)) + ": ";
  out += sentence(random);
  out.back() = '\n';
  return out;
}

}  // namespace

std::string_view word(Random& random) {
  return random.pick(kWords);
}

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\x1b':
        out += "\\u001b";
        break;
      default:
        out += c;
    }
  }
}

const TextPool& TextPool::prose() {
  static const TextPool pool = [] {
    TextPool made;
    Random random(kPoolSeed);
    for (int i = 0; i < kPieces; ++i) {
      made.add(sentence(random));
    }
    return made;
  }();
  return pool;
}

const TextPool& TextPool::code() {
  static const TextPool pool = [] {
    TextPool made;
    Random random(kPoolSeed + 1);
    for (int i = 0; i < kPieces; ++i) {
      made.add(code_line(random));
    }
    return made;
  }();
  return pool;
}

void TextPool::add(std::string_view piece) {
  plain_.starts.push_back(plain_.text.size());
  plain_.text += piece;
  escaped_.starts.push_back(escaped_.text.size());
  append_escaped(escaped_.text, piece);
}

void TextPool::append(const Pieces& pieces, std::string& out, Random& random, std::size_t bytes) {
  const std::size_t goal = out.size() + std::max<std::size_t>(bytes, 1);
  while (out.size() < goal) {
    const std::size_t from = pieces.starts[random.below(pieces.starts.size())];
    const auto stop = std::lower_bound(pieces.starts.begin(), pieces.starts.end(), from + (goal - out.size()));
    const std::size_t to = stop == pieces.starts.end() ? pieces.text.size() : *stop;
    out.append(pieces.text, from, to - from);
  }
}

}  // namespace arborfs::generate
