#include "tools/generate/entry_writer.h"

#include <cstdio>

#include "tools/generate/entry_text.h"

namespace arborfs::generate {
namespace {

// Every step is invertible, so no two counts give the same id.
IdNumber scattered(IdNumber count, IdNumber salt) {
  IdNumber x = count * 0x9E3779B1U ^ salt;
  x = (x ^ (x >> 16)) * 0x85EBCA6BU;
  x = (x ^ (x >> 13)) * 0xC2B2AE35U;
  return x ^ (x >> 16);
}

}  // namespace

std::string id_text(IdNumber id) {
  std::string text(8, '0');
  for (std::size_t i = 8; i-- > 0; id >>= 4) {
    text[i] = "0123456789abcdef"[id & 15];
  }
  return text;
}

void EntryWriter::begin(std::string_view type) {
  out() += '{';
  add_member(out(), "type", type);
  add_frame();
}

void EntryWriter::begin_own_first(std::string_view type) {
  out() += '{';
  add_member(out(), "type", type);
}

void EntryWriter::add_frame() {
  current_ = scattered(++entries_, id_salt_);
  std::string& text = out();
  text += ',';
  add_member(text, "id", id_text(current_));
  if (leaf_) {
    text += ',';
    add_member(text, "parentId", id_text(*leaf_));
  } else {
    text += R"(,"parentId":null)";
  }
  text += ',';
  add_member(text, "timestamp", iso_time(now_ms_));
}

IdNumber EntryWriter::end() {
  out() += "}\n";
  output_.flush_if_full();
  leaf_ = current_;
  return current_;
}

IdNumber EntryWriter::end_own_first() {
  add_frame();
  return end();
}

void EntryWriter::line(std::string_view text) {
  (out() += text) += '\n';
  output_.flush_if_full();
}

}  // namespace arborfs::generate
