from pathlib import Path

from ctxaudit.report import style


def test_equal_figures_give_equal_bytes(tmp_path: Path):
    contents = []
    for name in ("one", "two"):
        paths = {kind: tmp_path / f"{name}.{kind}" for kind in ("pdf", "png")}
        style.write(style.message("$nothing_here"), **paths)
        contents.append([path.read_bytes() for path in paths.values()])
    assert contents[0] == contents[1]
    assert contents[0][0].startswith(b"%PDF")
    assert contents[0][1].startswith(b"\x89PNG")
    assert b"CreationDate" not in contents[0][0]
