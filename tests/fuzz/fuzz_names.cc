// For any log, the names made from it are short, plain and distinct (CONTRACT.md 2.3, FAILURES.md S1, S4).
#include <algorithm>
#include <string>

#include "core/entry/names.h"
#include "core/formats/omp/log/reader.h"
#include "core/json/document.h"
#include "core/json/utf8.h"
#include "tests/fuzz/support/check.h"
#include "tests/fuzz/support/visible.h"

namespace arborfs::fuzz {
namespace {

constexpr std::size_t kLongest = 4096;
constexpr std::size_t kNameMax = 255;

bool is_plain(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

void check_file_name(const std::string& name, std::size_t limit) {
  check(!name.empty() && name != "." && name != "..", "not a file name", name);
  check(name.size() <= limit, "a name too long", name);
  check(name.find('/') == std::string::npos && name.find('\0') == std::string::npos, "a name with a separator", name);
  check(name.front() != '-', "a name like an option", name);
}

void check_encoded(const std::string& name, std::size_t limit) {
  check_file_name(name, limit);
  for (const char c : name) {
    check(is_plain(c) || c == '%' || c == '~', "a byte that is not plain", name);
  }
}

void check_ends(std::string_view text, std::size_t limit) {
  check_encoded(names::encode(text, limit), limit);
  const std::string label = names::encode_label(text, limit);
  check_file_name(label, limit);
  check(json::is_valid_utf8(label), "a label's name that is not UTF-8", label);
  check(label.front() != '.', "a label's name that ls hides", label);
}

void check_entry_names(std::string_view text) {
  std::string literal;
  json::stringify_string(json::decode_utf8(text), literal);
  const std::string log = R"({"type":"session","version":3,"id":"s","timestamp":"","cwd":""})"
                          "\n"
                          R"({"type":)" +
                          literal + R"(,"id":)" + literal +
                          R"(,"parentId":null})"
                          "\n"
                          R"({"type":"message","id":"m","parentId":)" +
                          literal + R"(,"message":{"role":)" + literal + "}}\n";
  const auto index = omp::reader().index(*log_from_bytes(log), {});
  check(index.has_value(), "an index of bytes in memory cannot fail");
  for (Ordinal o = 1; o <= (*index)->size(); ++o) {
    const std::string stem = names::entry_stem(**index, o);
    check_encoded(stem, kNameMax - 5);
    check(names::leading_ordinal(stem) == o, "ordinal of a stem", stem);
    const std::string branch = names::branch_stem(**index, o);
    check_encoded(branch, kNameMax);
    check(names::leading_ordinal(branch) == o, "ordinal of a branch", branch);
  }
}

// Readable names keep letters of all scripts, but no character that is special in a shell.
void check_readable(const std::string& name, std::string_view kept_ascii, std::size_t limit) {
  check_file_name(name, limit);
  check(json::is_valid_utf8(name), "a readable name that is not UTF-8", name);
  check_visible(name);
  for (const char c : name) {
    const bool is_ascii = static_cast<unsigned char>(c) < 0x80;
    check(!is_ascii || kept_ascii.find(c) != std::string_view::npos, "a byte that a shell takes for its own", name);
  }
}

void check_other_names(std::string_view text) {
  static const std::string lower = "abcdefghijklmnopqrstuvwxyz0123456789-";
  static const std::string all = lower + "ABCDEFGHIJKLMNOPQRSTUVWXYZ._~+%";
  for (const std::string& home : {std::string("/home/dev"), std::string(text)}) {
    const std::string project = names::project_name(text, home);
    check_readable(project, all, kNameMax - 5);
    check(project.front() != '.' && project.front() != '~', "a project's name with a tricky start", project);
  }
  check_readable(names::slug(text), lower, 60);
  check_encoded(std::string("x.") + std::string(names::image_extension(text)), 8);
}

// Different texts must have different names.
void check_distinct(std::string_view one, std::string_view two) {
  if (one != two) {
    check(names::encode(one) != names::encode(two), "two texts with one name", names::encode(one));
  }
  const std::string decoded_one = json::decode_utf8(one);
  const std::string decoded_two = json::decode_utf8(two);
  if (decoded_one != decoded_two) {
    check(names::encode_label(decoded_one) != names::encode_label(decoded_two), "two labels with one name",
          names::encode_label(decoded_one));
  }
}

}  // namespace

void run(std::string_view input) {
  if (input.size() > kLongest) {
    return;
  }
  check_ends(input, kNameMax);
  check_ends(input, 64);
  check_visible(names::encode_label(input));
  check_entry_names(input);
  check_other_names(input);
  const std::size_t middle = input.size() / 2;
  check_distinct(input.substr(0, middle), input.substr(middle));
  check_distinct(input, input.substr(0, middle));
  names::leading_ordinal(input);
}

}  // namespace arborfs::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  arborfs::fuzz::run(arborfs::fuzz::as_text(data, size));
  return 0;
}
