// The text of an entry, by type. See omp_text.h for the contract.
#pragma once

#include <string_view>

#include "core/formats/omp/render/message_text.h"
#include "core/log/log_index.h"

namespace arborfs {

template <class Node, class Sink>
class EntryText : public MessageText<Node, Sink> {
  using Base = MessageText<Node, Sink>;

 public:
  using Base::Base;

  /// Renders the whole entry. If false, the sink's content must be discarded (value_text.h).
  bool render(EntryType type, const Node& entry) {
    if (entry.kind() != NodeKind::object || !known(type, entry)) {
      this->plain_value(entry);
    }
    this->end();
    return this->in_order();
  }

 private:
  bool known(EntryType type, const Node& entry) {
    switch (type) {
      case EntryType::message:
        this->message(entry);
        return true;
      case EntryType::compaction:
      case EntryType::branch_summary:
        return summary(entry);
      case EntryType::custom_message:
        this->custom_type(entry);
        this->content_of(entry);
        return true;
      case EntryType::custom:
        this->custom_type(entry);
        this->text_or_value(entry.member("data"));
        return true;
      case EntryType::session_init:
        session_init(entry);
        return true;
      default:
        return sentence(type, entry);
    }
  }

  /// The types that are shown as one plain sentence.
  bool sentence(EntryType type, const Node& entry) {
    switch (type) {
      case EntryType::label:
        return label(entry);
      case EntryType::model_change:
        return model_change(entry);
      case EntryType::thinking_level_change:
        return change("Thinking level", entry.member("thinkingLevel"), "off");
      case EntryType::service_tier_change:
        return change("Service tier", entry.member("serviceTier"), "none");
      case EntryType::mode_change:
        return change("Mode", entry.member("mode"), "none") && details(entry.member("data"));
      case EntryType::title_change:
        return title_change(entry);
      case EntryType::session_info:
        return session_info(entry);
      case EntryType::context_edit:
        return context_edit(entry);
      case EntryType::usage:
        return model_usage(entry, entry.member("kind"));
      case EntryType::ttsr_injection:
        return list("Rules injected: ", entry.member("injectedRules"), "No rules injected.");
      case EntryType::mcp_tool_selection:
        return list("MCP tools selected: ", entry.member("selectedToolNames"), "No MCP tools selected.");
      case EntryType::model_usage:
        return model_usage(entry, entry.member("purpose"));
      case EntryType::credential_pin:
        this->line("Credential pinned for ", entry.member("provider"), ".");
        return true;
      case EntryType::reset_boundary:
        this->paragraph(std::string_view("Context reset: nothing before this is sent to the model."));
        return true;
      default:
        return false;
    }
  }

  bool summary(const Node& entry) {
    const Node summary = entry.member("summary");
    this->text_or_value(summary);
    return summary.kind() != NodeKind::missing;
  }

  bool label(const Node& entry) {
    const Node text = entry.member("label");
    const bool clears = text.kind() == NodeKind::missing || text.kind() == NodeKind::null ||
                        (Base::is_text(text) && text.text().empty());
    if (clears) {
      this->line("label cleared on ", entry.member("targetId"), "");
      return true;
    }
    this->line("label \"", text, "\" on ");
    this->phrase(entry.member("targetId"));
    return true;
  }

  bool model_change(const Node& entry) {
    Node model = entry.member("model");
    this->begin_block();
    this->sink_.raw("Model changed to ");
    if (model.kind() == NodeKind::missing) {
      this->phrase(entry.member("provider"));
      this->sink_.raw("/");
      model = entry.member("modelId");
    }
    this->phrase(model);
    const Node role = entry.member("role");
    if (Base::is_text(role) && !(role.text() == "default")) {
      this->sink_.raw(" for the role ");
      this->phrase(role);
    }
    this->sink_.raw(".");
    return true;
  }

  bool change(std::string_view what, const Node& value, std::string_view nothing) {
    this->begin_block();
    this->sink_.raw(what);
    if (is_container(value)) {
      this->sink_.raw(" changed:");
      return details(value);
    }
    this->sink_.raw(" changed to ");
    if (value.kind() == NodeKind::missing || value.kind() == NodeKind::null) {
      this->sink_.raw(nothing);
    } else {
      this->phrase(value);
    }
    this->sink_.raw(".");
    return true;
  }

  bool details(const Node& value) {
    if (value.kind() != NodeKind::missing && value.kind() != NodeKind::null) {
      this->fenced_value(value);
    }
    return true;
  }

  bool title_change(const Node& entry) {
    this->line("Title changed to \"", entry.member("title"), "\"");
    const Node previous = entry.member("previousTitle");
    if (Base::is_text(previous)) {
      this->sink_.raw(" from \"");
      this->phrase(previous);
      this->sink_.raw("\"");
    }
    this->sink_.raw(".");
    return true;
  }

  bool session_info(const Node& entry) {
    const Node name = entry.member("name");
    if (!Base::is_text(name) || name.text().empty()) {
      this->paragraph(std::string_view("Title cleared."));
      return true;
    }
    this->line("Title changed to \"", name, "\"");
    this->sink_.raw(".");
    return true;
  }

  bool context_edit(const Node& entry) {
    const Node replacement = entry.member("replacement");
    if (replacement.kind() != NodeKind::object) {
      this->line("Taken out of the context: ", entry.member("targetId"), "");
      return true;
    }
    this->line("Replaced in the context: ", entry.member("targetId"), "");
    this->content_of(replacement);
    return true;
  }

  bool list(std::string_view before, const Node& names, std::string_view nothing) {
    if (names.kind() == NodeKind::missing || Base::is_empty_container(names)) {
      this->paragraph(nothing);
      return true;
    }
    this->begin_block();
    this->sink_.raw(before);
    this->names(names);
    this->sink_.raw(".");
    return true;
  }

  bool model_usage(const Node& entry, const Node& purpose) {
    this->line("Model ", entry.member("provider"), "/");
    this->phrase(entry.member("model"));
    this->sink_.raw(" used for ");
    this->phrase(purpose);
    const Node usage = entry.member("usage");
    this->sink_.raw(": ");
    this->phrase(usage.member("input"));
    this->sink_.raw(" tokens in, ");
    this->phrase(usage.member("output"));
    this->sink_.raw(" out.");
    return true;
  }

  void session_init(const Node& entry) {
    const Node tools = entry.member("tools");
    list("Started with the tools ", tools, "Started without tools.");
    section("**Task**", entry.member("task"));
    section("**System prompt**", entry.member("systemPrompt"));
    section("**Output schema**", entry.member("outputSchema"));
  }

  void section(std::string_view title, const Node& value) {
    if (value.kind() != NodeKind::missing && value.kind() != NodeKind::null) {
      this->paragraph(title);
      this->text_or_value(value);
    }
  }
};

}  // namespace arborfs
