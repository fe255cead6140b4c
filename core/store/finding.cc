#include "core/store/finding.h"

#include "core/base/words.h"

namespace arborfs {

Finding not_shown_note(std::string_view type, std::uint64_t count) {
  Finding note{"not_shown", counted(count, "record") + " of the type " + std::string(type) +
                                (count == 1 ? " is not shown" : " are not shown")};
  note.is_note = true;
  return note;
}

}  // namespace arborfs
