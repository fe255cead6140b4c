"""All rows, by name, in the order in which they are shown."""
import browsing
import memory
import starting
import writing

ALL = {**starting.ROWS, **browsing.ROWS, **writing.ROWS, **memory.ROWS}
