"""Extensions behind which no document is found that this crawler reads.

What may hold text and links is not here: pages by whatever program, PDF, feeds and sitemaps, plain text.
Neither are ``com``, ``ai``, ``app``, ``au``, ``br``, ``so`` and the like: pages about a domain end in its
name.
"""

from __future__ import annotations

IMAGES = """
    3fr apng arw avif bmp cdr cr2 cr3 cur dds dng drw dxf emf eps gif heic heif icns ico indd j2k jfif jp2 jpe
    jpeg jpg jxl mng nef orf pbm pct pcx pgm png pnm ppm psd psp ras raw rw2 sketch svg svgz tga tif tiff wbmp
    webp wmf xbm xcf xpm
"""
AUDIO = """
    aac ac3 aif aifc aiff amr ape caf dts flac gsm m3u m3u8 m4a m4b m4p m4r mid midi mka mod mp2 mp3 mpa mpc
    mpga oga ogg opus pls ra ram rm snd spx voc wav weba wma wv xm
"""
VIDEO = """
    3g2 3gp 3gpp asf asx avi divx f4v flv m1v m2ts m2v m4v mkv mng mov mp4 mpe mpeg mpg mpv mts mxf ogm ogv qt
    rmvb srt ssa sub swf ts vob vtt webm wmv
"""
ARCHIVES = """
    7z ace alz arc arj ark bz bz2 bzip2 cab cpio deb egg gz gzip ipk jar lha lz lz4 lzh lzma lzo pea rar rpm
    s7z shar sit sitx snap tar taz tbz tbz2 tgz tlz txz tzst udeb war warc whl xar xz z zip zipx zoo zst zstd
"""
EXECUTABLES = """
    apk appimage appx bat bin class cmd crx dll dmg elf exe hex img ipa iso jnlp mdf msi msix msp msu
    nrg o obj ocx pkg pyc pyd rom scr sys toast torrent vhd vhdx vmdk vxd xpi
"""
FONTS = "eot fnt fon otf pfa pfb ttc ttf woff woff2"
PAGE_PARTS = "css less sass scss js mjs cjs jsx tsx map wasm json jsonld webmanifest htc vcf ics cur ani"
OFFICE = """
    doc docm docx dot dotm dotx key mdb accdb mpp numbers odb odf odg odp ods odt pages pot potm potx pps ppsm
    ppsx ppt pptm pptx rtf sxc sxi sxw vsd vsdx wpd wps xla xls xlsb xlsm xlsx xlt xltx epub mobi azw azw3
    djvu lit fb2
"""
DATA = """
    3dm 3ds blend dae db dbf dem dwg fbx fits gdb geojson gltf glb gpx h5 hdf hdf5 kml kmz las laz mat mbtiles
    npy npz parquet pickle pkl pmtiles rdata rds sav shp skp sqlite sqlite3 stl step stp
"""
SIGNATURES = "asc crt cer der md5 p12 p7s pem pfx sha1 sha256 sha512 sig"

_GROUPS = (IMAGES, AUDIO, VIDEO, ARCHIVES, EXECUTABLES, FONTS, PAGE_PARTS, OFFICE, DATA, SIGNATURES)

USELESS_EXTENSIONS: tuple[str, ...] = tuple(sorted({word for group in _GROUPS for word in group.split()}))
"""All of them, in lower case and without the dot."""
