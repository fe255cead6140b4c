#include "core/entry/text_sizes.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "core/base/error.h"
#include "core/entry/names.h"
#include "core/json/base64.h"
#include "core/json/json_cursor.h"

namespace arborfs {

void TextSizes::Delta::add(const TextMeasure& measure) {
  text_sizes.push_back(static_cast<std::uint32_t>(measure.size));
  for (const ImageRef& image : measure.images) {
    images.push_back(image);
    images.back().ordinal = first + static_cast<Ordinal>(text_sizes.size()) - 1;
  }
  if (measure.usage && measure.usage->request == 0) {
    usage.add(measure.usage->usage);
  } else if (measure.usage) {
    reports.push_back(*measure.usage);
  }
}

void TextSizes::apply(Delta delta) {
  text_sizes_.insert(text_sizes_.end(), delta.text_sizes.begin(), delta.text_sizes.end());
  images_.insert(images_.end(), std::make_move_iterator(delta.images.begin()),
                 std::make_move_iterator(delta.images.end()));
  usage_.set_settled(delta.usage);
  for (const UsageReport& report : delta.reports) {
    usage_.add(report);
  }
}

UsageTotals TextSizes::usage() const {
  UsageTotals totals = usage_.totals();
  if (session_cost_) {
    totals.set_whole_cost(*session_cost_);
  }
  return totals;
}

}  // namespace arborfs

namespace arborfs {
namespace {

constexpr std::string_view kDataScheme = "data:";
constexpr std::size_t kLongestScheme = 32;  // base64 text has no colon at all

constexpr std::array<bool, 256> kBase64 = [] {
  std::array<bool, 256> table{};
  for (const char c : std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}();

bool is_plain_base64(std::string_view text) {
  const std::string_view digits = text.substr(0, text.find_last_not_of('=') + 1);
  return text.size() - digits.size() <= 2 &&
         std::all_of(digits.begin(), digits.end(), [](char c) { return kBase64[static_cast<unsigned char>(c)]; });
}

/// The decoded text of an image that cannot be decoded piecewise, checked against the size that was found when it was
/// listed. Errors: stale.
Result<std::string> decode_whole(std::string_view spelled, const ImageRef& image) {
  const std::string quoted = "\"" + std::string(spelled) + "\"";
  std::string bytes = json::decode_base64(skim::string_value(quoted).value_or(""));
  if (bytes.size() != image.size) {
    return Result<std::string>(Errc::stale, "the log changed while the image was read; try again");
  }
  return bytes;
}

}  // namespace

void locate_base64(std::string_view raw, std::string_view spelled, ImageRef& image) {
  const bool is_escaped = spelled.find('\\') != std::string_view::npos;
  const std::string meant = is_escaped ? skim::string_value("\"" + std::string(spelled) + "\"").value_or("") : "";
  image.data_offset = static_cast<std::uint64_t>(spelled.data() - raw.data());
  image.data_length = spelled.size();
  image.size = json::decoded_base64_size(is_escaped ? std::string_view(meant) : spelled);
  image.plain_base64 = !is_escaped && is_plain_base64(spelled);
}

std::string_view mime_type_of_url(std::string_view text) {
  if (!text.starts_with(kDataScheme)) {
    return {};
  }
  const std::string_view rest = text.substr(kDataScheme.size());
  return rest.substr(0, std::min(rest.find(';'), rest.find(',')));
}

std::optional<ImageRef> find_inline_image(std::string_view raw, std::string_view literal, std::string_view mime_type) {
  if (literal.size() < 2 || literal.front() != '"') {
    return std::nullopt;
  }
  std::string_view spelled = literal.substr(1, literal.size() - 2);
  std::string type(mime_type);
  if (const std::size_t colon = spelled.substr(0, kLongestScheme).find(':'); colon != std::string_view::npos) {
    const std::size_t comma = spelled.find(',');
    const auto head = skim::string_value(std::string(literal.substr(0, comma + 1)) + "\"");
    if (comma == std::string_view::npos || !head || !head->starts_with(kDataScheme) || !head->ends_with(";base64")) {
      return std::nullopt;
    }
    type = mime_type_of_url(*head);
    spelled.remove_prefix(comma + 1);
  }
  ImageRef image;
  image.extension = names::image_extension(type);
  locate_base64(raw, spelled, image);
  return image;
}

Result<std::string> read_inline_image(const LogSource& log, const Entry& entry, const ImageRef& image,
                                      std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t from = std::min(offset, image.size);
  const std::uint64_t count = std::min(length, image.size - from);
  std::uint64_t text_from = 0;
  std::uint64_t text_length = image.data_length;
  if (image.plain_base64) {
    text_from = from / 3 * 4;
    text_length = std::min(((from + count + 2) / 3 * 4) - text_from, image.data_length - text_from);
  }
  ASSIGN_OR_RETURN(auto text, log.read(entry.offset + image.data_offset + text_from, text_length));
  if (!image.plain_base64) {
    ASSIGN_OR_RETURN(const auto whole, decode_whole(text, image));
    return whole.substr(from, count);
  }
  const std::string bytes = json::decode_base64(text);
  const std::uint64_t skip = from - (from / 3 * 3);
  if (bytes.size() < skip + count) {
    return Result<std::string>(Errc::stale, "the log changed while the image was read; try again");
  }
  return bytes.substr(skip, count);
}

}  // namespace arborfs
