#!/usr/bin/env bash
# Makes the release archive, one file: program, icon, desktop entry, licences and a script that installs
# them. Prints where it lies.
#
#   assets/release/make.sh             optimised at link time (profile dist): 15 minutes on two cores
#   assets/release/make.sh --release   of what `cargo build --release` makes, for trying
set -euo pipefail
cd "$(dirname "$0")/../.."
profile=dist
case "$#:${1-}" in
    0:) ;;
    1:--release) profile=release ;;
    *) echo "usage: assets/release/make.sh [--release]" >&2; exit 2 ;;
esac
target=${CARGO_TARGET_DIR:-target}
cargo build --locked --profile "$profile" --bin arcuate
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
name=arcuate-$version-$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
put() { install -D -m "$1" "$2" "$folder/$name/$3"; }
put 755 "$target/$profile/arcuate" bin/arcuate
strip "$folder/$name/bin/arcuate"
put 644 assets/release/arcuate.desktop share/applications/arcuate.desktop
put 644 assets/release/arcuate.xml share/mime/packages/arcuate.xml
put 644 assets/icon.png share/icons/hicolor/256x256/apps/arcuate.png
put 644 assets/icon.svg share/icons/hicolor/scalable/apps/arcuate.svg
# With the pictures and pages that they show and link to.
for file in README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT assets/pictures/*.png assets/guide/*.md; do
    put 644 "$file" "share/doc/arcuate/$file"
done
for file in assets/fonts/*LICENSE*; do put 644 "$file" "share/doc/arcuate/fonts/${file##*/}"; done
put 755 assets/release/install.sh install.sh

# The program must start from where it will lie.
"$folder/$name/bin/arcuate" --version
archive=$target/$name.tar.gz
# The same tree gives the same bytes.
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct 2>/dev/null || echo 0)" \
    -C "$folder" -cf - "$name" | gzip -n9 >"$archive.new"
mv "$archive.new" "$archive"
echo "$archive ($(du -h "$archive" | cut -f 1))"
