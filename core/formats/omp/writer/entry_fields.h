// Builds an entry that arborfs itself writes, member by member. Used by one thread.
#pragma once

#include <string_view>

#include "core/formats/omp/write/entry_draft.h"
#include "core/json/document.h"

namespace arborfs {

class EntryFields {
 public:
  explicit EntryFields(std::string_view type) {
    document_.SetObject();
    text("type", type);
  }
  EntryFields& text(std::string_view key, std::string_view value) {
    json::set(document_, key, json::make_string(value, document_), document_);
    return *this;
  }
  EntryFields& value(std::string_view key, std::string_view json_text) {
    json::Document parsed;
    json::parse(json_text, parsed);
    json::set(document_, key, json::copy(parsed, document_), document_);
    return *this;
  }
  [[nodiscard]] Result<EntryDraft> draft(Dialect dialect) const { return make_draft(document_, dialect); }

 private:
  json::Document document_;
};

}  // namespace arborfs
