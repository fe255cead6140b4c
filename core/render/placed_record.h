// A parsed record that knows where each of its strings is in its text. Used by one thread.
#pragma once

#include <string>
#include <string_view>

#include "core/json/document.h"

namespace arborfs {

class PlacedRecord {
 public:
  /// `raw` outlives the record.
  explicit PlacedRecord(std::string_view raw);

  [[nodiscard]] std::string_view raw() const { return raw_; }
  /// False if the text is not one JSON value.
  [[nodiscard]] bool is_json() const { return is_json_; }
  [[nodiscard]] const json::Value& value() const { return value_; }
  /// The JSON text within raw() of a string of value(), quotes included. Empty for other values, and for all strings of
  /// a text that is not UTF-8.
  [[nodiscard]] std::string_view literal_of(const json::Value& string) const;

 private:
  std::string_view raw_;
  std::string copy_;  // the strings of value_ point into it; empty if raw_ is not UTF-8
  json::Document value_;
  bool is_json_ = false;
};

}  // namespace arborfs
