"""``cladist train``: train a model on a table of texts, or on numbers, and save it in a folder."""

from __future__ import annotations

import re
import time
import tomllib
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cladist import progress, registry
from cladist.cli import output
from cladist.errors import DatasetError, LabelError, LabelWarning, ParameterError, TaxonomyError, quoted

if TYPE_CHECKING:
    from cladist.cli.input import DataSource, Notify

EXAMPLE = (
    "Example: [bold]cladist train train.csv --taxonomy tree.csv --text title --label category --out model[/bold]"
    "\n\nA config file has the same names: [bold]method = 'hieron'[/bold], [bold]text = \\['title', 'body'][/bold], "
    "and the parameters of the method under [bold]\\[param][/bold]; options on the command line take precedence."
)
AUTO = "auto"  # the default method: the one that does best on rows held out
AUTO_PARAMETERS = ("budget", "n_jobs", "random_state", "scoring")
TAXONOMY_HELP = "The taxonomy; not needed if labels are paths, or DATA is ARFF."
METHOD_HELP = "A method listed by [bold]cladist methods[/bold]; auto: the one that does best on rows held out."
PARAM_HELP = "A parameter of the method; may be given several times."
HASHING_HELP = "Hash words and characters instead of storing a vocabulary."
CALIBRATE_HELP = "Fit calibrated probabilities, for which a fifth of the rows is held out."
CHECKPOINT_HELP = "A folder to keep what is finished in; after it was killed, the same command goes on from there."
EXECUTOR_HELP = "ray: train on a Ray cluster (RAY_ADDRESS), or on this machine where there is none."
TEST_HELP = "Hold out this share of the rows, and evaluate on them the model trained on the others."
EMBED_HELP = (
    "Dense vectors beside the words: wordllama, which needs no network, the path of a model or of vectors by id, or "
    "the model of a package, as in model2vec:NAME."
)
DOWNLOAD_HELP = "Fetch the model of --embed if it is not on this machine."
LABEL_TEXT_HELP = (
    "Learn from the titles, descriptions and synonyms of the taxonomy's leaves, too: rows, as one more training row "
    "each; prior, as what their weights are pulled to."
)
LABEL_TEXTS = {"prior": ("hr-svm", "hr-lr"), "rows": ("hr-svm", "hr-lr", "top-down")}  # and the methods that have them
CHARACTERS_HELP = "Whether the character n-grams of words are features too."
OBJECTS = (
    "taxonomy",
    "estimator",
    "executor",
    "checkpoint",
    "label_text",
    "label_features",
)  # parameters without a textual form, and those that are options
BARE_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")  # a text that needs no quotes, unlike in TOML
# Options in a config file: their types, and descriptions of these in messages.
TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(
        (
            "out",
            "taxonomy",
            "method",
            "label",
            "label_sep",
            "path_sep",
            "format",
            "query",
            "checkpoint",
            "executor",
            "embed",
            "label_text",
        ),
        ((str,), "a text"),
    ),
    "text": ((str, list), "a text or a list of texts"),
    "test_size": ((float,), "a number between 0 and 1"),
    "param": ((dict,), "a table"),
    **dict.fromkeys(("hashing", "characters", "calibrate", "zero_based"), ((bool,), "true or false")),
}


