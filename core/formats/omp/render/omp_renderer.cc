#include "core/formats/omp/render/omp_renderer.h"

#include <optional>
#include <utility>

#include "core/base/hash.h"
#include "core/formats/omp/context/context.h"
#include "core/formats/omp/context/usage.h"
#include "core/formats/omp/render/omp_text.h"
#include "core/formats/omp/render/omp_turns.h"
#include "core/json/json_cursor.h"
#include "core/render/typed_text.h"

namespace arborfs {
namespace {

/// True for a message in the user's name that omp made (omp/FORMAT.md C25).
bool is_put_in(std::string_view raw) {
  const std::string_view message = skim::member(raw, "message");
  return skim::is_truthy(skim::member(message, "synthetic"));
}

class OmpRenderer : public RecordRenderer {
 public:
  void render(EntryType type, std::string_view raw, std::string& out) const override { render_text(type, raw, out); }
  [[nodiscard]] TextMeasure measure(EntryType type, std::string_view raw) const override {
    return measure_text(type, raw);
  }
  [[nodiscard]] std::optional<EntryUsage> usage(EntryType type, std::string_view raw) const override {
    const auto found = find_usage(type, raw);
    if (!found) {
      return std::nullopt;
    }
    EntryUsage told;
    told.report.usage = *found;
    told.report.request = xxh64(raw);  // a line that was written twice counts once
    told.model = model_of(type, raw);
    return told;
  }
  [[nodiscard]] std::string usage_json(const UsageTotals& totals, DialectNumber dialect) const override {
    return arborfs::usage_json(totals, Dialect{dialect});
  }
  [[nodiscard]] std::string first_words(EntryType type, std::string_view raw, std::size_t columns) const override {
    return arborfs::first_words(type, raw, columns);
  }
  void add_turns(const SpokenEntry& entry, std::vector<Turn>& turns) const override { add_turns_of_omp(entry, turns); }
  Result<void> read_turns(const SpokenPath& spoken, const TakeTurns& take) const override {
    return read_turns_of_omp(spoken, take);
  }
  [[nodiscard]] Saying saying(const SpokenEntry& entry) const override {
    return is_put_in(entry.raw) ? Saying() : RecordRenderer::saying(entry);
  }
  [[nodiscard]] Result<std::shared_ptr<const Content>> context(const ContextPath& path,
                                                               std::shared_ptr<const LogSource> log,
                                                               std::shared_ptr<const BlobSource> blobs) const override {
    return build_context(path, std::move(log), std::move(blobs));
  }

 protected:
  /// Without files that were named on the command line, skills and reminders (omp/FORMAT.md C25).
  [[nodiscard]] std::string typed_in(std::string_view text) const override {
    static constexpr std::string_view kElements[] = {"file", "skill", "system-reminder", "system-notice"};
    return without_elements(text, kElements);
  }
};

}  // namespace

const RecordRenderer& omp_renderer() {
  static const OmpRenderer renderer;
  return renderer;
}

}  // namespace arborfs
