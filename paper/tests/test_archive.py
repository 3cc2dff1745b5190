"""Downloads from a server of our own, and the forms the archive keeps its sets in."""

import base64
import contextlib
import io
import shutil
import socket
import subprocess
import sys
import threading
import zipfile
import zlib
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper.data import archive
from paper.data.archive import (
    FAILURES,
    address,
    canonical_text,
    fetch_text,
    read_members,
)
from paper.data.catalog import UCI_SETS
from paper.data.home import VARIABLE, data_homes, digest, read_verified
from paper.data.lzw import decompress
from paper.data.uci import read_or_fetch

# An .xls file of two clients below two rows of names, as xlwt 1.3.0 wrote it.
WORKBOOK = (
    "eNrtmE1sG0UUx9+sv13HH4mTNi6kJtC0SQPE648GodQ4JESWkhDSIFKEFFxiBDR1qshItBdKS45ISFwAcSnqhUuBC7QC"
    "JLigHiq1KgckJKQEbnBCAoRQG/Pe29m3WxNQI6AC5Gftf97vzczu+O3szthXLifWzryfWocmOwAe2GiEwO+KKTxCNsQB"
    "6xsNcu0yiEejZf8pCwXxRvp98FHbpQDdQ7rf62DAe97PUAG+weMJOAbTy7Vq+hbaKI+homgMI6gK3sJIFLp5VO2sT7F2"
    "sL7LLT9mfYAjr7COYNs19ThcLk4PDOtZPG/0cl0U6Lwfcp+vOJKBTrhIs/jFV5XV1gellWcrS//Oih5vBM4C3reJaq26"
    "UllagyTewLPwUyMN8KP9pH6absVvbVwBxn+5MR7YJP6a4QU4CY0neYKvQgTu91GNF8Yq9co1eF1leFICTc75DIlJkiXJ"
    "keRJCiT7SYZJ7vNQ4yHWDKvJmmXNseZZC6z7WYdZua/JfU3ua3JfM4sT7xCevDyGC8Bkeao8tzBamsSqg+PzGBkfe/TB"
    "0lz54WlcAqZKs7Pl0sQ4VqLi95kpHVoY0qWpy6wuc7rM67KAJxstT04ulKbmMi7fdPlZl59z+XmXXwha56PTOK7puFnH"
    "zTlu3nELKYDF6tOV55fq6WOV40ertXq6Vn2hnj66XKs/E6alkF+d8RtenW38SomgLkKM/QS/WOK4OF5754erU4dnigsc"
    "OcnLpbWo7qZ5AA14iXpg5yhYs4CsG48B7rGP9RSfdSf7KdYkvg6w7Jvp1M5Dp7nNy1zbh9fJsn1R3OPy96K/+v0j53tW"
    "vy32o39uYv1E8tyXxTPQi4v8Ivanz2kYVIPqzTfILhTtUukX8Nes3b97GQeNuB57Q+8cYqAMayuRgOsQ5u+dYLbIQFJC"
    "Hp01i7xIHiEfklfIj+QTCiD5hYJIAaEQUlAojBQS2oYUFoogbRNqQ4oIRZHahGJIUaE4UkwogZ+4UDuzTR3otwslkTqE"
    "OpGSQl1InULbkbqEdiBt19lWTdmmFopHsUO3V5zxbiHKeEqIMr5TiDJ+mxBl/HYhyniPEGV8lxBlPC1EGb9DiDLeK0QZ"
    "v1OIMn6XEGV8txBlvE+IMr5HiDK+V4gy3C9EGR8QoozvE6KMDwpRxu8WoozfI0QZv1eIMj6kM240ZfwT3qCAnoEJODWs"
    "9Kyy1YofdkUspe2zrb+6tG+Eak8MkX4eBv1MbKZ/XuvnuUJj9mwyZo9rJMbBQNPYLH3ONc7wH1zFin/XT/pzyvF7s9w3"
    "z3HTaf92rFmt+OguZ8wHjHb4gMK4pXMsDC1rWcta1rK/bMr6ccHLgJe3V9ZGNqD/17mOx0brb5L/rc3CMn7quG0bhxqW"
    "K3B8S/OnC3zKPpe6yT72/4Vkj+HVV+AIbotoHEe2PH/xh4hyf5+b7hj/+x6hrV5/Yyvj/Iev/xtjs2m/"
)