def command(
    terminal: output.Terminal,
    data: output.DataFile,
    out: Annotated[Path | None, output.option("--out -o MODEL", "The model folder to write.")] = None,
    taxonomy: Annotated[Path | None, output.option("--taxonomy FILE", TAXONOMY_HELP)] = None,
    method: Annotated[str | None, output.option("--method NAME", METHOD_HELP, show_default=AUTO)] = None,
    param: Annotated[list[str] | None, output.option("--param NAME=VALUE", PARAM_HELP)] = None,
    hashing: Annotated[
        bool | None, output.option("--hashing/--no-hashing", HASHING_HELP, output.DATA, show_default=False)
    ] = None,
    characters: Annotated[
        bool | None,
        output.option("--characters/--no-characters", CHARACTERS_HELP, output.DATA, show_default="characters"),
    ] = None,
    embed: Annotated[str | None, output.option("--embed MODEL", EMBED_HELP, output.DATA)] = None,
    allow_download: Annotated[bool, output.option("--allow-download", DOWNLOAD_HELP, output.DATA)] = False,
    label_text: Annotated[str | None, output.option("--label-text prior|rows", LABEL_TEXT_HELP, output.DATA)] = None,
    calibrate: Annotated[
        bool | None, output.option("--calibrate/--no-calibrate", CALIBRATE_HELP, show_default="no-calibrate")
    ] = None,
    test_size: Annotated[float | None, output.option("--test-size SHARE", TEST_HELP, output.DATA)] = None,
    checkpoint: Annotated[Path | None, output.option("--checkpoint FOLDER", CHECKPOINT_HELP)] = None,
    executor: Annotated[str | None, output.option("--executor ray", EXECUTOR_HELP)] = None,
    config: Annotated[Path | None, output.option("--config FILE", "A TOML file with these options.")] = None,
    text: output.Texts = None,
    label: output.Label = None,
    label_sep: output.LabelSep = None,
    path_sep: output.PathSep = None,
    format: output.Format = None,  # noqa: A002
    zero_based: output.ZeroBased = None,
    query: output.Query = None,
) -> None:
    """Train a model on a table of texts or on a file of numbers."""
    arguments = {
        "out": out, "taxonomy": taxonomy, "method": method, "param": parse_parameters(param or []),
        "hashing": hashing, "characters": characters, "calibrate": calibrate, "text": text, "label": label,
        "label_sep": label_sep, "path_sep": path_sep, "format": format and format.value, "zero_based": zero_based,
        "test_size": test_size, "query": query, "checkpoint": checkpoint, "executor": executor,
        "embed": embed, "label_text": label_text,
    }  # fmt: skip
    options = merge_options(arguments, config)
    if options["out"] is None:
        raise ParameterError("Name the model folder to write with --out MODEL.")
    method = options["method"] or AUTO
    check_method(method, options["param"])
    output.check_inputs(data, options["taxonomy"])
    from cladist.cli.input import DataSource

    columns = {name: options[name] for name in ("format", "label", "label_sep", "path_sep", "zero_based", "query")}
    source = DataSource(str(data), text=tuple(options["text"] or ()), labelled=True, **columns)
    with terminal.bars():
        summary = train(
            source,
            Path(options["out"]),
            taxonomy=options["taxonomy"],
            method=method,
            parameters=options["param"],
            hashing=bool(options["hashing"]),
            characters=options["characters"] is not False,
            embed=options["embed"],
            allow_download=allow_download,
            label_text=options["label_text"],
            calibrate=bool(options["calibrate"]),
            test_size=options["test_size"],
            checkpoint=options["checkpoint"],
            executor=options["executor"],
            notify=terminal.note,
        )
    terminal.answer(summary)
    if not terminal.quiet:
        sentence = (
            "Trained {method} on {rows:,} rows with {features:,} features in {seconds:.1f} s: {nodes:,} {node_word}, "
            "{classes:,} {class_word} that can be predicted.\n"
        )
        words = {"node_word": "node" if summary["nodes"] == 1 else "nodes"}
        words["class_word"] = "class" if summary["classes"] == 1 else "classes"
        choice = "C={C:g} was chosen by cross-validation.\n" if "C" in summary else ""
        reason = "Chosen: {reason}\n" if "reason" in summary else choice
        tested = "" if "test" not in summary else _describe_test(summary["test"])
        terminal.plain((sentence + reason + tested + "The model is in {model}").format(**summary, **words))


