#include "core/entry/turn.h"

namespace arborfs {

namespace {

TurnImage image_in(const MessagePart& part) {
  const bool has_url = part.data != nullptr && part.data->IsString();
  return image_of_url(has_url ? json::as_string(*part.data) : "");
}

}  // namespace

void Turn::add(const Message& message) {
  for (const MessagePart& part : message) {
    if (part.kind == MessagePart::Kind::thinking) {
      add(TurnPart::Kind::reasoning, part.text);
    } else if (part.kind == MessagePart::Kind::image) {
      add_image(image_in(part));
    } else if (part.kind == MessagePart::Kind::tool_call) {
      add_call(part.call_id, part.tool, part.text.empty() ? "{}" : part.text);
    } else {
      add(TurnPart::Kind::text, part.text);
    }
  }
}

ToolPairs tool_pairs(const std::vector<SaidTurn>& said) {
  ToolPairs found;
  OpenCalls<PartAt> open;
  for (std::size_t turn = 0; turn < said.size(); ++turn) {
    const auto& parts = said[turn].turn.parts;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const PartAt at{turn, part};
      if (parts[part].kind == TurnPart::Kind::tool_call) {
        open.add(parts[part].call_id, at);
        found.calls.insert(at);
      } else if (parts[part].kind == TurnPart::Kind::tool_result) {
        if (const auto call = open.take(parts[part].call_id)) {
          found.calls.erase(*call);
          found.pairs.push_back({*call, at});
        } else {
          found.results.push_back(at);
        }
      }
    }
  }
  return found;
}

TurnPart result_in(const Message& message, std::string call_id, std::string tool) {
  TurnPart result{TurnPart::Kind::tool_result, "", std::move(call_id), std::move(tool)};
  for (const MessagePart& part : message) {
    if (part.kind == MessagePart::Kind::image) {
      result.images.push_back(image_in(part));
    } else if (part.kind == MessagePart::Kind::tool_error) {
      result.is_error = true;
    } else if (part.kind == MessagePart::Kind::tool_output || part.kind == MessagePart::Kind::fields) {
      result.text.append(result.text.empty() ? "" : "\n").append(part.text);
    }
  }
  return result;
}

TurnImage image_of_url(std::string_view url, std::string_view media_type) {
  constexpr std::string_view kData = "data:";
  constexpr std::string_view kIsBase64 = ";base64";
  TurnImage image{std::string(media_type), "", ""};
  const std::size_t comma = url.find(',');
  if (!url.starts_with(kData) || comma == std::string_view::npos) {
    image.url = url;
    return image;
  }
  std::string_view type = url.substr(kData.size(), comma - kData.size());
  if (!type.ends_with(kIsBase64)) {
    image.url = url;
    return image;
  }
  type = type.substr(0, type.find(';'));
  image.media_type = type.empty() ? media_type : type;
  image.base64 = url.substr(comma + 1);
  return image;
}

}  // namespace arborfs
