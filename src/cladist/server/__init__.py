"""Models behind HTTP: `create_app` makes a web application of FastAPI, which ``cladist serve`` runs."""

from cladist.server.app import create_app
from cladist.server.evaluation import Evaluation, LabelledRows
from cladist.server.settings import Settings

__all__ = ["Evaluation", "LabelledRows", "Settings", "create_app"]
