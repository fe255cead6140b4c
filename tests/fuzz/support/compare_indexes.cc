#include "tests/fuzz/support/compare_indexes.h"

#include "tests/fuzz/support/check.h"

namespace arborfs::fuzz {
namespace {

std::string shown(const EntryId& id) {
  return std::to_string(static_cast<int>(id.kind)) + ":" + id.text;
}

void check_same_entry(const LogIndex& got, const LogIndex& wanted, Ordinal o) {
  check_equal(got.entry(o).offset, wanted.entry(o).offset, "offset");
  check_equal(got.length(o), wanted.length(o), "length");
  check_equal(shown(got.id(o)), shown(wanted.id(o)), "id");
  check_equal(shown(got.parent_id(o)), shown(wanted.parent_id(o)), "parent id");
  check_equal(got.name(o), wanted.name(o), "name");
  check_equal(got.type_text(o), wanted.type_text(o), "type");
  check(got.entry(o).type == wanted.entry(o).type, "type");
  check(got.entry(o).timestamp_ms == wanted.entry(o).timestamp_ms, "timestamp");
  check(got.is_assistant(o) == wanted.is_assistant(o), "is_assistant");
  check_equal(got.parent(o), wanted.parent(o), "parent");
  check(got.is_orphan(o) == wanted.is_orphan(o), "is_orphan");
  check(got.is_tip(o) == wanted.is_tip(o), "is_tip");
  check_equal(got.named_before(o), wanted.named_before(o), "named before");
  check(got.is_aside(o) == wanted.is_aside(o), "is_aside");
  check_equal(got.find(got.id(o)), wanted.find(wanted.id(o)), "find");
}

void check_same_damage(const std::vector<Damage>& got, const std::vector<Damage>& wanted) {
  check_equal(got.size(), wanted.size(), "runs of damage");
  for (std::size_t i = 0; i < got.size(); ++i) {
    check_equal(got[i].offset, wanted[i].offset, "damage offset");
    check_equal(got[i].length, wanted[i].length, "damage length");
    check_equal(damage_word(got[i].kind), damage_word(wanted[i].kind), "damage kind");
    check(got[i].in_progress == wanted[i].in_progress, "damage in progress");
  }
}

void check_same_labels(const std::vector<Label>& got, const std::vector<Label>& wanted) {
  check_equal(got.size(), wanted.size(), "labels");
  for (std::size_t i = 0; i < got.size(); ++i) {
    check_equal(shown(got[i].target), shown(wanted[i].target), "label target");
    check_equal(got[i].text, wanted[i].text, "label text");
    check_equal(got[i].set_by, wanted[i].set_by, "label set by");
  }
}

}  // namespace

void check_same(const LogIndex& got, const LogIndex& wanted) {
  check(got.dialect() == wanted.dialect(), "dialect");
  check_equal(got.header().json, wanted.header().json, "header");
  check(got.header().valid == wanted.header().valid, "header valid");
  check_equal(got.header().title, wanted.header().title, "title");
  check_equal(got.scanned_size(), wanted.scanned_size(), "scanned size");
  check_equal(got.size(), wanted.size(), "entries");
  for (Ordinal o = 1; o <= got.size(); ++o) {
    check_same_entry(got, wanted, o);
  }
  check(got.tips() == wanted.tips(), "tips");
  check_equal(got.tip_count(), wanted.tip_count(), "tip count");
  check(got.has_duplicate_ids() == wanted.has_duplicate_ids(), "has_duplicate_ids");
  check_equal(got.malformed_records(), wanted.malformed_records(), "malformed records");
  check_same_labels(got.labels(), wanted.labels());
  check_same_damage(got.damage(), wanted.damage());
}

}  // namespace arborfs::fuzz
