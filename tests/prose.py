"""How hard a Markdown page is to read: its words, its longest sentence, and Flesch's ease.

Sentences are those of paragraphs and lists. Headings, tables, blocks of code, comments and what a
command writes between ``<!-- name -->`` and ``<!-- end of name -->`` are no prose. A link counts by
its text. Code in a line takes one place in its sentence, and is neither easy nor hard.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

GENERATED = re.compile(r"<!-- (?!end of)([^>]+?) -->\n.*?<!-- end of \1 -->", re.DOTALL)
FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
BLOCK_OF_CODE = re.compile(r"(?<=\n\n)(?: {4,}\S.*\n|\n)+")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
MARK = "\N{BLACK SQUARE}"
"""Where code stands in a sentence."""
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+", re.MULTILINE)
END = re.compile(r"(?<=[.!?])[)\"”*]*\s+")
WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def written(text: str) -> str:
    """Return a page without what commands write."""
    return GENERATED.sub("", text)


def words(text: str) -> int:
    """Return how many words a page has, code and tables included; bars and signs are none."""
    return sum(any(map(str.isalnum, piece)) for piece in written(text).split())


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a page."""
    text = FENCE.sub("", written(text))
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = BLOCK_OF_CODE.sub("\n", text)
    text = re.sub(r"^(?:#+ .*|\s*\|.*)$", "\n", text, flags=re.MULTILINE)
    text = ITEM.sub("\n\n", re.sub(r"`[^`]+`", MARK, LINK.sub(r"\1", text)))
    for paragraph in re.split(r"\n\s*\n", text):
        yield from filter(str.strip, END.split(" ".join(paragraph.split())))


def length(sentence: str) -> int:
    """Return the number of words, each piece of code counted as one."""
    return len(re.findall(rf"[\w{MARK}][\w.,'’%-]*", sentence))


def syllables(word: str) -> int:
    """Return the number of groups of vowels, silent endings left out."""
    word = word.lower()
    silent = re.sub(r"(?<=[^aeiouy])(?:es?|ed)$", "", word)
    if re.search(r"[^aeiouy]l(?:es?|ed)$|(?:[cgsxz]|ch|sh)es$|[td]ed$", word):
        silent = re.sub(r"(?<=[cgsxz])e$", "", word)
    return max(1, len(re.findall(r"[aeiouy]+", silent)))


def ease(text: str) -> float:
    """Return Flesch's reading ease: 60 is plain English, 30 an article of a journal."""
    lines = [words for one in sentences(text) if (words := WORD.findall(one))]
    words = [word for line in lines for word in line]
    spoken = sum(map(syllables, words)) / len(words)
    return 206.835 - 1.015 * len(words) / len(lines) - 84.6 * spoken
