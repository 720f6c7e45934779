#!/bin/sh
# Puts Arcuate where the desktop finds it: ./install.sh [PREFIX], ~/.local if none is given;
# ./install.sh --remove [PREFIX] takes it away again. Nothing else is touched.
set -eu
cd "$(dirname "$0")"
remove=no
if [ "${1-}" = --remove ]; then
    remove=yes
    shift
fi
prefix=${1:-$HOME/.local}
case $prefix in
    -*) echo "install.sh: unknown argument: $prefix; usage: ./install.sh [--remove] [PREFIX]" >&2; exit 2 ;;
    /*) ;;
    *) prefix=$(pwd)/$prefix ;;
esac

# None of them has a blank in its name.
files=$(find bin share -type f)
for file in $files; do
    if [ $remove = yes ]; then
        rm -f "$prefix/$file"
        continue
    fi
    mkdir -p "$prefix/$(dirname "$file")"
    # A program that runs cannot be written over, but its name can be given to another file.
    cp "$file" "$prefix/$file.new"
    mv -f "$prefix/$file.new" "$prefix/$file"
done
if [ $remove = yes ]; then
    for folder in /fonts /assets/pictures /assets ""; do
        rmdir "$prefix/share/doc/arcuate$folder" 2>/dev/null || true
    done
else
    # The menu finds the program even where its folder is not in PATH.
    entry=$prefix/share/applications/arcuate.desktop
    sed "s|^Exec=arcuate|Exec=\"$prefix/bin/arcuate\"|" share/applications/arcuate.desktop >"$entry"
fi
for update in "update-mime-database $prefix/share/mime" "update-desktop-database $prefix/share/applications" \
    "gtk-update-icon-cache -q -t $prefix/share/icons/hicolor"; do
    if command -v "${update%% *}" >/dev/null 2>&1; then $update >/dev/null 2>&1 || true; fi
done
if [ $remove = yes ]; then
    echo "Arcuate is gone from $prefix; settings and sessions are left"
else
    echo "Arcuate is in $prefix/bin and in the menu; ./install.sh --remove $prefix takes it away"
fi