def train(
    source: DataSource,
    out: Path,
    *,
    taxonomy: Path | None = None,
    method: str = AUTO,
    parameters: dict[str, Any] | None = None,
    hashing: bool = False,
    characters: bool = True,
    embed: str | None = None,
    allow_download: bool = False,
    label_text: str | None = None,
    calibrate: bool = False,
    test_size: float | None = None,
    checkpoint: Path | None = None,
    executor: str | None = None,
    notify: Notify = lambda _: None,
) -> dict[str, Any]:
    """Train a model and write it to a folder, which no other process can write to meanwhile; return its sizes.

    Options are checked before data is read. With `test_size`, that share of the rows is held out, and the report of the
    model on them is returned too. `notify` is called with notes about the data.
    """
    from cladist.cli.input import learner_of, notes_of, read_labelled, read_packed, read_tree, with_sets
    from cladist.persistence.models import save
    from cladist.storage import check_replaceable, lock_folder
    from cladist.storage.array_groups import prefixed
    from cladist.storage.scratch import scratch_in

    if test_size is not None and not 0 < test_size < 1:
        raise ParameterError(f"--test-size must be a share of the rows between 0 and 1; got {test_size:g}.")
    check_replaceable(out)
    with lock_folder(out):  # creates a file there, so that a read-only folder is noticed before hours of training
        source.check_extension()
        source.check_columns()
        _check_label_text(label_text, method, source, taxonomy)
        tree = None if taxonomy is None else read_tree(taxonomy, source)
        features = new_features(
            text=not source.is_numeric,
            hashing=hashing,
            characters=characters,
            embed=embed,
            allow_download=allow_download,
        )
        learner = None if method == AUTO else new_learner(method, parameters or {})
        _set_executor(learner, method, executor)
        if source.kind == "packed":
            _refuse_options(source, {"--taxonomy": tree, "--zero-based": source.zero_based, "--query": source.query})
            data, notes, vectorizer = read_packed(source)
        else:
            data, notes, vectorizer = read_labelled(source, taxonomy=tree), None, None
        tell_surprises(data, notify)
        data = with_sets(data)
        advise = _advising(data)
        data, test = (data, None) if test_size is None else _hold_out(data, test_size)
        if source.kind == "arff":
            features = new_imputer(data.X, notify)
        start = time.perf_counter()
        kept = _keep(checkpoint, data, parameters, (method, hashing, characters, embed, calibrate, label_text))
        # Temporary files of rows on disk are beside the model, where there is room, and not where TMPDIR says.
        beside = scratch_in(out.absolute().parent if source.kind == "packed" else None)
        with progress.task("Training" if method == AUTO else f"Training {method}"), advise, beside, kept:
            model = _fit(learner, features, data, parameters or {}, label_text)
            model, held_out = _calibrate(model, data) if calibrate else (model, {})
            if vectorizer is not None:
                model = _behind(vectorizer, model)
            if vectorizer is not None or not source.is_numeric:
                model = _as_text_classifier(model, method, calibrate)
        seconds = time.perf_counter() - start
        with progress.task("Saving"):
            notes = notes_of(source, data.feature_names) if notes is None else notes
            save(model, out, notes=notes, note_arrays=prefixed("calibration", held_out))
        learner = learner_of(model)
        # Packed texts are numbers already.
        judged = model if vectorizer is None else learner
        tested = {} if test is None else {"test": _evaluate(judged, test, notify).to_dict()}
    sizes = {"rows": len(data.y), "features": learner.n_features_in_, "nodes": learner.taxonomy_.n_nodes}
    sizes["classes"] = len(learner.classes_)
    return {"method": method, **sizes, "seconds": seconds, "model": str(out), **_choice(model, learner), **tested}


def _choice(model: Any, learner: Any) -> dict[str, Any]:
    """Return the method and the C that were chosen, and why, where there was a choice."""
    selection = getattr(model, "selection_", None)
    if selection is not None:
        chosen = {"method": selection.method, "C": selection.C}
        return {**chosen, "reason": str(selection), "compared": selection.results}
    C = getattr(learner, "C_", None)
    return {} if C is None else {"C": C}


def _keep(
    folder: Path | None, data: Any, parameters: dict[str, Any] | None, options: tuple[Any, ...]
) -> AbstractContextManager[None]:
    """Return a context in which fits keep what they finish in a folder, if one is given."""
    if folder is None:
        return nullcontext()
    from cladist import checkpoints

    tree = None if data.taxonomy is None else (list(data.taxonomy.names), data.taxonomy.parents)
    return checkpoints.keep(folder, data.X, data.y, tree, parameters=parameters, options=options)


def _set_executor(learner: Any, method: str, executor: str | None) -> None:
    """Let a learner train elsewhere, if asked to; refuse engines there are not, and methods that cannot."""
    output.check_executor(executor)
    if executor is None:
        return
    if learner is None or "executor" not in learner.get_params(deep=False):
        names = [known.name for known in registry.METHODS if "executor" in known.load()().get_params(deep=False)]
        raise ParameterError(f"--executor is for a --method that trains in parts, not {method}: {', '.join(names)}.")
    learner.set_params(executor=executor)


