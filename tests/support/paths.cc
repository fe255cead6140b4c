#include "tests/support/paths.h"

namespace arborfs::tests {

const char* const kTestData = ARBORFS_TEST_DATA;
const char* const kSourceDir = ARBORFS_SOURCE_DIR;
const char* const kBinary = ARBORFS_BINARY;
const char* const kStandIn = ARBORFS_STAND_IN;

}  // namespace arborfs::tests
