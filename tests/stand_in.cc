// A program that does nothing, whatever its name and arguments. It closes its output when it runs.
#include <unistd.h>

int main() {
  ::close(STDOUT_FILENO);
  for (;;) {
    ::pause();
  }
}
