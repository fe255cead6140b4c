// A store without the secrets in it: every log that it opens, every head that it reads and every typed prompt is
// redacted (core/log/redacted_log.h). What else the agent keeps (files, states of working files, blobs, breadcrumbs) is
// not there, because nobody looks through it. Such a store is only read. Thread-safe.
#pragma once

#include <memory>

#include "core/log/redacted_log.h"
#include "core/store/store.h"

namespace arborfs {

/// The stores of one mount have the same redaction, so that a secret has one label in all of them.
std::shared_ptr<Store> redacted_store(const std::shared_ptr<Store>& store,
                                      const std::shared_ptr<const LogRedaction>& redaction);

}  // namespace arborfs
