// Names of links to sessions that people read: in by-title/ and recent/ (CONTRACT.md 2.15). A name is made from the
// time of the session's creation, in the time zone of this process, and a few words. It stays until these words change,
// and still leads to the session afterwards. Thread-safe; mutex_ is a leaf and is not held while a log is read.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/views/session_slugs.h"

namespace arborfs {

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