@contextmanager
def _advising(data: Any) -> Iterator[None]:
    """Add to errors about a method that does not suit the data which methods do."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*there is no hierarchy", LabelWarning)  # reading has said so
            yield
    except LabelError as problem:
        if "exactly one label per row" in str(problem) and isinstance(data.y, list):
            names = [method.name for method in registry.METHODS if method.load().answers_sets]
            problem.add_note(f"For several labels per row, take --method {', '.join(names[:-1])} or {names[-1]}.")
        raise
    except TaxonomyError as problem:
        if data.taxonomy is not None and data.taxonomy.kind == "dag":
            names = [method.name for method in registry.METHODS if method.takes_dags]
            problem.add_note(f"On the command line these are --method {', '.join(names[:-1])} and {names[-1]}.")
        raise


def tell_surprises(data: Any, notify: Notify) -> None:
    """Tell of labels without a hierarchy, of texts without a word, and of classes with a single row."""
    labels = chain.from_iterable(row if isinstance(row, list) else (row,) for row in data.y)
    n_rows = Counter(labels)
    if len(n_rows) == 1:
        notify(f"Every row has the label {quoted(next(iter(n_rows)))}, so the model can predict nothing else.")
    elif data.taxonomy is None:
        notify(
            f"There is no hierarchy: the {len(n_rows):,} labels are trained on as unrelated; --taxonomy FILE names "
            "one, and --path-sep TEXT says that labels are paths."
        )
    if getattr(data.X, "ndim", 1) == 1:
        blank = [k for k, text in enumerate(data.X, 1) if not re.search(r"\w", text)]
        if 0 < len(blank) < len(data.X):
            have, first = ("has", blank[0]) if len(blank) == 1 else ("have", f"{blank[0]} the first of them")
            notify(
                f"{len(blank):,} of {len(data.X):,} texts {have} no word (row {first}): nothing is learnt from them."
            )
    single = [str(label) for label, n in n_rows.items() if n == 1]
    if single:
        shown = ", ".join(map(quoted, single[:3])) + (", …" if len(single) > 3 else "")
        have = "has" if len(single) == 1 else "have"
        notify(f"{len(single):,} of {len(n_rows):,} labels {have} a single row, so no other row tests them: {shown}.")


def _hold_out(data: Any, test_size: float) -> tuple[Any, Any]:
    """Return the rows to train on and those to evaluate on, which are drawn at random."""
    from cladist.datasets import Dataset

    parts = data.split(test_size, random_state=0)
    shared = {"taxonomy": data.taxonomy, "feature_names": data.feature_names, "source": data.source}
    return Dataset(parts.X_train, parts.y_train, **shared), Dataset(parts.X_test, parts.y_test, **shared)


def _evaluate(model: Any, test: Any, notify: Notify) -> Any:
    """Return the report of a model on rows held out; labels that no row of training has count as wrong."""
    from cladist.cli.evaluate import evaluate_rows
    from cladist.cli.input import learner_of
    from cladist.cli.unknown_labels import match_labels
    from cladist.datasets import Dataset

    known = match_labels(test.y, learner_of(model).taxonomy_, path_sep=None, policy="wrong")
    if known.unknown:
        notify(f"Rows held out: {known.describe('wrong')}")
    return evaluate_rows(model, Dataset(test.X, known.labels, source=test.source))[0]


def _describe_test(report: dict[str, Any]) -> str:
    metrics = report["metrics"]
    error = "" if "tree_induced_error" not in metrics else f"{metrics['tree_induced_error']:.3f} edges from the label, "
    return (
        f"On {report['n_rows']:,} rows held out: accuracy {metrics['accuracy']:.4f}, {error}"
        f"hierarchical F1 {metrics['hierarchical_f1']:.4f}, macro F1 {metrics['macro_f1']:.4f}.\n"
    )


def check_method(method: str, parameters: dict[str, Any]) -> None:
    """Raise unless there is a method of this name; with "auto", raise for parameters of the method to be chosen."""
    if method != AUTO:
        registry.find(method)
        return
    for name in parameters.keys() - set(AUTO_PARAMETERS):
        raise ParameterError(
            f"--param {name}: --method auto, the default, chooses the method and its parameters, and has only "
            f"{', '.join(AUTO_PARAMETERS)}; name a method that has {name}."
        )


def new_features(
    *,
    text: bool,
    hashing: bool = False,
    characters: bool = True,
    embed: str | None = None,
    allow_download: bool = False,
) -> Any:
    """Return an unfitted vectorizer of texts; None for numbers, for which its options are refused.

    The model of an embedding is loaded, so that one that is missing is told before data is read.
    """
    from cladist.features import text_features

    given = {"--hashing": hashing, "--no-characters": not characters, "--embed": embed is not None}
    for option, is_given in given.items():
        if is_given and not text:
            raise DatasetError(f"{option} is for texts, and this data is numbers; leave it out.")
    if embed is None:
        return text_features(hashing=hashing, characters=characters) if text else None
    if hashing:
        raise ParameterError("--embed and --hashing exclude each other; leave one out.")
    from cladist.features import Embedding

    embedding = Embedding(embed, allow_download=allow_download)
    if not Path(embed).is_file():  # a file has vectors by id, and none for any other text
        embedding.fit([""])
    return text_features(characters=characters, embedding=embedding)


def _check_label_text(use: str | None, method: str, source: DataSource, taxonomy: Path | None) -> None:
    """Raise unless label text can be used with this method, data and taxonomy."""
    if use is None:
        return
    if use not in LABEL_TEXTS:
        raise ParameterError(f"--label-text must be {' or '.join(LABEL_TEXTS)}; got {use!r}.")
    if method not in LABEL_TEXTS[use]:
        raise ParameterError(f"--label-text {use} is for --method {', '.join(LABEL_TEXTS[use])}, not {method}.")
    if source.is_numeric:
        raise DatasetError("--label-text is for texts, and this data is numbers; leave it out.")
    if taxonomy is None:
        raise ParameterError("--label-text needs --taxonomy FILE, whose nodes have titles or descriptions.")


def new_learner(method: str, parameters: dict[str, Any]) -> Any:
    """Return an unfitted learner.

    Options of `cladist.Relations` are parameters too, as scikit-learn writes them: relations__ridge.
    """
    learner = registry.find(method).load()()
    parameter_names = sorted(name for name in learner.get_params(deep=False) if name not in OBJECTS)
    relations: set[str] = set()
    if "relations" in parameter_names:
        from cladist.solvers.relations import DEFAULTS, Relations

        relations = {f"relations__{name}" for name in DEFAULTS}
    for name, value in parameters.items():
        if f"relations__{name}" in relations:
            raise ParameterError(f"{name} is an option of relations; write --param relations__{name}={value}.")
        if name not in parameter_names and name not in relations:
            raise ParameterError(f"{method} has no parameter {name!r}; it has {', '.join(parameter_names)}.")
    if relations & parameters.keys():
        parameters = {**parameters, "relations": Relations(parameters.get("relations"))}
    return learner.set_params(**parameters)


def new_imputer(X: Any, notify: Notify) -> Any:
    """Return an unfitted imputer if values are missing in the rows, and None otherwise."""
    from sklearn.impute import SimpleImputer

    from cladist.cli.input import missing

    n_missing = int(missing(X).sum())
    if not n_missing:
        return None
    are = "value is missing; it" if n_missing == 1 else "values are missing; each"
    notify(f"{n_missing:,} {are} is replaced by the mean of its column, in training and later.")
    # Columns without any value stay, as 0, so that later rows have the same columns as those of training.
    return SimpleImputer(keep_empty_features=True)


def _fit(learner: Any, features: Any, data: Any, parameters: dict[str, Any], label_text: str | None = None) -> Any:
    """Return the learner, or without one the best method, fitted, in a pipeline behind features if there are any.

    Texts without any word get an error of our own instead of scikit-learn's.
    """
    from sklearn.pipeline import Pipeline

    try:
        if learner is None:
            from cladist.learners.auto import auto

            return auto(data.X, data.y, data.taxonomy, features=features, **parameters)
        learner.set_params(taxonomy=data.taxonomy)
        if label_text is not None:
            from cladist.learners.text import TextClassifier

            return TextClassifier(learner, features=features, label_text=label_text).fit(data.X, data.y)
        model = learner if features is None else Pipeline([("features", features), ("model", learner)])
        return model.fit(data.X, data.y)
    except ValueError as error:
        if getattr(data.X, "ndim", 1) > 1 or any(re.search(r"\w", text) for text in data.X):
            raise
        raise DatasetError(f"{data.source}: none of the texts has a word in it.") from error


def _refuse_options(source: DataSource, given: dict[str, Any]) -> None:
    """Raise a `ParameterError` for options that say how to read a file, where the data is packed."""
    for option, value in given.items():
        if value is not None:
            raise ParameterError(f"{source.name} is packed, with all that was read from its file; leave out {option}.")


def _behind(vectorizer: Any, model: Any) -> Any:
    """Return a learner of packed texts behind the steps that made them numbers."""
    from sklearn.pipeline import Pipeline

    steps = model.steps if isinstance(model, Pipeline) else [("model", model)]
    result = Pipeline([*vectorizer.steps, *steps])
    if hasattr(model, "selection_"):
        result.selection_ = model.selection_
    return result


def _as_text_classifier(model: Any, method: str, calibrate: bool) -> Any:
    """Return a model of texts as a `TextClassifier`."""
    from cladist.learners.text import TextClassifier

    result = TextClassifier.of_steps(list(model.steps), method=method, calibrate=calibrate)
    if hasattr(model, "selection_"):
        result.selection_ = model.selection_
    return result


def _calibrate(model: Any, data: Any) -> tuple[Any, dict[str, Any]]:
    """Return a model with calibrated probabilities, trained like another one, and those of rows held out."""
    import numpy as np
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline
    from sklearn.utils import _safe_indexing

    from cladist.cli.decisions import HELD_OUT, MOST_HELD_OUT, hold_out
    from cladist.learners.calibrated import CalibratedClassifier, calibrate_pipeline
    from cladist.learners.out_of_fold import last_step

    learner = clone(last_step(model))
    if isinstance(getattr(learner, "C", None), str) and hasattr(last_step(model), "C_"):
        learner.set_params(C=last_step(model).C_)  # as it was chosen
    steps = [(name, clone(step)) for name, step in model.steps[:-1]] if isinstance(model, Pipeline) else []
    order = np.random.default_rng(0).permutation(len(data.y))
    n_held_out = min(round(HELD_OUT * len(order)), MOST_HELD_OUT)
    own, others = np.sort(order[:n_held_out]), np.sort(order[n_held_out:])
    rows = _safe_indexing(data.X, others), _safe_indexing(data.y, others)
    whole = None  # what is more than its steps: label text gives the learner features of nodes, too
    if getattr(model, "label_text", None) is not None:
        whole = clone(model).set_params(method=learner)
    result = (
        calibrate_pipeline(steps, learner, *rows, whole)
        if steps
        else CalibratedClassifier(learner, random_state=0).fit(*rows)
    )
    return result, hold_out(result, _safe_indexing(data.X, own), _safe_indexing(data.y, own))


def parse_parameters(assignments: Iterable[str]) -> dict[str, Any]:
    """Return the parameters in ``NAME=VALUE`` texts; a value is TOML, or a single word without quotes."""
    parameters: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, value = (part.strip() for part in assignment.partition("="))
        if not (name and equals and value):
            raise ParameterError(f"--param {assignment}: wanted NAME=VALUE.")
        if name in parameters:
            raise ParameterError(f"--param {assignment}: {name} is given twice.")
        try:
            content = tomllib.loads(f"value = {value}")
        except tomllib.TOMLDecodeError:
            content = {"value": value} if BARE_WORD.fullmatch(value) else {}
        if list(content) != ["value"]:
            syntax = "the value is a number, true, false, a word or a text in double quotes."
            raise ParameterError(f"--param {assignment}: {syntax}")
        parameters[name] = content["value"]
    return parameters


def merge_options(arguments: dict[str, Any], config: Path | None) -> dict[str, Any]:
    """Return the options of the command line, those not given from the config file; parameters are merged by name."""
    if config is None:
        return arguments
    content = read_config(config)
    options = {name: content.get(name) if value is None or value == [] else value for name, value in arguments.items()}
    return options | {"param": content.get("param", {}) | arguments["param"]}


def read_config(path: Path) -> dict[str, Any]:
    """Read and check a config file; its names are those of the options, with "-" or "_" inside them."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"{path} is not a TOML file: {error}.") from error
    options = {name.replace("-", "_"): value for name, value in content.items()}
    for name, value in options.items():
        if name not in TYPES:
            names = ", ".join(option.replace("_", "-") for option in TYPES)
            raise ParameterError(f"{path}: there is no option {name!r}; the options are {names}.")
        types, description = TYPES[name]
        items = value if isinstance(value, list) else ()
        if not isinstance(value, types) or not all(isinstance(item, str) for item in items):
            raise ParameterError(f"{path}: {name} must be {description}; got {value!r}.")
    text = options.get("text", [])
    options["text"] = [text] if isinstance(text, str) else text
    if options.get("format") not in (None, *output.DataFormat):
        raise ParameterError(
            f"{path}: format must be one of {', '.join(output.DataFormat)}; got {options['format']!r}."
        )
    return options
