"""Writes the files of the folder ``native``: softmargin's model files, each with one thing wrong.

python tests/data/invalid/make_native.py
"""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from softmargin import SVC
from softmargin.io.models.container import Container, write_container
from softmargin.io.models.native import write_model
from softmargin.io.models.record import Record

FOLDER = Path(__file__).parent / "native"
SHAPE = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000000,), }"
HUGE = b"\x93NUMPY\x01\x00v\x00" + SHAPE.ljust(117) + b"\n"


def valid() -> tuple[dict, dict]:
    X = [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]]
    write_model(FOLDER / "valid", Record.of(SVC().fit(X, [0, 0, 1, 1])))
    container = Container(FOLDER / "valid", mmap=False)
    names = [name.removesuffix(".npy") for name in container.members if name.endswith(".npy")]
    arrays = {name: container.array(name) for name in names}
    (FOLDER / "valid").unlink()
    return container.header, arrays


def write(name: str, change: Callable[[dict, dict], None]) -> None:
    header, arrays = valid()
    change(header, arrays)
    write_container(FOLDER / f"{name}.softmargin", header, arrays)


def write_members(name: str, change: Callable[[dict], None], compress: int = 0) -> None:
    """Changes the bytes of the members, so that checksums are wrong or members strange."""
    write(name, lambda header, arrays: None)
    path = FOLDER / f"{name}.softmargin"
    with zipfile.ZipFile(path) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w", compress) as archive:
        for member, content in members.items():
            archive.writestr(zipfile.ZipInfo(member), content, compress)


def with_sums(members: dict) -> None:
    """Corrects the checksums."""
    import hashlib

    header = json.loads(members["header.json"])
    sums = {m: hashlib.sha256(c).hexdigest() for m, c in members.items() if m != "header.json"}
    members["header.json"] = json.dumps({**header, "sha256": sums}).encode()


def set_array(name: str, value: object) -> Callable[[dict, dict], None]:
    return lambda header, arrays: arrays.update({name: np.array(value)})


def set_member(name: str, content: bytes) -> Callable[[dict], None]:
    def change(members: dict) -> None:
        members[name] = content
        if name != "header.json":
            with_sums(members)

    return change


def set_header(section: str, key: str, value: object) -> Callable[[dict, dict], None]:
    return lambda header, arrays: header[section].update({key: value})


def npy_of_objects() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return stream.getvalue()


def csr(indices: list[int]) -> Callable[[dict, dict], None]:
    def change(header: dict, arrays: dict) -> None:
        del arrays["support_vectors_"]
        parts = {"data": [1.0] * 4, "indices": indices, "indptr": [0, 1, 2, 3, 4]}
        arrays |= {f"v.{key}": np.array(value) for key, value in parts.items()}
        header["attributes"]["support_vectors_"] = {"csr": "v", "shape": [4, 2]}
        header["attributes"]["_sparse"] = True

    return change


def precomputed(header: dict, arrays: dict) -> None:
    header["parameters"]["kernel"] = "precomputed"
    header["attributes"]["n_features_in_"] = 3


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    coef = np.ones((1, 4))
    write("array_is_missing", lambda header, arrays: arrays.pop("intercept_"))
    write("attribute_is_a_method", set_header("attributes", "predict", 3))
    write("attribute_name_has_dots", set_header("attributes", "a.b", 3))
    write("certificate_lacks_a_field", lambda h, a: h["certificate"].pop("stop_reason"))
    write("class_is_unknown", lambda h, a: h.update({"class": "Popen"}))
    write("class_of_another_module", lambda h, a: h.update({"class": "load"}))
    write("coefficients_are_not_finite", set_array("dual_coef_", coef * np.nan))
    write("coefficients_do_not_fit", set_array("dual_coef_", np.ones((1, 5))))
    write("csr_index_is_out_of_range", csr([0, 1, 0, 7]))
    write("csr_index_is_negative", csr([0, -1, 0, 1]))
    write("degree_is_text", set_header("parameters", "degree", "3"))
    write("format_is_another", lambda h, a: h.update(format="pickle"))
    write("gamma_is_missing", lambda h, a: h["attributes"].pop("_gamma"))
    write("certificate_has_text_for_a_number", set_header("certificate", "iterations", "many"))
    write("kernel_is_missing", lambda h, a: h["parameters"].pop("kernel"))
    write("n_features_is_missing", lambda h, a: h["attributes"].pop("n_features_in_"))
    write("serial_number_is_out_of_range", precomputed)
    write("kernel_is_unknown", set_header("parameters", "kernel", "os.system"))
    write("n_support_does_not_add_up", set_array("_n_support", np.array([1, 9], np.int32)))
    write("n_support_is_negative", set_array("_n_support", np.array([5, -1], np.int32)))
    write("parameter_is_a_list", set_header("parameters", "C", [1, 2]))
    write("parameter_is_unknown", set_header("parameters", "volume", 11))
    write("parameters_are_a_list", lambda h, a: h.update(parameters=[]))
    write("readable_by_a_newer_version", lambda h, a: h.update(readable_by=99))
    write("support_vectors_are_text", set_array("support_vectors_", [["a", "b"]] * 4))
    write_members("array_announces_10_to_the_18", set_member("intercept_.npy", HUGE))
    write_members("array_is_not_npy", set_member("intercept_.npy", b"nonsense"))
    write_members("array_of_objects", set_member("intercept_.npy", npy_of_objects()))
    write_members("checksum_differs", lambda m: m.update({"intercept_.npy": m["classes_.npy"]}))
    write_members("header_is_a_list", set_member("header.json", b"[]"))
    write_members("header_is_deep", set_member("header.json", b"[" * 100_000))
    write_members("header_is_missing", lambda members: members.pop("header.json"))
    write_members("header_is_not_json", set_member("header.json", b"{"))
    write_members("member_is_compressed", with_sums, zipfile.ZIP_DEFLATED)
    write("truncated", lambda header, arrays: None)
    path = FOLDER / "truncated.softmargin"
    path.write_bytes(path.read_bytes()[:1000])
    write("member_name_is_not_text", lambda header, arrays: None)
    path = FOLDER / "member_name_is_not_text.softmargin"
    content = bytearray(path.read_bytes())
    entry = content.rfind(b"PK\1\2")  # the last of the directory: says UTF-8, and is not
    content[entry + 9] |= 8
    content[entry + 46] = 0x93
    path.write_bytes(content)


if __name__ == "__main__":
    main()
