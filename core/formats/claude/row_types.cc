#include "core/formats/claude/row_types.h"

#include <algorithm>
#include <array>

namespace arborfs::claude {
namespace {

constexpr std::array<std::string_view, 41> kBookkeeping = {
    "agent-color",
    "agent-name",
    "agent-setting",
    "ai-title",
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "artifact-autoreact-ledger",
    "artifact-comment-monitor",
    "atis-latch",
    "attribution-snapshot",
    "bridge-session",
    "content-replacement",
    "context-collapse-commit",
    "context-collapse-snapshot",
    "continued-in",
    "cost-state",
    "custom-title",
    "ended-by-model",
    "file-history-delta",
    "file-history-snapshot",
    "fork-context-ref",
    "frame-link",
    "history-suppression",
    "isolation-latch",
    "last-prompt",
    "marble-origami-commit",
    "marble-origami-reset",
    "marble-origami-snapshot",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "relocated",
    "speculation-accept",
    "summary",
    "tag",
    "task-summary",
    "tools-used",
    "worktree-state",
};

}  // namespace

bool is_bookkeeping(std::string_view type) {
  return std::find(kBookkeeping.begin(), kBookkeeping.end(), type) != kBookkeeping.end();
}

}  // namespace arborfs::claude
