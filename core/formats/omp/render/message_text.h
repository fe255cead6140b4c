// The text of a `message` entry, by role, and of content blocks in any entry.
#pragma once

#include <string_view>

#include "core/render/blocks.h"

namespace arborfs {

template <class Node, class Sink>
class MessageText : public Blocks<Node, Sink> {
  using Base = Blocks<Node, Sink>;

 public:
  using Base::Base;
  using typename Base::Text;

  void message(const Node& entry) {
    const Node message = entry.member("message");
    if (message.kind() != NodeKind::object) {
      return this->plain_value(entry);
    }
    const Text role = Base::text_of(message.member("role"));
    if (role == "bashExecution") {
      execution(message, "", "$ ", "command");
    } else if (role == "pythonExecution") {
      execution(message, "python", "", "code");
    } else if (role == "fileMention") {
      file_mention(message);
    } else if (role == "compactionSummary" || role == "branchSummary") {
      this->text_or_value(message.member("summary"));
    } else if (message.member("content").kind() == NodeKind::missing && role != "assistant") {
      this->plain_value(message);
    } else {
      conversation(message, role);
    }
  }

  /// A record that is not JSON.
  void verbatim(std::string_view raw) {
    this->fenced_text("", raw);
    this->end();
  }

  /// `content`, then 18's `images`, of a message or a custom message.
  void content_of(const Node& owner) {
    const Node content = owner.member("content");
    if (content.kind() == NodeKind::array) {
      each(content, [this](const Node& block) { content_block(block); });
    } else if (is_output_ && Base::is_text(content)) {
      this->fenced_text("", content.text());
    } else {
      this->text_or_value(content);
    }
    const Node images = owner.member("images");
    if (images.kind() == NodeKind::array) {
      each(images, [this](const Node& block) { content_block(block); });
    }
  }

  void custom_type(const Node& owner) {
    const Node type = owner.member("customType");
    if (type.kind() != NodeKind::missing) {
      this->begin_block();
      this->sink_.raw("[");
      this->phrase(type);
      this->sink_.raw("]");
    }
  }

 private:
  template <class Each>
  static void each(const Node& list, Each visit) {
    typename Node::Cursor cursor(list);
    Text key;
    while (!cursor.done()) {
      visit(cursor.next(key));
    }
  }

  void conversation(const Node& message, const Text& role) {
    if (role == "custom" || role == "hookMessage") {
      custom_type(message);
    }
    if (role == "toolResult" && Base::is_true(message.member("isError"))) {
      line("**error** from ", message.member("toolName"), "");
    }
    is_output_ = role == "toolResult";
    content_of(message);
    if (role == "system") {
      sections(message.member("sections"));
    }
    if (role == "assistant") {
      const Node reason = message.member("stopReason");
      if (Base::text_of(reason) == "aborted" || Base::text_of(reason) == "error") {
        line("**stopped**: ", reason, "");
      }
      this->paragraph(Base::text_of(message.member("errorMessage")));
    }
  }

  /// pi's system prompt (pi/FORMAT.md C3).
  void sections(const Node& sections) {
    if (sections.kind() == NodeKind::object) {
      this->in_order_ = this->in_order_ && sections.in_order();
      each(sections, [this](const Node& section) { this->text_or_value(section); });
    }
  }

  void content_block(const Node& block) {
    const Text type = Base::text_of(block.member("type"));
    const bool is_known = type == "text" || type == "thinking";
    const Node words = is_known ? block.member(type == "text" ? "text" : "thinking") : Node();
    if (Base::is_text(words) && type == "text" && is_output_) {
      this->fenced_text("", words.text());
    } else if (Base::is_text(words) && type == "text") {
      this->paragraph(words.text());
    } else if (Base::is_text(words)) {
      this->quote(words.text());
    } else if (type == "redactedThinking") {
      this->quote(std::string_view("(redacted)"));
    } else if (type == "toolCall") {
      tool_call(block);
    } else if (type == "image" && Base::is_text(block.member("data"))) {
      image(block.member("mimeType"));
    } else {
      this->text_or_value(block);
    }
  }

  void image(const Node& mime_type) {
    this->begin_block();
    this->sink_.raw("[image ");
    this->sink_.raw(std::to_string(++this->images_));
    if (mime_type.kind() != NodeKind::missing) {
      this->sink_.raw(": ");
      this->phrase(mime_type);
    }
    this->sink_.raw("]");
  }

  void tool_call(const Node& call) {
    const Node name = call.member("name");
    const Node arguments = call.member("arguments");
    this->fenced("", [&](auto& sink) {
      if (Base::is_text(name)) {
        put_line(sink, name.text());
      } else {
        sink.raw("(tool without a name)");
      }
      if (arguments.kind() == NodeKind::missing || Base::is_empty_container(arguments)) {
        return;
      }
      sink.raw("\n");
      if (is_container(arguments)) {
        this->outline(arguments, sink);
      } else if (Base::is_text(arguments)) {
        put_text(sink, without_end_newlines(arguments.text()));
      } else {
        put_plain_scalar(arguments, sink);
      }
    });
  }

  void execution(const Node& message, std::string_view language, std::string_view prompt, std::string_view key) {
    const Text code = without_end_newlines(Base::text_of(message.member(key)));
    this->fenced(language, [&](auto& sink) {
      sink.raw(prompt);
      put_text(sink, code);
    });
    this->fenced_text("", Base::text_of(message.member("output")));
    const Node exit_code = message.member("exitCode");
    if (exit_code.kind() == NodeKind::number && exit_code.number() != 0) {
      line("exit code ", exit_code, "");
    }
    if (Base::is_true(message.member("cancelled"))) {
      this->paragraph(std::string_view("cancelled"));
    }
    if (Base::is_true(message.member("truncated"))) {
      this->paragraph(std::string_view("output truncated"));
    }
  }

  void file_mention(const Node& message) {
    const Node files = message.member("files");
    if (files.kind() != NodeKind::array) {
      return this->plain_value(message);
    }
    each(files, [this](const Node& file) {
      if (!Base::is_text(file.member("path"))) {
        return this->fenced_value(file);
      }
      line("file ", file.member("path"), "");
      this->fenced_text("", Base::text_of(file.member("content")));
      if (file.member("skippedReason").kind() != NodeKind::missing) {
        line("skipped: ", file.member("skippedReason"), "");
      }
    });
  }

 protected:
  bool is_output_ = false;  // NOLINT: the content is the output of a tool

  /// A block of one line: words, a value, words.
  void line(std::string_view before, const Node& value, std::string_view after) {
    this->begin_block();
    this->sink_.raw(before);
    this->phrase(value);
    this->sink_.raw(after);
  }
};

}  // namespace arborfs
