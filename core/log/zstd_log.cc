#include "core/log/zstd_log.h"

#include <zstd.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/words.h"
#include "core/log/last_made.h"
#include "core/os/disk.h"
#include "core/os/file.h"

namespace arborfs {
namespace {

/// Decoded files that stay although no reader holds them.
constexpr std::size_t kMostKept = 8;
constexpr std::uint64_t kAlwaysDecoded = std::uint64_t{64} << 20U;
constexpr std::uint64_t kMostRatio = 500;  // logs compress to a fiftieth at best
constexpr std::uint64_t kMostDecoded = std::uint64_t{8} << 30U;

/// The decoded files that were made last.
LastMade<const File>& kept_files() {
  static LastMade<const File> kept(kMostKept);
  return kept;
}

struct FreeStream {
  void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
};

/// Receives the decoded bytes, piece by piece; false ends the decoding.
using Take = std::function<Result<bool>(std::string_view bytes)>;

/// Passes everything that can be decoded. The result says, in words, why the rest could not be; "" if there is none.
Result<std::string> decode_all(const LogSource& compressed, const std::stop_token& stop, const Take& take) {
  const std::unique_ptr<ZSTD_DStream, FreeStream> stream(ZSTD_createDStream());
  std::string piece(ZSTD_DStreamInSize(), '\0');
  std::string decoded(ZSTD_DStreamOutSize(), '\0');
  std::size_t wanted = 0;  // what the frame still needs; 0 between frames
  for (std::uint64_t offset = 0;;) {
    ASSIGN_OR_RETURN(const auto got, compressed.read_raw_at(offset, piece));
    if (stop.stop_requested()) {
      return Error{Errc::interrupted, "interrupted"};
    }
    if (got == 0) {
      return std::string(wanted == 0 ? "" : "the compressed file ends too early");
    }
    offset += got;
    ZSTD_inBuffer in{piece.data(), got, 0};
    for (bool is_full = true; in.pos < in.size || is_full;) {
      ZSTD_outBuffer out{decoded.data(), decoded.size(), 0};
      wanted = ZSTD_decompressStream(stream.get(), &out, &in);
      ASSIGN_OR_RETURN(const bool goes_on, take(std::string_view(decoded).substr(0, out.pos)));
      if (ZSTD_isError(wanted) != 0) {
        return "the compressed file is damaged: " + std::string(ZSTD_getErrorName(wanted));
      }
      if (!goes_on) {
        return std::string();
      }
      is_full = out.pos == out.size;
    }
  }
}

}  // namespace

std::uint64_t ZstdLog::most_decoded(std::uint64_t compressed_size) {
  return std::min(kMostDecoded, kAlwaysDecoded + std::min(compressed_size, kMostDecoded) * kMostRatio);
}

ZstdLog::ZstdLog(std::shared_ptr<const LogSource> compressed)
    : LogSource(compressed->opened()), compressed_(std::move(compressed)) {}

Result<std::shared_ptr<const LogSource>> ZstdLog::open(std::shared_ptr<const LogSource> compressed,
                                                       const std::stop_token& stop) {
  std::shared_ptr<ZstdLog> log(new ZstdLog(std::move(compressed)));
  ASSIGN_OR_RETURN(const auto file, log->decode(stop));
  ASSIGN_OR_RETURN(const auto st, file->stat());
  log->size_ = st.size;
  log->file_ = file;
  return std::shared_ptr<const LogSource>(std::move(log));
}

Result<std::shared_ptr<const LogSource>> ZstdLog::open_start(const LogSource& compressed, std::uint64_t most) {
  std::string start;
  ASSIGN_OR_RETURN(const auto problem, decode_all(compressed, {}, [&](std::string_view bytes) -> Result<bool> {
                     start.append(bytes.substr(0, static_cast<std::size_t>(most) - start.size()));
                     return start.size() < most && start.find('\n') == std::string::npos;
                   }));
  if (start.empty() && !problem.empty()) {
    return Error{Errc::corrupt, problem};
  }
  return log_from_bytes(std::move(start), compressed.opened());
}

/// Decodes to a new file, which is kept for a while.
Result<std::shared_ptr<const File>> ZstdLog::decode(const std::stop_token& stop) const {
  ASSIGN_OR_RETURN(auto fd, make_scratch_file());
  const std::uint64_t most = most_decoded(opened().size);
  std::uint64_t size = 0;
  char last = '\n';
  ASSIGN_OR_RETURN(auto problem, decode_all(*compressed_, stop, [&](std::string_view bytes) -> Result<bool> {
                     bytes =
                         bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), most - size)));
                     if (auto done = write_all(Disk::real(), fd.get(), bytes); !done) {
                       return Error{done.error().code, "cannot unpack the compressed log: " + done.error().message};
                     }
                     size += bytes.size();
                     last = bytes.empty() ? last : bytes.back();
                     return size < most;
                   }));
  if (size == 0 && !problem.empty()) {
    return Error{Errc::corrupt, problem};
  }
  if (size == most) {
    problem = "the compressed file holds more than " + grouped(most) + " bytes";
  }
  if (!problem.empty()) {
    RETURN_IF_ERROR(write_all(Disk::real(), fd.get(), (last == '\n' ? "" : "\n") + ("(" + problem) + ")\n"));
  }
  auto file = std::make_shared<const File>(File::of(std::move(fd)));
  kept_files().add(file);
  return file;
}

/// The decoded bytes; decodes again if they are not kept any more.
Result<std::shared_ptr<const File>> ZstdLog::decoded() const {
  const std::lock_guard lock(mutex_);
  if (auto file = file_.lock()) {
    return file;
  }
  ASSIGN_OR_RETURN(auto file, decode(Cancellation::token()));
  ASSIGN_OR_RETURN(const auto st, file->stat());
  ASSIGN_OR_RETURN(const auto now, compressed_->stat());
  if (st.size != size_ || !(now == opened())) {
    return Error{Errc::stale, "the compressed log has changed; open the file again"};
  }
  file_ = file;
  return file;
}

Result<std::size_t> ZstdLog::read_at(std::uint64_t offset, std::span<char> into) const {
  ASSIGN_OR_RETURN(const auto file, decoded());
  return file->read_at(offset, into);
}

std::shared_ptr<const File> ZstdLog::splice_file() const {
  auto file = decoded();
  return file ? *file : nullptr;
}

}  // namespace arborfs
