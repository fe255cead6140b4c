#include <array>

#include "core/base/hash.h"
#include "core/base/result_macros.h"
#include "core/history/recent_history.h"
#include "fs/nodes/node_families.h"

namespace arborfs::history_nodes {

namespace {

using history::ShownDay;
using history::ShownDays;
using history::ShownDaysPtr;

constexpr std::string_view kSuffix = ".md";
constexpr std::int64_t kSecond = 1'000'000'000;

std::string name_of(const ShownDay& shown) {
  return history::name_of_day(shown.day.number) + std::string(kSuffix);
}

NodeId file_node(const ShownDay& shown) {
  return {Kind::history_file, shown.day.number, shown.version};
}

/// The same for all versions.
std::uint64_t ino_of(const ShownDay& shown) {
  return stable_ino(0, word_of(file_node(shown)), name_of(shown));
}

Attr attr_of_day(const ShownDay& shown) {
  return {file_node(shown),  ino_of(shown),  FileType::file,
          CacheTtl::forever, shown.day.size, shown.day.mtime_s * kSecond};
}

/// Calls `work`, which reads histories; fails while a store that has one hangs.
template <class T>
Result<T> while_answering(MountState& state, RequestContext& call,
                          std::function<Result<T>(const std::atomic<bool>* cancelled)> work) {
  return beside_hanging<T>(state, call,
                           [&state, work = std::move(work)](const Hanging& hanging, const auto* cancelled) {
                             for (const auto& [submount, sentence] : hanging.submounts) {
                               if (state.catalog.stores().at(submount.store)->prompt_history() != nullptr) {
                                 return Result<T>(Errc::io, sentence);
                               }
                             }
                             return work(cancelled);
                           });
}

/// The current days. Reading them moves the request to a pool of its own (Vfs::reads_all_sessions).
Result<ShownDaysPtr> days_now(MountState& state, RequestContext& call) {
  const auto days = while_answering<ShownDaysPtr>(
      state, call, [&state, may_read = call.may_take_long()](const auto* cancelled) -> Result<ShownDaysPtr> {
        const StoreSet& stores = state.catalog.stores();
        auto fresh = state.history.fresh(stores);
        return fresh || !may_read ? std::move(fresh) : state.history.read(stores, cancelled);
      });
  return days && *days == nullptr ? Result<ShownDaysPtr>(call.defer()) : days;
}

/// The file of a day whose text was kept. The newest day changes beside a program that adds prompts all the time: an
/// open may get what its lookup found (just_looked_up).
SnapshotPtr document_of(MountState& state, const ShownDay& shown) {
  if (auto known = state.documents.find(file_node(shown))) {
    return known;
  }
  return state.documents.put_recent(literal_document(attr_of_day(shown), *shown.day.text), false);
}

/// The day from which a file's node was made. It is stale if the day has another text now, as after a write by this
/// mount, so that the name is looked up again.
Result<ShownDay> day_for(MountState& state, RequestContext& call, NodeId node) {
  auto days = state.history.known();
  if (!days || state.written_since(0, days->begun)) {
    ASSIGN_OR_RETURN(days, days_now(state, call));
  }
  const ShownDay* shown = days->find(node.slot());
  const bool is_right = shown != nullptr && shown->version == node.item();
  return is_right ? Result<ShownDay>(*shown) : Result<ShownDay>(stale_error());
}

/// While a history cannot be looked at, the folder is as old as the mount.
Result<Attr> attr(MountState& state, RequestContext& call, NodeId node) {
  const auto written = while_answering<std::int64_t>(state, call, [&state](const auto* /*cancelled*/) {
    return Result<std::int64_t>(history::written_ns(state.catalog.stores()).value_or(state.mounted_ns));
  });
  if (call.is_deferred()) {
    return written.error();
  }
  return directory_attr(node, stable_ino(0, word_of(node)), written ? *written : state.mounted_ns);
}

Result<Child> lookup(MountState& state, RequestContext& call, NodeId /*node*/, std::string_view name) {
  const bool may_be_day = name.ends_with(kSuffix);
  const auto number =
      may_be_day ? history::day_named(name.substr(0, name.size() - kSuffix.size())) : std::optional<std::uint32_t>();
  if (!number) {
    return no_such_name();
  }
  ASSIGN_OR_RETURN(const auto days, days_now(state, call));
  const ShownDay* shown = days->find(*number);
  if (shown == nullptr) {
    return no_such_name();
  }
  if (shown->day.text) {
    return Child{file_node(*shown), CacheTtl::glance, document_of(state, *shown)->attr};
  }
  return Child{file_node(*shown), CacheTtl::glance};
}

Result<ListingPtr> list(MountState& state, RequestContext& call, NodeId /*node*/) {
  ASSIGN_OR_RETURN(const auto days, days_now(state, call));
  std::vector<NamesSnapshot::Item> items;
  for (const ShownDay& shown : days->days) {
    NamesSnapshot::Item item{name_of(shown), {file_node(shown), CacheTtl::glance}, std::nullopt};
    item.brief = Attr{item.child.node, ino_of(shown), FileType::file, CacheTtl::glance, 0, 0};
    items.push_back(std::move(item));
  }
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), 0));
}

Result<Attr> file_attr(MountState& state, RequestContext& call, NodeId node) {
  const auto shown = day_for(state, call, node);
  if (shown || shown.error().code != Errc::stale) {
    return shown ? Result<Attr>(attr_of_day(*shown)) : Result<Attr>(shown.error());
  }
  ASSIGN_OR_RETURN(const auto found, just_looked_up(state, call, node, 0));
  return found->attr;
}

Result<OpenFilePtr> file_open(MountState& state, RequestContext& call, NodeId node) {
  const auto shown = day_for(state, call, node);
  if (!shown) {
    ASSIGN_OR_RETURN(auto found, shown.error().code == Errc::stale ? just_looked_up(state, call, node, 0)
                                                                   : Result<SnapshotPtr>(shown.error()));
    return file_of(std::move(found));
  }
  if (shown->day.text) {
    return file_of(document_of(state, *shown));
  }
  if (!call.may_take_long()) {
    return call.defer();
  }
  const auto text = while_answering<std::string>(state, call, [&state, day = shown->day](const auto* /*cancelled*/) {
    return history::text_of(state.catalog.stores(), day);
  });
  RETURN_IF_ERROR(text);
  if (xxh64(*text) != shown->day.hash) {
    return stale_error();
  }
  return file_of(state.documents.put(literal_document(attr_of_day(*shown), *text), false));
}

}  // namespace

NodeRows rows() {
  static constexpr std::array kRows = {
      folder_row(Kind::history, "history", attr, lookup, list),
      file_row(Kind::history_file, "history-file", file_attr, file_open),
  };
  return kRows;
}

}  // namespace arborfs::history_nodes
