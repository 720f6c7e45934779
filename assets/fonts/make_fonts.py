"""Makes the Inter files in this folder from Debian's fonts-inter.

    pip install fonttools; python make_fonts.py OUTPUT_FOLDER

egui cannot switch OpenType features, and Inter's digits are proportional by default, so the tabular
digits (feature tnum) are put into the character map. Then each weight is cut to Latin, Greek, sub-
and superscripts and the signs that labels use.
"""

import os
import sys

from fontTools import subset
from fontTools.ttLib import TTFont

SOURCE = "/usr/share/fonts/opentype/inter"
WEIGHTS = ("Regular", "Medium", "SemiBold")
CHARACTERS = [
    *range(0x20, 0x17F),  # Latin
    *range(0x370, 0x400),  # Greek
    *range(0x2010, 0x2050),  # dashes, quotes, dots
    *range(0x2070, 0x20A0),  # sub- and superscripts
    *map(ord, "µ←↑→↓↔∂∆∇∑−√∞∫≈≠≤≥⇧⌘▲▼"),
]
FEATURES = ["kern", "mark", "mkmk", "ccmp", "locl", "case"]
MUST_HAVE = "0123456789εφαλσκΓΣ²³⁻¹₁₂−×±≤≥≈√∞‖→…"


def tabular(font):
    """Glyph name of each default glyph → its tabular twin."""
    table = font["GSUB"].table
    twins = {}
    for record in table.FeatureList.FeatureRecord:
        if record.FeatureTag == "tnum":
            for index in record.Feature.LookupListIndex:
                for part in table.LookupList.Lookup[index].SubTable:
                    twins.update(getattr(getattr(part, "ExtSubTable", part), "mapping", {}))
    return twins


def make(weight, folder):
    font = TTFont(f"{SOURCE}/Inter-{weight}.otf")
    twins = tabular(font)
    for table in font["cmap"].tables:
        for digit in map(ord, "0123456789"):
            if table.cmap.get(digit) in twins:
                table.cmap[digit] = twins[table.cmap[digit]]

    options = subset.Options()
    options.layout_features = FEATURES
    options.name_IDs = ["*"]
    options.notdef_outline = True
    cut = subset.Subsetter(options)
    cut.populate(unicodes=CHARACTERS)
    cut.subset(font)
    path = os.path.join(folder, f"Inter-{weight}.otf")
    font.save(path)

    characters = TTFont(path).getBestCmap()
    missing = [c for c in MUST_HAVE if ord(c) not in characters]
    if missing:
        sys.exit(f"{path} lacks {missing}")
    print(path, os.path.getsize(path), "bytes")


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    for weight in WEIGHTS:
        make(weight, sys.argv[1])