def compress(text, max_width=16, codes_per_table=None):
    """Write a .Z file the obvious way: the longest known string, eight codes at a time."""
    content = bytearray(b"\x1f\x9d" + bytes([0x80 | max_width]))
    width, group, n_codes = 9, [], 0

    def flush(n_bytes):
        bits = sum(code << (width * place) for place, code in enumerate(group))
        content.extend(bits.to_bytes(n_bytes, "little"))
        group.clear()

    def emit(code):
        group.append(code)
        if len(group) == 8:
            flush(width)

    alphabet = {bytes([value]): value for value in range(256)}
    table, known = dict(alphabet), b""
    for value in text:
        longer = known + bytes([value])
        if longer in table:
            known = longer
            continue
        emit(table[known])
        n_codes += 1
        known = bytes([value])
        n_strings = len(table) + 1
        if n_strings < 1 << max_width:
            table[longer] = n_strings
            # The reader learns this string one code later, so it widens at the next one.
            if n_strings == 1 << width and width < max_width:
                flush(width if group else 0)
                width += 1
        if codes_per_table and n_codes % codes_per_table == 0:
            emit(256)
            flush(width if group else 0)
            width, table = 9, dict(alphabet)
    if known:
        emit(table[known])
    flush(-(-len(group) * width // 8))
    return bytes(content)


# Member files of the archive cut down to a few samples, and the canonical lines they become.
ZEROS = ["0"] * 14
FEATURES = [str(number - 83) for number in range(166)]
SOURCES = {
    "heart": (
        {"heart.dat": b"70.0 1.0 4.0 130.0 322.0 0.0 2.0 109.0 0.0 2.4 2.0 3.0 3.0 2 \n"},
        ["70.0,1.0,4.0,130.0,322.0,0.0,2.0,109.0,0.0,2.4,2.0,3.0,3.0,2"],
    ),
    "breast_cancer": (
        {"breast-cancer-wisconsin.data": b"1057013,8,4,5,1,2,?,7,3,1,4\n1,5,1,1,1,2,1,3,1,1,2\n"},
        ["1057013,8,4,5,1,2,,7,3,1,4", "1,5,1,1,1,2,1,3,1,1,2"],
    ),
    "biodeg": (
        {"biodeg.csv": ";".join(["3.919", "-0.204", *["0"] * 39, "NRB"]).encode() + b"\r\n"},
        [",".join(["3.919", "-0.204", *["0"] * 39, "NRB"])],
    ),
    "banknote_authentication": (
        {"data_banknote_authentication.txt": b"3.6216,8.6661,-2.8073,-0.44699,0\r\n1,2,3,4,1"},
        ["3.6216,8.6661,-2.8073,-0.44699,0", "1,2,3,4,1"],
    ),
    "seismic_bumps": (
        {
            "seismic-bumps.arff": (
                "% a comment, with commas\n@relation seismic-bumps\n\n"
                "@attribute shift {W, N}\n\n@data\na,c,N,15180," + ",".join(ZEROS) + ",1\n"
            ).encode()
        },
        ["a,c,N,15180," + ",".join(ZEROS) + ",1"],
    ),
    "musk2": (
        {
            "clean2.data.Z": compress(
                "".join(
                    f"{molecule},{molecule}_{row}+1,{','.join(FEATURES)},{label}.\n"
                    for row, (molecule, label) in enumerate(
                        [("MUSK-211", 1), ("MUSK-211", 1), ("NON-MUSK-199", 0), ("MUSK-3", 1)]
                    )
                ).encode()
            )
        },
        [
            f"{number},{','.join(FEATURES)},{label}"
            for number, label in [(1, 1), (1, 1), (2, 0), (3, 1)]
        ],
    ),
    "HTRU2": (
        {"HTRU_2.csv": b"140.5625,55.6,-0.2,-0.6,3.1,19.1,7.9,74.2,0\r1,2,3,9.80E-05,5,6,7,8,1"},
        ["140.5625,55.6,-0.2,-0.6,3.1,19.1,7.9,74.2,0", "1,2,3,9.80E-05,5,6,7,8,1"],
    ),
    "magic_gamma_telescope": (
        {"magic04.data": b"28.7967,16.0,2.6,0.3,0.1,27.7,22.0,-8.2,40.0,81.8,g\n"},
        ["28.7967,16.0,2.6,0.3,0.1,27.7,22.0,-8.2,40.0,81.8,g"],
    ),
    "occupancy_detection": (
        dict.fromkeys(
            ("datatest.txt", "datatest2.txt", "datatraining.txt"),
            b'"date","Temperature","Humidity","Light","CO2","HumidityRatio","Occupancy"\r\n'
            b'"140","2015-02-02 14:19:00",23.7,26.272,585.2,749.2,0.00476416302416414,1\r\n',
        ),
        [
            f"{name},2015-02-02 14:19:00,23.7,26.272,585.2,749.2,0.00476416302416414,1"
            for name in ("datatraining", "datatest", "datatest2")
        ],
    ),
    "default_credit_card_clients": (
        {"default of credit card clients.xls": zlib.decompress(base64.b64decode(WORKBOOK))},
        [
            "20000,2,2,1,24,2,2,-1,-1,-2,-2,3913,3102,689,0,0,0,0,689,0,0,0,0,1",
            "120000,2,2,2,26,-1,2,0,0,0,2,2682,1725,2682,3272,3455,3261,0,1000,1000,1000,0,2000,1",
        ],
    ),
    "Skin_NonSkin": (
        {"Skin_NonSkin.txt": b"74\t85\t123\t1\r\n255\t255\t255\t2\r\n"},
        ["74,85,123,1", "255,255,255,2"],
    ),
}


def tiny(name):
    """The facts about a set, with the digest of its tiny source."""
    facts = UCI_SETS[name]
    lines = [",".join(facts.header), *SOURCES[name][1]]
    return replace(facts, sha256=digest("".join(f"{line}\n" for line in lines).encode()))


def pack(members, folder=""):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as container:
        for name, data in {"Index": b"", **members}.items():
            container.writestr(folder + name, data)
    return content.getvalue()


@pytest.fixture
def server():
    """An HTTP server on this computer; `answers` maps paths to bodies, the rest is not found."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = http.answers.get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.answers = {}
        http.base = f"http://127.0.0.1:{http.server_port}/static/public"
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        yield http
        http.shutdown()
        thread.join()


@pytest.fixture
def homes(tmp_path, monkeypatch):
    """Data homes that do not exist yet."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return data_homes(tmp_path / "home")


def fail_to_fetch(facts, homes, base, reason):
    """Check that one error names everything and that nothing is left behind."""
    with pytest.raises(FileNotFoundError, match=reason) as caught:
        read_or_fetch(facts, homes, base)
    for part in (facts.file_name, address(facts, base), *map(str, homes)):
        assert part in str(caught.value)
    assert not [path for home in homes for path in home.glob("*")]


@pytest.mark.parametrize("name", UCI_SETS)
def test_a_source_becomes_canonical_text(name):
    facts, (members, lines) = UCI_SETS[name], SOURCES[name]
    ordered = {member: members[member] for member in facts.archive.members}
    assert canonical_text(facts, ordered).decode().splitlines() == [",".join(facts.header), *lines]
    assert all(line.count(",") == len(facts.columns) for line in lines)


@pytest.mark.parametrize("name", UCI_SETS)
def test_a_set_is_downloaded_once_and_then_read_from_the_first_home(name, server, homes, capsys):
    facts = tiny(name)
    path = address(facts, server.base).removeprefix(server.base.removesuffix("/static/public"))
    server.answers[path] = pack(SOURCES[name][0], folder="a folder/")
    content = read_or_fetch(facts, homes, server.base)
    assert path.rpartition("/")[2] in capsys.readouterr().err
    assert [file.name for file in homes[0].iterdir()] == [facts.file_name]
    assert read_verified(homes[0] / facts.file_name, facts.sha256) == content
    server.answers.clear()
    assert read_or_fetch(facts, homes, server.base) == content


def test_addresses_are_those_of_the_archive():
    url = address(UCI_SETS["musk2"])
    assert url == "https://archive.ics.uci.edu/static/public/75/musk+version+2.zip"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (None, "404"),
        (b"", "not a whole zip file"),
        (b"<html>busy</html>", "not a whole zip file"),
        (pack(SOURCES["heart"][0])[:-30], "not a whole zip file"),
        (pack({}), r"the zip has no heart\.dat, only Index"),
        (pack({"heart.dat": b"1 2\n"}), "does not hold the expected data"),
        (pack({"heart.dat": b"\xff\xfe"}), "decode"),
    ],
)
def test_an_answer_of_no_use_is_one_error_and_leaves_nothing(server, homes, body, reason):
    server.answers["/static/public/145/statlog+heart.zip"] = body
    fail_to_fetch(tiny("heart"), homes, server.base, reason)


