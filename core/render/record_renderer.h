// What the records of one agent say to people and to models. One constant object a format. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/model/content.h"
#include "core/model/context.h"
#include "core/render/text_measurer.h"

namespace arborfs {

class RecordRenderer {
 public:
  virtual ~RecordRenderer() = default;
  /// Appends the text of an entry, whose bytes are `raw`, as render_text() does for omp (text.h). Entries longer than
  /// kMaxRenderedEntry do not come here.
  virtual void render(EntryType type, std::string_view raw, std::string& out) const = 0;
  /// The size of that text, its images and its usage.
  [[nodiscard]] virtual TextMeasure measure(EntryType type, std::string_view raw) const = 0;
  /// The first words of that text on one line, at most `columns` characters.
  [[nodiscard]] virtual std::string first_words(EntryType type, std::string_view raw, std::size_t columns) const = 0;
  /// What the agent would send to the model: as build_context() for omp (context.h). Errors: stale, io.
  [[nodiscard]] virtual Result<std::shared_ptr<const Content>> context(
      const ContextPath& path, std::shared_ptr<const LogSource> log, std::shared_ptr<const BlobSource> blobs) const = 0;
};

}  // namespace arborfs
