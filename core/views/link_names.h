// Names of sessions that people read. Thread-safe; each mutex_ is a leaf and is not held while a log is read.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/session/catalog.h"

namespace arborfs {

/// A few words for each session: those of session_name(). What was read from a log is kept.
class SessionSlugs {
 public:
  /// True if read() would read the head of the session's log: it has no title, and its opening words are not known.
  [[nodiscard]] bool needs_log(const Session& session) const;
  /// Reads the opening words of the sessions that need it. Errors: interrupted (the
  /// thread's Cancellation).
  Result<void> read(const std::vector<SessionPtr>& sessions);
  /// names::slug of the session's name, as far as it is known; else of kNoConversation.
  [[nodiscard]] std::string of(const Session& session) const;
  /// Drops what is kept of sessions that the view does not have, unless a later view was used before.
  void keep_only(const CatalogView& view);

 private:
  struct FirstWords {
    FileStat stat;  // of the log when it was read
    std::string slug;
    bool is_final = false;  // OpeningWords::is_final
  };
  [[nodiscard]] std::optional<FirstWords> known(const Session& session, const FileStat& stat) const;
  mutable std::mutex mutex_;
  std::unordered_map<std::uint32_t, FirstWords> read_;  // by session number; guarded by mutex_
  std::uint64_t kept_version_ = 0;                      // of the view that keep_only() used last; guarded by mutex_
};

/// The links in by-title/ and recent/ (CONTRACT.md 2.15). A name is made from the time of the session's creation, in
/// the time zone of this process, and a few words. It stays until these words change, and still leads to the session
/// afterwards.
class LinkNames {
 public:
  enum class Style : std::uint8_t {
    day,     // 2026-02-16 fix-the-flaky-upload-test
    minute,  // 2026-02-16T09-12-fix-the-flaky-upload-test
  };
  /// `slugs` must outlive it.
  LinkNames(Style style, SessionSlugs& slugs) : style_(style), slugs_(slugs) {}

  /// The folder of links to the sessions of all projects.
  static constexpr std::uint32_t kOfAll = 0;

  /// The names of sessions in a folder: that of a project, by its number, or kOfAll; in the same order. Logs are not
  /// read: SessionSlugs::read must have been called for the sessions. If sessions of one call get equal names, the one
  /// that was created first has the plain name; others end with '~' and a hash of their id.
  std::vector<NamedSession> name(std::uint32_t folder, const CatalogView& view,
                                 const std::vector<SessionPtr>& sessions);
  /// The session that has or had this name in the folder, if the view still shows it there; else null.
  [[nodiscard]] SessionPtr find(std::uint32_t folder, const CatalogView& view, std::string_view name) const;

 private:
  static constexpr std::size_t kMostNames = 8;  // of one session in one folder
  struct Names {
    std::uint64_t wanted = 0;             // hash of the name without what distinguishes it
    std::vector<std::string_view> given;  // keys of Folder::sessions, the present one last
  };
  struct Folder {
    std::map<std::string, std::uint32_t, std::less<>> sessions;  // numbers, by name
    std::unordered_map<std::uint32_t, Names> names;              // by session number
  };
  struct Wish;
  [[nodiscard]] Wish wish_of(const SessionPtr& session) const;
  static const std::string& give(Folder& folder, const Wish& wish);
  static void forget(Folder& folder, std::uint32_t session);
  void keep_only(const CatalogView& view);
  const Style style_;
  SessionSlugs& slugs_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, Folder> folders_;  // guarded by mutex_
  std::uint64_t kept_version_ = 0;           // of the view that keep_only() used last; guarded by mutex_
};

}  // namespace arborfs