@pytest.mark.parametrize("size", [10_000, 40])
def test_no_answer_is_read_that_is_larger_than_any_set(server, homes, monkeypatch, size):
    monkeypatch.setattr(archive, "MOST_BYTES", size)
    body = pack({"heart.dat": b" " * 10_001})
    assert 40 < len(body) < 10_000
    server.answers["/static/public/145/statlog+heart.zip"] = body
    fail_to_fetch(tiny("heart"), homes, server.base, f"larger than {size:,} bytes")


def test_a_damaged_zip_is_refused_and_never_ends_otherwise():
    facts = tiny("occupancy_detection")
    whole = pack(SOURCES[facts.name][0])
    expected = canonical_text(facts, read_members(whole, facts.archive))
    for place in range(len(whole)):
        damaged = whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :]
        with contextlib.suppress(*FAILURES):
            # Some bytes, such as those of a date, do not matter.
            assert canonical_text(facts, read_members(damaged, facts.archive)) == expected


def test_an_unreachable_archive_is_one_error_and_leaves_nothing(homes):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    fail_to_fetch(tiny("heart"), homes, f"http://127.0.0.1:{port}", "failed: .*refused")


def test_a_home_that_cannot_be_written_is_named(server, homes):
    server.answers["/static/public/145/statlog+heart.zip"] = pack(SOURCES["heart"][0])
    homes[0].write_text("a file where the folder should be", "utf-8")
    with pytest.raises(FileNotFoundError, match=r"into the first of them failed: .*exists"):
        read_or_fetch(tiny("heart"), homes, server.base)


