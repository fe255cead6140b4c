#include "core/formats/claude/row_reader.h"

namespace arborfs::claude {
namespace {

Damage damage_of(const LineReader::Line& line) {
  const Damage::Kind kind = line.is_too_long            ? Damage::Kind::too_tangled
                            : line.text.front() == '\0' ? Damage::Kind::nul
                            : line.is_ended             ? Damage::Kind::malformed
                                                        : Damage::Kind::unfinished;
  return {line.offset, line.length, kind, !line.is_ended};
}

}  // namespace

void Stretch::clear() {
  rows.clear();
  damage.clear();
  left_out.clear();
  texts.clear();
}

void Stretch::take(const LineReader::Line& line, RowParser& parser) {
  if (line.is_too_long) {
    damage.push_back(damage_of(line));
    return;
  }
  Row row = parser.parse(line.text, texts);
  row.offset = line.offset;
  if (row.kind == Row::Kind::bad) {
    damage.push_back(damage_of(line));
    return;
  }
  if (row.rest != 0) {
    damage.push_back({row.offset + row.length, row.rest, Damage::Kind::fused, !line.is_ended});
  }
  if (row.kind == Row::Kind::left_out) {
    left_out.push_back(row.name);
  } else if (row.kind != Row::Kind::aside) {
    rows.push_back(row);
  }
}

}  // namespace arborfs::claude
