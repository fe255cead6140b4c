// What the tools of an agent do to files, what they run, and where the records of their results tell more: the constant
// data of a format.
#pragma once

#include <cstdint>
#include <string_view>

namespace arborfs {

/// A tool in one of the forms that its arguments have. Of the rows of a tool, the first that fits a call counts.
struct ToolShape {
  enum class Does : std::uint8_t { reads, edits, writes, patches, runs };
  std::string_view tool;
  Does does = Does::reads;
  /// The member of the arguments with the file, the command (a text, or a list of words) or the patch
  /// (`*** Update File: …`). "": the arguments are that text themselves.
  std::string_view subject;
  std::string_view folder = "";  // the member with the folder in which a command runs

  // Of an edit: where its texts are. A call without them has another form.
  std::string_view list = "";    // the member with a list of edits; "": the arguments are the one edit
  std::string_view before = "";  // the text that is replaced
  std::string_view after = "";   // what replaces it; of a write, the whole contents
  std::string_view all = "";     // true if every place is replaced, and not the only one
  /// An edit to an empty text takes the line feed behind it too.
  bool takes_line_feed = false;
  /// Words in the output of each call that worked. "": every call worked whose result is no error.
  std::string_view success = "";
};

/// Where the record with a result tells what a file held. The contents are whole.
struct ResultShape {
  /// The member of the record with a list of results, and the member of an item with the call's id. "": the record is
  /// that of one result.
  std::string_view results = "";
  std::string_view id = "";
  std::string_view object;      // the way to the object, as `message.details`
  std::string_view files = "";  // the member with more such objects, one a file; "." if the object is that list itself
  std::string_view path = "";   // without this member, the file is that of the call
  std::string_view before = "";
  std::string_view after = "";
  /// The member, and its value as JSON, that tell that there was no such file before.
  std::string_view created = "";
  std::string_view created_is = "";
  std::string_view replaced = "";  // what an edit really replaced, and by what, if a person changed it
  std::string_view by = "";
  /// The lines that differ and some around them, each after its number: `-12 old`.
  std::string_view numbered = "";
};

}  // namespace arborfs
