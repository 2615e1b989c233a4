#!/usr/bin/env bash
# image-root.sh BINARY DIR: what the image is made of, into DIR: its files in DIR/root, which are the
# command, the libraries that it is linked with, and the certificates of the public authorities, all
# from this Debian; and the empty DIR/data, which belongs to another user there.
set -euo pipefail
binary=$1 root=$2/root
mkdir -p "$2/data" "$root"/{etc/ssl/certs,usr/local/bin,usr/share/doc,var/lib/dpkg/status.d}
install -d -m 1777 "$root/tmp"
install --strip "$binary" "$root/usr/local/bin/akin"
ldd "$binary" | grep -o '/[^ ]*' | xargs cp --dereference --parents --target-directory "$root"
cp --dereference /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
echo 'hosts: files dns' > "$root/etc/nsswitch.conf"
printf '%s\n' root:x:0:0::/:/nologin akin:x:10001:10001::/data:/nologin > "$root/etc/passwd"
printf '%s\n' root:x:0: akin:x:10001: > "$root/etc/group"

# Scanners read which system and which versions these files are of.
cp --dereference /etc/os-release "$root/etc/"
for package in libc6 libgcc-s1 ca-certificates; do
    dpkg-query --status "$package" > "$root/var/lib/dpkg/status.d/$package"
    # Packages of one source may share their documentation.
    shared=$(dpkg-query --show --showformat '${source:Package}' "$package")-base
    for documented in "$package" "$shared"; do
        [ ! -e "/usr/share/doc/$documented/copyright" ] \
            || install -D -m 644 "/usr/share/doc/$documented/copyright" \
                "$root/usr/share/doc/$package/copyright"
    done
    [ -e "$root/usr/share/doc/$package/copyright" ]
done
