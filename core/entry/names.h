// File names made from the content of a log, and back (CONTRACT.md 2.3). No string from a log becomes a path of the
// store, and no name can contain an escape, a separator or a look-alike trick (FAILURES.md S1, S4). Pure functions, any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/entry/text_sizes.h"
#include "core/log/log_index.h"

namespace arborfs::names {

/// Encodes bytes outside [A-Za-z0-9._-] as %XX, and also ".", ".." and a leading '-'; "" becomes %empty. A name over
/// `limit` bytes is cut between encoded bytes and ends with '~' and 16 hex digits of a hash of the whole.
std::string encode(std::string_view text, std::size_t limit = 255);

/// A path as an address within a page or a Markdown document: each byte beyond [A-Za-z0-9._~/-] as %XX.
std::string address(std::string_view path);

/// A label keeps its UTF-8 spelling except for '/', '%', control, bidirectional and zero-width characters, a leading
/// '-' or '.', and bytes that are not UTF-8.
std::string encode_label(std::string_view text, std::size_t limit = 255);
/// The label that is shown by this name; nothing if the name shows none.
std::optional<std::string> decode_label(std::string_view name);

/// A file that an agent made keeps its UTF-8 spelling, with the same exceptions as a label; in addition, a trailing
/// space is encoded, but a leading '.' is kept.
std::string encode_file(std::string_view text, std::size_t limit = 255);
/// The file that is shown by this name, unless the name was cut; nothing if it shows none.
std::optional<std::string> decode_file(std::string_view name);

/// A path for people and scripts: control characters and bytes that are not UTF-8 become %XX, the rest stays, '%' too.
std::string without_controls(std::string_view path);

/// An ordinal with 6 digits or more.
std::string padded(Ordinal ordinal);
/// <ordinal, 6 digits or more>-<LogIndex::role>-<id>, at most 255 - `reserve` bytes.
std::string entry_stem(const LogIndex& index, Ordinal ordinal, std::size_t reserve = 5);
/// <ordinal>-<id>: the name of a branch.
std::string branch_stem(const LogIndex& index, Ordinal ordinal);
/// The name of an image in images/: <ordinal>-<id>-<number>.<extension>.
std::string image_file(const LogIndex& index, const ImageRef& image);
/// The ordinal that a listed name starts with or a short name consists of: "000042-user-a1b2", "42", "000042"; else
/// nothing.
std::optional<Ordinal> leading_ordinal(std::string_view name);

/// A project's name from its cwd: without the home prefix, separators as '-', beyond ASCII the UTF-8 spelling as in a
/// label, the rest as in encode(), never starting with '-' or '.'; or "home", "root", "unknown" (CONTRACT.md 2.1).
std::string project_name(std::string_view cwd, std::string_view home);
/// True if the word of a user is in the name of a project, of which it may spell the blanks.
bool is_in_project_name(std::string_view word, std::string_view name);

/// A readable form of a title for recent/: lower-case letters, digits and '-', at most 60 bytes; or "untitled".
std::string slug(std::string_view title);

/// The file name extension for an image block: png, jpg, gif, webp, svg, bmp, avif, or bin.
std::string_view image_extension(std::string_view mime_type);
/// The media type of the images with this extension; "" for bin.
std::string_view image_media_type(std::string_view extension);

}  // namespace arborfs::names
