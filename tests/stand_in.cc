// A program that does nothing, whatever its name and arguments.
#include <unistd.h>

int main() {
  for (;;) {
    ::pause();
  }
}
