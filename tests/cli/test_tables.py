"""Tables with names on the command line: targets that are missing, columns in another order, files
that must not be lost, hints."""

import io
import json
import os
import shlex
import warnings
from pathlib import Path

import numpy as np
import pytest

import softmargin
from softmargin import cli
from softmargin.cli.scoring import accuracy, prediction_lines
from softmargin.io import read_data, write_data
from softmargin.io.data.ranges import Range

NAMES = ("length", "width", "height")


@pytest.fixture(autouse=True)
def flowers(tmp_path, monkeypatch):
    """Three classes, separated by one feature with a small range."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 3)) * [1.0, 40.0, 3.0]
    kind = np.digitize(X[:, 0], [-0.5, 0.5])
    X[:, 0] += 2 * kind
    species = np.array(["rose", "tulip", "lily"])[kind]
    table("flowers.csv", X, species)
    table("permuted.csv", X[:, ::-1], species, names=NAMES[::-1])
    table("new.csv", X)
    write_data("numbers.svm", X, kind)
    return X, species


def table(path, X, target=None, names=NAMES):
    header = [*names, *([] if target is None else ["species"])]
    rows = [[*row, *([] if target is None else [target[k]])] for k, row in enumerate(X.tolist())]
    Path(path).write_text("".join(f"{','.join(map(str, row))}\n" for row in [header, *rows]))


def run(command):
    return cli.main(shlex.split(command))


def test_data_without_targets_are_predicted_without_a_score(flowers, capsys):
    X, _ = flowers
    assert run("train -q --target species flowers.csv m.softmargin") == 0
    np.savez("new.npz", X=X)
    write_data("new.svm", X, None)
    answers = set()
    for data in ("new.csv", "new.npz", "new.svm", "flowers.csv"):
        assert run(f"predict {data} m.softmargin out") == 0
        told = capsys.readouterr()
        assert ("Accuracy" in told.out) is (data == "flowers.csv")
        assert told.err == ""
        answers.add(Path("out").read_text())
    assert len(answers) == 1
    assert run("predict --json new.csv m.softmargin out") == 0
    assert json.loads(capsys.readouterr().out) == {"total": 90}
    assert run("predict --target species new.csv m.softmargin out") == cli.BAD_INPUT
    assert "without --target there is no score" in capsys.readouterr().err


def test_data_without_targets_are_scaled():
    assert run("scale -s range -o scaled.csv --target species flowers.csv") == 0
    expected = read_data("scaled.csv").X
    assert run("scale -r range -o new.scale new.csv") == 0
    np.testing.assert_array_equal(
        read_data("new.scale", target_is_needed=False).X.toarray(), expected
    )
    assert run("scale -r range -o new.scale.csv new.csv") == 0
    assert Path("new.scale.csv").read_text().startswith("length,width,height\n")


def test_a_row_without_a_label_and_without_features_is_a_row(tmp_path):
    X = np.array([[0.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    write_data("rows", X, None)
    again = read_data("rows", target_is_needed=False)
    assert again.y is None
    np.testing.assert_array_equal(again.X.toarray(), X)
    with pytest.raises(softmargin.io.FileError, match="the label"):
        read_data("rows")


@pytest.mark.parametrize("machine", ["-c 1", "--linear one-vs-rest"])
def test_columns_are_matched_by_name(machine, flowers, capsys):
    X, _ = flowers
    assert run(f"train -q {machine} --target species flowers.csv m.softmargin") == 0
    run("predict flowers.csv m.softmargin right")
    assert run("predict permuted.csv m.softmargin out") == 0
    assert Path("out").read_text() == Path("right").read_text()
    table("more.csv", np.column_stack([X, X]), names=("a", "b", "c", *NAMES))
    capsys.readouterr()
    assert run("predict more.csv m.softmargin out") == 0
    assert "note: ignored: a, b, c: not in the training data" in capsys.readouterr().err
    assert Path("out").read_text() == Path("right").read_text()
    table("less.csv", X[:, :1], names=NAMES[:1])
    assert run("predict less.csv m.softmargin") == cli.BAD_INPUT
    assert "missing: width, height; the columns are length" in capsys.readouterr().err


def test_python_knows_the_names_too(flowers):
    run("train -q --target species flowers.csv")
    machine = softmargin.load("flowers.csv.softmargin")
    assert machine.feature_names_in_.tolist() == list(NAMES)


def test_a_model_without_names_says_that_position_counts(flowers, capsys):
    assert run("train -q --target -1 flowers.csv numbers.model") == cli.BAD_INPUT  # words
    X, _ = flowers
    table("numbered.csv", X, (X[:, 0] > 0).astype(int))
    assert run("train --target species numbered.csv m.model") == 0
    assert "m.model cannot hold the names of the columns" in capsys.readouterr().err
    assert run("predict --target species numbered.csv m.model out") == 0
    assert "note: columns are matched by position: m.model does not" in capsys.readouterr().err


def test_data_that_are_foreign_to_a_model(flowers, capsys):
    X, _ = flowers
    write_data("small", X, np.where(X[:, 0] > 0, 1, -1))
    write_data("wide", np.column_stack([X, X]), np.arange(90) % 5 + 7)
    run("train -q small")
    assert run("predict wide small.model out") == 0
    told = capsys.readouterr()
    assert told.out.startswith("Accuracy = 0%")
    assert "note: wide has 6 features, but those of small.model end at 3" in told.err
    assert "note: no label of wide is a class of small.model" in told.err
    assert "labels 7, 8, 9, 10, 11; classes -1, 1" in told.err
    write_data("some", X, np.where(X[:, 0] > 0, 1, 0))
    run("predict some small.model out")
    assert "rows have labels that are not classes of small.model and count" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "command",
    [
        "train numbers.svm numbers.svm",
        "train numbers.svm ./link",
        "predict new.csv m.softmargin new.csv",
        "predict new.csv m.softmargin m.softmargin",
        "scale -o numbers.svm numbers.svm",
        "scale -s numbers.svm numbers.svm",
        "scale -r range -o range numbers.svm",
        "scale -s one -o one numbers.svm",
        "subset numbers.svm 10 numbers.svm",
        "subset numbers.svm 10 some numbers.svm",
        "subset numbers.svm 10 some some",
        "convert m.softmargin m.softmargin",
        "convert numbers.svm link",
        "easy numbers.svm.predict numbers.svm",
    ],
)
def test_no_input_is_overwritten(command, capsys):
    os.link("numbers.svm", "link")
    os.link("numbers.svm", "numbers.svm.predict")
    run("train -q --target species flowers.csv m.softmargin")
    run("scale -s range -o scaled numbers.svm")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    capsys.readouterr()
    assert run(command) == cli.BAD_INPUT
    assert "would be overwritten: it is" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_the_model_of_easy_takes_data_as_they_are(flowers, capsys):
    X, species = flowers
    assert run("easy --target species --log2c 0,4,2 --log2g 1,-3,-2 flowers.csv flowers.csv") == 0
    told = capsys.readouterr().out
    assert run("predict flowers.csv flowers.csv.softmargin out") == 0
    accuracy = capsys.readouterr().out.splitlines()[0]
    assert accuracy in told
    predicted = np.array(Path("out").read_text().split())
    assert (predicted == species).mean() > 0.9
    machine = softmargin.load("flowers.csv.softmargin")
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(machine.predict(X), predicted)
    # An identity: the same machine on data that are scaled beforehand.
    scaled = Range.of(X).apply(X)
    again = softmargin.SVC(**{**machine.get_params(), "n_jobs": None}).fit(scaled, species)
    np.testing.assert_array_equal(again.predict(scaled), predicted)
    machine.fit(X, species)  # a fit of its own does not scale
    assert not hasattr(machine, "_scaling")


def test_a_machine_that_scales_is_converted_with_its_ranges(capsys):
    run("easy -q --log2c 0,0,1 --log2g 0,0,1 numbers.svm")
    assert run("convert numbers.svm.softmargin m.model") == 0
    assert "needs scaled data: softmargin scale -r m.model.range" in capsys.readouterr().err
    run("scale -r m.model.range -o scaled numbers.svm")
    run("predict -q scaled m.model a")
    run("predict -q numbers.svm numbers.svm.softmargin b")
    assert Path("a").read_text() == Path("b").read_text()
    with pytest.raises(ValueError, match="the machine scales its features itself"):
        softmargin.load("numbers.svm.softmargin").save("x", format="libsvm")


def test_a_model_of_scaled_data_doubts_data_that_are_not(capsys):
    run("easy -q --format libsvm --log2c 0,0,1 --log2g 0,0,1 numbers.svm")
    capsys.readouterr()
    assert run("predict numbers.svm numbers.svm.model out") == 0
    assert "was probably trained on data scaled to [-1, 1]" in capsys.readouterr().err
    assert run("predict numbers.svm.scale numbers.svm.model out") == 0
    assert capsys.readouterr().err == ""


def test_check_lists_all_broken_lines_of_a_csv_file(capsys):
    Path("broken.csv").write_text("a,b,label\n1,x,1\n1,2,1\n,2,1\n1,2\n1,inf,2\n3,4,2\n")
    assert run("check broken.csv") == cli.BAD_INPUT
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "broken.csv, line 2, column 2",
        "broken.csv, line 4, column 1",
        "broken.csv, line 5",
        "broken.csv, line 6, column 2",
    ]
    assert run("check --limit 2 broken.csv") == cli.BAD_INPUT
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert run("check flowers.csv") == cli.BAD_INPUT  # one line about the column, not one per row
    (line,) = capsys.readouterr().out.splitlines()
    assert "'species' (--target species if it is the target, --ignore species" in line


@pytest.mark.parametrize("command", ["train", "train --cross-validate 5", "easy"])
def test_targets_of_a_regression_are_a_question(command, monkeypatch, capsys):
    monkeypatch.setattr(softmargin.SVC, "fit", lambda *_: pytest.fail("trained"))
    rng = np.random.default_rng(0)
    write_data("houses", rng.random((600, 2)), rng.permutation(600) * 100.0)
    assert run(f"{command} houses") == cli.BAD_INPUT
    told = capsys.readouterr().err
    assert "houses: 600 classes in 600 rows: did you mean -s epsilon-svr?" in told


def test_many_classes_can_be_meant(monkeypatch):
    rng = np.random.default_rng(0)
    write_data("letters", rng.random((120, 2)), np.arange(120) // 2)
    assert run("train -q letters") == cli.BAD_INPUT
    assert run("train -q -s c-svc letters") == 0
    assert run("train -q --linear one-vs-rest letters") == 0


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("1,2,3\n4,5,6\n", "the first line looks like data"),
        ("a;b;label\n1;2;0\n", "these look like semicolons"),
        ("a\tb\tlabel\n1\t2\t0\n", "these look like tabs"),
        (
            "a,b,kind\n1,2,0\n",
            "--target kind (--target -1 is the last column; in Python target=...); the columns are",
        ),
    ],
)
def test_what_a_csv_file_probably_is(text, hint, capsys):
    Path("odd.csv").write_text(text)
    assert run("train odd.csv") == cli.BAD_INPUT
    assert hint in capsys.readouterr().err


def test_names_are_listed_in_full_with_the_likely_one_first(capsys):
    assert run("train --target specie flowers.csv") == cli.BAD_INPUT
    told = capsys.readouterr().err
    assert "did you mean 'species'?); the columns are species, length, width, height" in told


def test_a_column_that_numbers_the_rows_is_told_and_can_be_ignored(flowers, capsys):
    X, species = flowers
    table("indexed.csv", np.column_stack([np.arange(90), X]), species, names=("id", *NAMES))
    assert run("train --target species indexed.csv") == 0
    assert "the column 'id' numbers the rows and is used as a feature; --ignore id" in (
        capsys.readouterr().err
    )
    assert run("train -q --target species --ignore id indexed.csv m.softmargin") == 0
    assert softmargin.load("m.softmargin").n_features_in_ == 3
    assert run("predict -q indexed.csv m.softmargin out") == 0


def test_uneven_ranges_are_a_hint(flowers, capsys):
    X, species = flowers
    table("uneven.csv", X * [1.0, 10.0, 1.0], species)
    assert run("check --target species uneven.csv") == 0
    assert "hint        the ranges of the features differ" in capsys.readouterr().out
    assert run("train --target species uneven.csv") == 0
    assert "(length: " in capsys.readouterr().err
    table("even.csv", X / [1.0, 40.0, 3.0], species)
    assert run("train --target species even.csv") == 0
    assert capsys.readouterr().err == ""


def test_predict_reports_each_of_many_classes(flowers, capsys):
    from sklearn.metrics import confusion_matrix, precision_score, recall_score

    _, species = flowers
    run("train -q --target species flowers.csv m.softmargin")
    assert run("predict --json flowers.csv m.softmargin out") == 0
    told = json.loads(capsys.readouterr().out)
    predicted = Path("out").read_text().split()
    assert [one["class"] for one in told["classes"]] == ["lily", "rose", "tulip"]
    np.testing.assert_array_equal(told["confusion"], confusion_matrix(species, predicted))
    for name, score in (("precision", precision_score), ("recall", recall_score)):
        expected = score(species, predicted, average=None)
        np.testing.assert_allclose([one[name] for one in told["classes"]], expected)
    run("predict flowers.csv m.softmargin out")
    assert "class  precision  recall   rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a,a,label\n1,2,x\n3,4,y\n", "line 1: expected one column 'a', not 2: columns are told"),
        ("a,b,label\n1,2,x\n3,4,\n", "line 3, column 3: found nothing, expected a label or target"),
        ("a,b,label\n1,2,1\n3,4,nan\n", "line 3, column 3: found 'nan', expected a finite number"),
        ("a,b,label\n1,,1\n", "line 2, column 2: found nothing, expected a finite number in the"),
        ("a,b,label\n1,,1\n", "missing values have to be filled in"),
        ("1,2,3\n4,5,6\n", "the names of the columns, such as x1,x2,label; the first line"),
        ('a,label\n1,"x\n', "expected the quote that ends a quoted field"),
        ("a,label\n1,x\n2,x\n", "all 2 labels are x: a classifier needs two classes"),
        ("a,label\n1,\udce4\n", "found 'the byte 0xe4', expected text in UTF-8 (iconv"),
        ("a,kind\n1,x\n", "or --target kind (--target -1 is the last column"),
    ],
)
def test_what_is_wrong_with_a_csv_file(text, hint, capsys):
    Path("t.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert run("train t.csv") == cli.BAD_INPUT
    assert hint in capsys.readouterr().err


def test_ranges_are_matched_by_name(flowers, capsys):
    assert run("scale -s ranges --target species -o a.csv flowers.csv") == 0
    assert run("scale -r ranges --target species -o b.csv permuted.csv") == 0
    assert Path("a.csv").read_text() == Path("b.csv").read_text()
    table("narrow.csv", flowers[0][:, :2], names=NAMES[:2])
    assert run("scale -r ranges narrow.csv") == cli.BAD_INPUT
    assert "missing: height" in capsys.readouterr().err
    ranges = Path("ranges").read_text().splitlines()
    assert ranges[-1] == '# columns ["length", "width", "height"]'
    Path("ranges").write_text("\n".join(ranges[:-1]) + "\n")
    assert run("scale -r ranges -o c.csv new.csv") == 0
    assert "columns are matched by position" in capsys.readouterr().err
    Path("ranges").write_text("\n".join([*ranges[:-1], "# columns [1]"]))
    assert run("scale -r ranges new.csv") == cli.BAD_INPUT
    assert "expected a list of names" in capsys.readouterr().err


def test_a_few_words_among_numeric_labels_are_told(capsys):
    Path("t.csv").write_text("a,label\n" + "1,0\n2,1\n" * 10 + "3,?\n")
    assert run("train -q t.csv") == 0
    assert "the column 'label' is read as words: '?' in line 22 is not a number" in (
        capsys.readouterr().err
    )
    assert run("train -s svr t.csv") == cli.BAD_INPUT
    assert "epsilon-svr needs numbers as targets, not '?'" in capsys.readouterr().err


def test_targets_that_are_missing_can_be_ignored(flowers, capsys):
    X, _ = flowers
    assert run("train -q --target species flowers.csv m.softmargin") == 0
    table("unknown.csv", X, [""] * len(X))
    assert run("predict unknown.csv m.softmargin out") == cli.BAD_INPUT
    assert "--ignore species reads the file without targets" in capsys.readouterr().err
    assert run("predict --ignore species unknown.csv m.softmargin out") == 0
    assert Path("out").read_text().count("\n") == len(X)


def test_tables_come_from_standard_input_too(flowers, monkeypatch, capsys):
    class Stdin:
        def __init__(self, path, buffered):
            content = io.BytesIO(Path(path).read_bytes())
            self.buffer = io.BufferedReader(content) if buffered else content

    for buffered in (True, False):
        for command in (
            "check --target species - < flowers.csv",
            "train -q --target species - m.softmargin < flowers.csv",
            "predict - m.softmargin out < permuted.csv",
            "predict - m.softmargin out < new.csv",
            "train -q - n.model < numbers.svm",
        ):
            words, _, path = command.partition(" < ")
            stdin = Stdin(path, buffered)
            monkeypatch.setattr("sys.stdin", stdin)
            assert run(words) == 0, command
        told = capsys.readouterr()
        assert "labels      lily" in told.out
        assert "Accuracy" in told.out
        assert told.err.count("\n") == 0


def test_data_and_model_in_the_wrong_order(capsys):
    assert run("train -q --target species flowers.csv m.softmargin") == 0
    assert run("predict m.softmargin flowers.csv") == cli.BAD_INPUT
    assert "flowers.csv is not a model, but m.softmargin is one: the data come first" in (
        capsys.readouterr().err
    )


def test_a_confusion_matrix_fits_the_terminal():
    y = np.array(["a class of a long name", "another", "third one", "4", "5", "6"])
    for columns in (200, 80, 60):
        lines = prediction_lines(accuracy(y, np.roll(y, 1)), columns)
        matrix = lines[lines.index(next(s for s in lines if "predicted" in s)) :]
        assert len(matrix) == 8
        assert max(map(len, matrix)) < columns
    assert not any("predicted" in s for s in prediction_lines(accuracy(y, np.roll(y, 1)), 40))


def test_foreign_labels_make_no_table(capsys):
    assert run("train -q --target species flowers.csv m.softmargin") == 0
    assert run("predict numbers.svm m.softmargin out") == 0
    told = capsys.readouterr()
    assert told.out == "Accuracy = 0% (0/90) (classification)\n"
    assert "no label of numbers.svm is a class of m.softmargin" in told.err


def test_labels_look_as_in_the_file(capsys):
    assert run("check numbers.svm") == 0
    assert "labels      0 (" in capsys.readouterr().out


def test_the_report_of_a_table_warns_of_nothing_and_names_the_scaling(capsys):
    pytest.importorskip("matplotlib")
    easy = "easy -q --log2c 0,0,1 --log2g 0,0,1 --target species"
    assert run(f"{easy} flowers.csv") == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run("report flowers.csv.softmargin permuted.csv -o r.html") == 0
    assert capsys.readouterr().err == ""
    page = Path("r.html").read_text("utf-8")
    assert "to [-1, 1] by the ranges of the training data" in page
    assert "species" in page
