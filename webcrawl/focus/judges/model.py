"""Pages that a model of scikit-learn takes for relevant."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl.focus.errors import FocusError

if TYPE_CHECKING:
    from webcrawl.focus.page import FetchedPage

MISSING = "scikit-learn is not installed; it is an extra: pip install -r requirements-focus.txt"


class Model:
    """A pipeline that takes texts: the probability of its last class, or what it predicts.

    Such a file is a program: to read it is to run it. With skops (``.skops``) only types that skops trusts are read.
    """

    is_slow = True

    def __init__(self, place: str) -> None:
        self._model = _load(Path(place))
        if not hasattr(self._model, "predict"):
            raise FocusError(f"{place} holds no model: it has no method predict")
        self._probability = getattr(self._model, "predict_proba", None)

    def relevance(self, page: FetchedPage) -> float:
        texts = [f"{page.title}\n{page.text}"]
        if self._probability is not None:
            return float(self._probability(texts)[0][-1])
        return float(self._model.predict(texts)[0])

    def promises(self, url: str, text: str) -> bool:
        return False


def _load(path: Path) -> Any:
    if not path.is_file():
        raise FocusError(f"{path}: no such file")
    try:
        import_module("sklearn")
        library = import_module("skops.io" if path.suffix == ".skops" else "joblib")
    except ImportError as error:
        raise FocusError(MISSING if "skops" not in str(error) else f"{MISSING} skops") from error
    try:
        return library.load(path)
    except Exception as error:  # a pickle may raise anything
        raise FocusError(f"{path} cannot be read: {type(error).__name__}: {error}") from error