def test_a_damaged_workbook_is_refused(server, homes):
    facts = tiny("default_credit_card_clients")
    name = facts.archive.members[0]
    server.answers[f"/static/public/{facts.archive.path}.zip"] = pack({name: b"ID,LIMIT_BAL\n"})
    fail_to_fetch(facts, homes, server.base, "the Excel file cannot be read")


@pytest.mark.parametrize(("module", "name"), [("tqdm", "heart"), ("xlrd", "default")])
def test_a_missing_package_is_named(server, homes, monkeypatch, module, name):
    facts = tiny(next(known for known in UCI_SETS if known.startswith(name)))
    server.answers[f"/static/public/{facts.archive.path}.zip"] = pack(SOURCES[facts.name][0])
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=f"{module}: python -m pip install {module}"):
        fetch_text(facts, server.base)


@given(st.binary(max_size=600) | st.text("ab", max_size=3000).map(str.encode))
def test_lzw_text_comes_back(text):
    assert decompress(compress(text)) == text
    assert decompress(compress(text, codes_per_table=11)) == text


@pytest.mark.parametrize("options", [{}, {"max_width": 11}, {"codes_per_table": 1500}])
def test_long_lzw_text_comes_back_and_gzip_agrees(options):
    numbers = np.random.default_rng(0).integers(-300, 300, 40_000)
    text = ",".join(map(str, numbers)).encode()
    content = compress(text, **options)
    assert decompress(content) == text
    program = shutil.which("gzip")
    if program is not None:
        done = subprocess.run([program, "-dc"], input=content, capture_output=True, check=True)
        assert done.stdout == text


@given(st.binary(max_size=80))
def test_damaged_lzw_is_read_or_refused_as_damaged(tail):
    with contextlib.suppress(ValueError):
        assert isinstance(decompress(b"\x1f\x9d\x90" + tail), bytes)


def test_a_code_that_no_string_has_is_damage():
    with pytest.raises(ValueError, match="damaged"):
        decompress(b"\x1f\x9d\x90" + b"\xff" * 9)


@pytest.mark.parametrize("content", [b"", b"\x1f\x9d", b"\x1f\x8b\x08", b"text"])
def test_another_form_than_lzw_is_named(content):
    with pytest.raises(ValueError, match="not a file of Unix compress"):
        decompress(content)
