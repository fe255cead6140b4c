"""All rows by name, in the order of the output."""
import agents_writing
import browsing
import formats
import memory
import pages
import searching
import starting
import writing

ALL = {**starting.ROWS, **browsing.ROWS, **writing.ROWS, **memory.ROWS, **pages.ROWS, **searching.ROWS,
       **formats.ROWS, **agents_writing.ROWS}
